import HTTP1

/// Whether a request comes from a page of another site. Browsers send the page's origin in `Origin` (RFC 6454).
enum PageOrigin {
  /// Whether a page sends it that no `origins` name and that may be of another site. Where nobody is asked for a token
  /// such a page may read prices, and own nothing. An unknown host name proves nothing: its owner can point it to this
  /// machine (DNS rebinding).
  static func isForeign(_ request: HTTPRequestHead, _ origins: Set<String>?, _ hosts: InternalHosts) -> Bool {
    guard let origin = request.fields["Origin"] else { return false }
    if let origins, origins.contains(where: { ASCII.equalIgnoringCase($0, origin) }) { return false }
    guard let host = request.fields["Host"], hosts.allows(host) else { return true }
    return !["http://\(host)", "https://\(host)"].contains { ASCII.equalIgnoringCase($0, origin) }
  }
}
