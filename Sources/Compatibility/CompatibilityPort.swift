import HTTP1
import HTTPAPI
import PubSub

/// Leads the paths below `/compat/` to the dialects that are on. Some clients replace the whole path of an address, so
/// a dialect may have a word at the root as well: `/0/public/AssetPairs` is `/compat/kraken/0/public/AssetPairs`.
package struct CompatibilityPort: DialectPort {
  let settings: CompatibilitySettings

  package init(_ settings: CompatibilitySettings) { self.settings = settings }

  package func serves(_ path: String) -> Bool { path.hasPrefix(Self.prefix) || rootDialect(of: path) != nil }

  private static let prefix = "/compat/"

  /// The dialect whose root word a path begins with.
  private func rootDialect(of path: String) -> DialectName? {
    let word = path.dropFirst().prefix { $0 != "/" }
    return DialectName.allCases.first { settings[$0] && $0.type.rootWord == word }
  }

  package func stream(_ head: HTTPRequestHead) -> (any DialectSession)? {
    guard let (dialect, target) = find(head) else { return nil }
    return dialect.session(target)
  }

  package func replay(_ head: HTTPRequestHead) -> DialectReplay? {
    guard let (dialect, target) = find(head) else { return nil }
    return dialect.replay(target)
  }

  package func answer(_ request: DialectRequest) {
    guard let (dialect, target) = find(request.head) else { return request.reply(notFound(request.head.path)) }
    if dialect.session(target) != nil || dialect.replay(target)?.needsWebSocket == true {
      return request.reply(
        .error(
          426, code: "upgrade_required", message: "\(request.head.path.prefix(80)) speaks WebSocket",
          hint: "connect with ws:// or wss://", fields: [HTTPField("Upgrade", "websocket")]))
    }
    switch dialect.answer(target, request) {
    case .now(let response): request.reply(response)
    case .later: break
    case .notFound: request.reply(notFound(request.head.path))
    }
  }

  /// The dialect of a request, and the path in it; nil if no dialect that is on has the path.
  func find(_ head: HTTPRequestHead) -> (any Dialect.Type, DialectPath)? {
    var words = head.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    let name: DialectName?
    if let root = rootDialect(of: head.path) {
      name = root
    } else {
      words = words.dropFirst()
      name = words.popFirst().flatMap { DialectName(rawValue: String($0)) }
    }
    guard let name, settings[name] else { return nil }
    let dialect = name.type
    var venue = dialect.venue
    if let first = words.first, !dialect.firstWords.contains(first) {
      venue = String(first)
      words.removeFirst()
    }
    let markets = DialectMarkets(venue: venue, allowsSimulated: settings.allowsSimulated)
    return (dialect, DialectPath(path: Array(words), markets: markets, query: head.query))
  }

  private func notFound(_ path: String) -> HTTPResponse {
    let on = DialectName.allCases.filter { settings[$0] }.map { "/compat/\($0.rawValue)/" }
    return .error(
      404, code: "not_found", message: "there is no \(path.prefix(80))",
      hint: on.isEmpty ? "no dialect is on" : "there are \(on.joined(separator: " "))")
  }
}
