import HTTP1

/// Whether a request comes from a page of another site. Browsers send the page's origin in `Origin` (RFC 6454).
enum PageOrigin {
  /// Whether the request comes from a page that may belong to another site and that `origins` does not name. Where no
  /// token is needed, such a page may read prices but own nothing. An unknown host name proves nothing: its owner can
  /// point it to this machine (DNS rebinding).
  static func isForeign(_ request: HTTPRequestHead, _ origins: Set<String>?, _ hosts: InternalHosts) -> Bool {
    guard let origin = request.fields["Origin"] else { return false }
    if let origins, origins.contains(where: { ASCII.equalIgnoringCase($0, origin) }) { return false }
    guard let host = request.fields["Host"], hosts.allows(host) else { return true }
    return !["http://\(host)", "https://\(host)"].contains { ASCII.equalIgnoringCase($0, origin) }
  }
}
