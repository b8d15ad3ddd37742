/// The routes of the client port, with what follows from all of them: dispatch, the labels of metrics, the text at `/`
/// and `/openapi.json`.
///
/// To add a route, add its value to one of the two lists, its handler, and a section to `HTTPAPI.md`; `AddingARoute.md`
/// shows the steps.
package final class RouteTable: Sendable {
  /// What the client port serves.
  package static let clientPort = RouteTable(Route.markets + Route.documents)

  /// Those of longer paths come before shorter ones that would match them, too.
  package let routes: [Route]
  /// `/openapi.json`.
  package let openAPI: FixedDocument

  /// Routes without a name in them, by their path.
  private let whole: [String: Int]
  /// The other routes by the beginning of their path, in the order of comparison.
  private let named: [Substring: [(index: Int, pattern: [UInt8])]]

  /// - Parameter routes: no two with the same path.
  package init(_ routes: [Route]) {
    self.routes = routes
    whole = Dictionary(
      uniqueKeysWithValues: routes.indices.filter { !routes[$0].path.contains("{") }.map { (routes[$0].path, $0) })
    named = Dictionary(grouping: routes.indices.filter { routes[$0].path.contains("{") }) {
      Self.beginning(routes[$0].path)
    }
    .mapValues { indices in indices.map { (index: $0, pattern: Array(routes[$0].path.utf8)) } }
    openAPI = FixedDocument(OpenAPIDocument.make(routes), name: "openapi")
  }

  /// The paths of all routes.
  package var paths: [String] { routes.map(\.path) }

  /// The route that a path leads to.
  package struct Match: Sendable {
    /// Its index in the table.
    package let index: Int
    package let route: Route
    /// The names in the path, with a slash between two.
    let names: String
  }

  /// The route of a path; nil if no route has it. Each request looks several times, and a search of all routes takes
  /// 5 µs.
  package func find(_ path: String) -> Match? {
    if let index = whole[path] { return Match(index: index, route: routes[index], names: "") }
    guard let candidates = named[Self.beginning(path)] else { return nil }
    let octets = Array(path.utf8)
    for (index, pattern) in candidates {
      if let names = Self.names(in: octets[...], of: pattern[...]) {
        return Match(index: index, route: routes[index], names: names)
      }
    }
    return nil
  }

  /// The same by comparing with every route; for tests.
  func findSlowly(_ path: String) -> Match? {
    for (index, route) in routes.enumerated() {
      if let names = Self.names(in: Array(path.utf8)[...], of: Array(route.path.utf8)[...]) {
        return Match(index: index, route: route, names: names)
      }
    }
    return nil
  }

  /// `/v1/books` of `/v1/books/kraken:BTC-USD`.
  private static func beginning(_ path: String) -> Substring {
    var slashes = 0
    let end = path.utf8.firstIndex { byte in
      if byte == UInt8(ascii: "/") { slashes += 1 }
      return slashes == 3
    }
    return path[..<(end ?? path.endIndex)]
  }

  /// The names in a path, with a slash between two; nil if the path does not fit the pattern. It compares octets:
  /// comparing characters took 3 µs.
  private static func names(in path: ArraySlice<UInt8>, of pattern: ArraySlice<UInt8>) -> String? {
    guard let open = pattern.firstIndex(of: UInt8(ascii: "{")), let close = pattern.firstIndex(of: UInt8(ascii: "}"))
    else { return path == pattern ? "" : nil }
    let (prefix, suffix) = (pattern[..<open], pattern[(close + 1)...])
    guard path.starts(with: prefix) else { return nil }
    let rest = path.dropFirst(prefix.count)
    guard suffix.contains(UInt8(ascii: "{")) else {
      guard rest.suffix(suffix.count) == suffix else { return nil }
      return String(decoding: rest.dropLast(suffix.count), as: UTF8.self)
    }
    // Only the last name may have a slash in it.
    guard let end = rest.firstIndex(of: UInt8(ascii: "/")), let others = names(in: rest[end...], of: suffix) else {
      return nil
    }
    return String(decoding: rest[..<end], as: UTF8.self) + "/" + others
  }
}
