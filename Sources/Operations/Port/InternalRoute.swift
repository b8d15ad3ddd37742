import HTTP1
import HTTPAPI

/// A route of the internal port, as one value; none takes parameters. `GET` and `HEAD` read it. `HTTPAPI.md` describes
/// each; a test compares the two.
struct InternalRoute: Sendable {
  /// Answers a request, now or later; gets the name in the path.
  typealias Handler = @Sendable (InternalAPI, String, @escaping (HTTPResponse) -> Void) -> Void

  /// The path, with `{venue}` or `{name}` for what changes.
  let path: String
  let handler: Handler

  init(_ path: String, _ handler: @escaping Handler) {
    self.path = path
    self.handler = handler
  }

  static let all: [InternalRoute] = [
    InternalRoute("/livez") { $0.alive($2) },
    InternalRoute("/readyz") { $2($0.ready()) },
    InternalRoute("/healthz") { $2($0.healthy()) },
    InternalRoute("/metrics") { $0.metrics($2) },
    InternalRoute("/v1/feeds/{venue}/errors") { $0.feedErrors($1, $2) },
    InternalRoute("/v1/topics/{name}") { $2($0.topic($1)) },
  ]

  /// The route of a path, and the name in it; nil if no route has it.
  static func find(_ path: String) -> (route: InternalRoute, name: String)? {
    for route in all {
      if let name = route.name(in: path) { return (route, name) }
    }
    return nil
  }

  /// The name in a path, empty if the route has none; nil if the path is another one. Only a name at the end may be
  /// empty or have slashes.
  private func name(in path: String) -> String? {
    guard let open = self.path.firstIndex(of: "{"), let close = self.path.firstIndex(of: "}") else {
      return path == self.path ? "" : nil
    }
    let (prefix, suffix) = (self.path[..<open], self.path[close...].dropFirst())
    guard path.utf8.count >= prefix.utf8.count + suffix.utf8.count, path.hasPrefix(prefix), path.hasSuffix(suffix)
    else {
      return nil
    }
    let name = path.dropFirst(prefix.count).dropLast(suffix.count)
    return suffix.isEmpty || !(name.isEmpty || name.contains("/")) ? String(name) : nil
  }
}
