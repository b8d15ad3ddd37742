import HTTP1

/// Whether a request comes from a page of another site. Browsers send the page's origin in `Origin` (RFC 6454), but not
/// with a same-origin `GET`, so there only `Host` names the page's site.
enum PageOrigin {
  /// Whether the request comes from a page that may belong to another site and that `origins` does not name. Where no
  /// token is needed, such a page may read prices but own nothing. An unknown host name proves nothing: its owner can
  /// point it to this machine (DNS rebinding).
  static func isForeign(_ request: HTTPRequestHead, _ origins: Set<String>?, _ hosts: HostNames) -> Bool {
    guard let origin = request.fields["Origin"] else { return false }
    if let origins, origins.contains(where: { ASCII.equalIgnoringCase($0, origin) }) { return false }
    guard let host = request.fields["Host"], hosts.allows(host) else { return true }
    return !own(host).contains { ASCII.equalIgnoringCase($0, origin) }
  }

  /// Whether `Host` is a name that `hosts` does not allow and under which no page of `origins` is served.
  static func isForeignHost(_ request: HTTPRequestHead, _ origins: Set<String>?, _ hosts: HostNames) -> Bool {
    guard let host = request.fields["Host"], !hosts.allows(host) else { return false }
    guard let origins else { return true }
    return !own(host).contains { own in origins.contains { ASCII.equalIgnoringCase($0, own) } }
  }

  /// The origins of pages that a host serves.
  private static func own(_ host: String) -> [String] { ["http://\(host)", "https://\(host)"] }
}
