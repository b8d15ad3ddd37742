import Bytes
import HTTP1
import PubSub

/// A complete answer to a request.
package struct HTTPResponse: Sendable {
  package var status: Int
  package var contentType: String
  package var body: [UInt8]
  package var fields: [HTTPField] = []
  /// The origin whose pages may read the answer (Fetch standard, CORS protocol); nil: only the port's own.
  package var allowedOrigin: String? = "*"
  /// A strong validator of the body, quotes included; nil: the answer has no `ETag`.
  package var entityTag: String?
  /// Whether the body of a `GET` has no end: then neither `GET` nor `HEAD` gets a length.
  var isEndless = false
  /// For a repeated request; nil: the answer is computed each time.
  var memo: AnswerMemo?

  package init(
    status: Int, contentType: String, body: [UInt8], fields: [HTTPField] = [], entityTag: String? = nil
  ) {
    self.status = status
    self.contentType = contentType
    self.body = body
    self.fields = fields
    self.entityTag = entityTag
  }

  /// Fields of answers that a page of another origin may read.
  static let exposedFields = "Date, ETag, Retry-After, Tidegate-Feeds, WWW-Authenticate"

  /// Fields of requests that a page of another origin may send.
  static let allowedFields =
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID"

  /// What a picture may do that a browser shows as a page of its own: nothing (CSP level 3).
  static let picturePolicy = "default-src 'none'; sandbox"

  /// What a client's library reads from a refusal for want of rights (RFC 6750 section 3.1).
  static let insufficientScope = HTTPField(
    "WWW-Authenticate", "Bearer realm=\"tidegate\", error=\"insufficient_scope\"")

  /// Appends the fields that keep a browser from taking the body for something else than its type says, and a picture
  /// from running anything.
  func appendGuards(to fields: inout HTTPFields) {
    if fields["X-Content-Type-Options"] == nil { fields.append("X-Content-Type-Options", "nosniff") }
    if contentType == "image/svg+xml", fields["Content-Security-Policy"] == nil {
      fields.append("Content-Security-Policy", Self.picturePolicy)
    }
  }

  /// - Parameters:
  ///   - body: ends with a newline, or gets one.
  ///   - tag: the entity tag. An answer without one must not be stored.
  package static func json(_ body: [UInt8], status: Int = 200, tag: String? = nil) -> HTTPResponse {
    let newline = UInt8(ascii: "\n")
    return HTTPResponse(
      status: status, contentType: "application/json", body: body.last == newline ? body : body + [newline],
      fields: [HTTPField("Cache-Control", tag == nil ? "no-store" : "no-cache")], entityTag: tag)
  }

  /// A JSON object that must not be stored.
  package static func object(status: Int = 200, _ body: (inout JSONObjectWriter) -> Void) -> HTTPResponse {
    var writer = JSONObjectWriter(capacity: 256)
    writer.object(nil, body)
    return json(writer.takeBytes(), status: status)
  }

  package static func text(
    _ body: String, status: Int = 200, contentType: String = "text/plain; charset=utf-8"
  ) -> HTTPResponse {
    HTTPResponse(
      status: status, contentType: contentType, body: Array(body.utf8), fields: [HTTPField("Cache-Control", "no-store")]
    )
  }

  /// An error in the protocol's shape: the mistake, its impact on the request, and the remedy. With
  /// `retryAfterMilliseconds` the client may retry, and `Retry-After` has the time in whole seconds.
  package static func error(
    _ status: Int, code: String, message: String, hint: String? = nil, retry: Bool = false,
    retryAfterMilliseconds: Int64? = nil, fields: [HTTPField] = []
  ) -> HTTPResponse {
    var response = object(status: status) { writer in
      writer.field("type", "error")
      writer.field("code", code)
      writer.field("message", message)
      writer.field("impact", ProtocolError.impact(of: code))
      writer.field("hint", hint)
      writer.field("retry", retry || retryAfterMilliseconds != nil)
      writer.field("retry_after_ms", retryAfterMilliseconds)
    }
    if let retryAfterMilliseconds {
      response.fields.append(HTTPField("Retry-After", String((retryAfterMilliseconds + 999) / 1_000)))
    }
    response.fields += fields
    return response
  }

  /// Refuses a body that is not JSON; nil: it is. A page of another site may send a form, but not this content type
  /// without a preflight.
  static func refusal(ofTypeIn head: HTTPRequestHead, what: String) -> HTTPResponse? {
    let type = head.fields["Content-Type"]?.prefix { $0 != ";" }
    if let type, ASCII.equalIgnoringCase(type, "application/json") { return nil }
    return .error(
      415, code: "unsupported_type", message: "\(what) must be JSON", hint: "send Content-Type: application/json")
  }

  /// An error of the protocol, with the status of its code.
  package static func error(_ error: ProtocolError) -> HTTPResponse {
    .error(
      error.code.status, code: error.code.rawValue, message: error.message, hint: error.hint, retry: error.retry,
      retryAfterMilliseconds: error.retryAfterMilliseconds,
      fields: error.code == .forbidden ? [insufficientScope] : [])
  }

  /// 304 (RFC 9110 section 15.4.5): the client has what `tag` names.
  package static func unchanged(_ tag: String) -> HTTPResponse {
    HTTPResponse(
      status: 304, contentType: "application/json", body: [], fields: [HTTPField("Cache-Control", "no-cache")],
      entityTag: tag)
  }

  /// The answer to a preflight of a page of another origin (Fetch standard, CORS protocol).
  static func preflight(_ methods: [String]) -> HTTPResponse {
    let methods = methods.joined(separator: ", ")
    return HTTPResponse(
      status: 204, contentType: "text/plain", body: [],
      fields: [
        HTTPField("Allow", methods), HTTPField("Access-Control-Allow-Methods", methods),
        HTTPField("Access-Control-Allow-Headers", Self.allowedFields),
        HTTPField("Access-Control-Max-Age", "86400"),
      ])
  }
}
