import HTTPAPI

extension NodeMetrics {
  /// One label for each route of the client port, one each for other protocols and for the console's files, one for all
  /// other paths.
  package static let routes = RouteTable.clientPort.paths + ["compat", "console", "other"]
}

extension HTTPFigures {
  /// - Parameters:
  ///   - path: nil: the request could not be read.
  ///   - nanoseconds: nil if there was no wait: an upgrade, or an unreadable request.
  package mutating func record(_ path: String?, status: Int, nanoseconds: UInt64? = nil) {
    record(route: Self.index(of: path), status: status, nanoseconds: nanoseconds)
  }

  /// The index in `NodeMetrics.routes`.
  private static func index(of path: String?) -> Int {
    let other = NodeMetrics.routes.count - 1
    guard let path else { return other }
    if let match = RouteTable.clientPort.find(path) { return match.index }
    if path.hasPrefix("/compat/") { return other - 2 }
    return ConsoleFiles.embedded[path] == nil ? other : other - 1
  }
}
