/// The registered methods that servers are expected to know.
package enum HTTPMethod {
  /// Whether `method` is one of RFC 9110 section 9, `PATCH` (RFC 5789) or `QUERY`
  /// (draft-ietf-httpbis-safe-method-w-body); methods are case-sensitive. A known one that a resource does not allow is
  /// answered 405, any other 501.
  package static func isKnown(_ method: String) -> Bool {
    switch method {
    case "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY": true
    default: false
    }
  }
}
