import Bytes
import HTTP1

/// A whole answer to a request.
struct HTTPResponse: Sendable {
  var status: Int
  var contentType: String
  var body: [UInt8]
  var fields: [HTTPField] = []
  /// The origin whose pages may read it (Fetch standard, CORS protocol); nil: none but its own.
  var allowedOrigin: String? = "*"

  static func json(_ body: [UInt8], status: Int = 200, cacheSeconds: Int = 0) -> HTTPResponse {
    HTTPResponse(
      status: status, contentType: "application/json", body: body,
      fields: [HTTPField("Cache-Control", cacheSeconds > 0 ? "public, max-age=\(cacheSeconds)" : "no-cache")])
  }

  static func text(_ body: String, status: Int = 200, contentType: String = "text/plain; charset=utf-8") -> HTTPResponse
  {
    HTTPResponse(
      status: status, contentType: contentType, body: Array(body.utf8), fields: [HTTPField("Cache-Control", "no-store")]
    )
  }

  /// An error in the protocol's shape: what is wrong, what it meant for the request, what to do. With `retryAfterMilliseconds` it
  /// may be tried again, and `Retry-After` says so in whole seconds.
  static func error(
    _ status: Int, code: String, message: String, hint: String? = nil, retry: Bool = false,
    retryAfterMilliseconds: Int64? = nil, fields: [HTTPField] = []
  ) -> HTTPResponse {
    var out = ByteBuffer(capacity: 256)
    out.append("{\"type\":\"error\",\"code\":")
    out.append(json: code)
    out.append(",\"message\":")
    out.append(json: message)
    out.append(",\"impact\":\"this request was not carried out\"")
    if let hint {
      out.append(",\"hint\":")
      out.append(json: hint)
    }
    out.append(retry || retryAfterMilliseconds != nil ? ",\"retry\":true" : ",\"retry\":false")
    if let retryAfterMilliseconds {
      out.append(",\"retry_after_ms\":")
      out.append(integer: retryAfterMilliseconds)
    }
    out.append("}")
    var response = json(out.takeBytes(), status: status)
    if let retryAfterMilliseconds {
      response.fields.append(HTTPField("Retry-After", String((retryAfterMilliseconds + 999) / 1_000)))
    }
    response.fields += fields
    return response
  }

  /// A strong validator: equal bodies have equal tags (FNV-1a, 64 bits, with the length).
  var entityTag: String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in body { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    return "\"\(String(hash, radix: 16))-\(body.count)\""
  }
}

extension ByteBuffer {
  /// A copy of the unread bytes. O(n).
  borrowing func takeBytes() -> [UInt8] { Array(unsafeBytes) }
}
