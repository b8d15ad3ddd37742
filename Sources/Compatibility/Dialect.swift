import HTTPAPI
import PubSub

/// The other protocols. To add one, add a case and its line in `type`; `AddingADialect.md` has the steps.
package enum DialectName: String, Sendable, CaseIterable {
  case kraken, binance, tardis

  var type: any Dialect.Type {
    switch self {
    case .kraken: KrakenDialect.self
    case .binance: BinanceDialect.self
    case .tardis: TardisDialect.self
    }
  }
}

/// A protocol of other people: what its paths lead to.
protocol Dialect {
  /// The venue whose markets are served where the path names none.
  static var venue: String { get }
  /// The words with which its own paths begin. Another word is a venue's name.
  static var firstWords: Set<Substring> { get }
  /// One of these that begins a path at the root, too; nil: none. No route of ours may begin with it.
  static var rootWord: Substring? { get }

  /// One client's side of a WebSocket; nil: there is none at this path.
  static func session(_ target: DialectPath) -> (any DialectSession)?
  /// A request for recorded time; nil: there is none at this path.
  static func replay(_ target: DialectPath) -> DialectReplay?
  static func answer(_ target: DialectPath, _ request: DialectRequest) -> DialectAnswer
}

extension Dialect {
  static func replay(_ target: DialectPath) -> DialectReplay? { nil }
}

/// What a dialect says to a request.
enum DialectAnswer {
  case now(HTTPResponse)
  /// `request.reply` is called when the markets have been asked.
  case later
  /// There is nothing at this path.
  case notFound
}

/// Where a request of a dialect leads.
struct DialectPath {
  /// The path behind the dialect's name and the venue.
  var path: [Substring]
  var markets: DialectMarkets
  /// The query's names and values.
  var query: [(name: String, value: String)]
}

/// Which dialects the gateway speaks.
package struct CompatibilitySettings: Sendable, Equatable {
  /// The dialects that are on.
  package var dialects: Set<DialectName> = []
  /// Whether simulated and replayed data is served. These protocols cannot mark it, so a client would take it for real.
  package var allowsSimulated = false

  package init() {}

  /// A dialect is on or off.
  package subscript(_ name: DialectName) -> Bool {
    get { dialects.contains(name) }
    set { if newValue { dialects.insert(name) } else { dialects.remove(name) } }
  }

  /// The dialects whose clients take simulated prices for real, because their protocols cannot say that they are not.
  package var misled: [DialectName] {
    allowsSimulated ? dialects.sorted { $0.rawValue < $1.rawValue } : []
  }

  /// A demo, which has nothing but simulated data, speaks all of them.
  package static let demo: CompatibilitySettings = {
    var settings = CompatibilitySettings()
    settings.dialects = Set(DialectName.allCases)
    settings.allowsSimulated = true
    return settings
  }()
}
