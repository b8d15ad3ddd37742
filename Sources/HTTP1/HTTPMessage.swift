/// The head of a request.
package struct HTTPRequestHead: Sendable {
  /// A token, upper case where registered: `GET`.
  package var method: String
  /// The target as sent: `/v1/books/kraken:BTC-USD?depth=10`, or in absolute form `http://host/v1/…`.
  package var target: String { didSet { path = Self.path(of: target) } }
  /// The path, percent-decoded; an escaped `/` is then the same as a plain one. `/` for an absolute target without a
  /// path. The parser has refused targets whose escapes are malformed; in a head made by code they stay as they are.
  /// Computed once, because it is used several times for each request.
  package private(set) var path: String
  package var fields: HTTPFields
  /// HTTP/1.0 if false.
  package var isHTTP11: Bool

  /// A head, unchecked.
  package init(method: String, target: String, fields: HTTPFields, isHTTP11: Bool = true) {
    self.method = method
    self.target = target
    path = Self.path(of: target)
    self.fields = fields
    self.isHTTP11 = isHTTP11
  }

  private static func path(of target: String) -> String {
    HTTPTarget.decode(HTTPTarget.split(target).path, plusIsSpace: false)
  }

  /// The query's names and values, percent-decoded and with `+` read as space, in order; a name without `=` has the
  /// value `""`. O(length).
  package var query: [(name: String, value: String)] {
    guard let query = HTTPTarget.split(target).query else { return [] }
    return query.split(separator: UInt8(ascii: "&")).map { pair in
      guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else {
        return (HTTPTarget.decode(pair, plusIsSpace: true), "")
      }
      return (
        HTTPTarget.decode(pair[..<equals], plusIsSpace: true),
        HTTPTarget.decode(pair[pair.index(after: equals)...], plusIsSpace: true)
      )
    }
  }

  /// Whether the connection stays open after the response (RFC 9112 section 9.3).
  package var keepsAlive: Bool {
    if fields.contains("close", in: "Connection") { return false }
    return isHTTP11 || fields.contains("keep-alive", in: "Connection")
  }

}

/// The head of a response.
package struct HTTPResponseHead: Sendable {
  /// 100 to 999.
  package var status: Int
  /// The phrase after the status; it may be empty and has no meaning.
  package var reason: String
  package var fields: HTTPFields
  /// HTTP/1.0 if false; encoded messages always say HTTP/1.1.
  package var isHTTP11 = true

  /// - Parameter reason: nil: the registered phrase of `status`.
  package init(status: Int, reason: String? = nil, fields: HTTPFields = .init()) {
    self.status = status
    self.reason = reason ?? HTTPStatus.reason(status)
    self.fields = fields
  }

  /// Whether the server accepts another request on the connection (RFC 9112 section 9.3). `HTTPResponseParser.finish()`
  /// returns a response whose body ended with the connection; no further request is possible then.
  package var keepsAlive: Bool {
    if fields.contains("close", in: "Connection") { return false }
    return isHTTP11 || fields.contains("keep-alive", in: "Connection")
  }
}

/// Registered reason phrases (RFC 9110 section 15, RFC 6585).
package enum HTTPStatus {
  /// The phrase for `status`; empty for one that is not registered.
  package static func reason(_ status: Int) -> String {
    switch status {
    case 100: "Continue"
    case 101: "Switching Protocols"
    case 200: "OK"
    case 201: "Created"
    case 202: "Accepted"
    case 204: "No Content"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 406: "Not Acceptable"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 410: "Gone"
    case 411: "Length Required"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 415: "Unsupported Media Type"
    case 416: "Range Not Satisfiable"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 426: "Upgrade Required"
    case 428: "Precondition Required"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: ""
    }
  }
}
