import Access

/// Computes how many client connections the process has descriptors for.
package enum DescriptorPlan {
  /// Descriptors that are not for clients: standard streams, libraries, name resolution, files, pending refusals, the
  /// internal port, and those of each loop and feed.
  static func reserve(loops: Int, feeds: Int) -> Int {
    64 + Admission.refusingLimit + Admission.roomLimit + 256 + 4 * loops + 4 * feeds
  }

  /// Lowers `limits.clients` if `descriptors` do not suffice, and returns a text that says so; nil: they suffice. Half
  /// of the descriptors are for clients in any case.
  package static func fit(_ configuration: inout GatewayConfiguration, descriptors: Int) -> String? {
    let wanted = configuration.limits.clients
    let reserve = reserve(loops: configuration.loops, feeds: configuration.feeds.count)
    let possible = max(1, max(descriptors / 2, descriptors - reserve))
    guard wanted > possible else { return nil }
    configuration.limits.clients = possible
    return """
      limits.clients is \(wanted), but the process may open \(descriptors) descriptors (RLIMIT_NOFILE): \(possible) \
      connections are served. Raise the hard limit to \(wanted + reserve) (ulimit -Hn, LimitNOFILE=) or lower limits.clients
      """
  }
}
