import Bytes
import HTTPAPI
import MarketData
import PubSub

/// Kraken's spot WebSocket protocol v2, and the lists that its clients load by REST.
///
/// Served for the spot markets of any venue: `/compat/kraken/v2` has those of `kraken`, `/compat/kraken/binance/v2`
/// those of `binance`.
enum KrakenDialect: Dialect {
  static let venue = "kraken"
  static let firstWords: Set<Substring> = ["v2", "0"]
  static let rootWord: Substring? = "0"

  static func session(_ target: DialectPath) -> (any DialectSession)? {
    target.path == ["v2"] ? KrakenSession(target.markets) : nil
  }

  static func answer(_ target: DialectPath, _ request: DialectRequest) -> DialectAnswer {
    guard target.path.count == 3, target.path.starts(with: ["0", "public"]) else { return .notFound }
    let hub = request.loops.hub
    // A list looks at every market.
    if target.path[2].hasPrefix("Asset"), let refusal = request.charge(16 * hub.directory.entries.count) {
      return .now(refusal)
    }
    var out = ByteBuffer(capacity: 4096)
    switch target.path[2] {
    case "Time":
      let now = request.loops.now()
      KrakenLists.appendResult(to: &out) { out in
        out.append("{\"unixtime\":")
        out.append(integer: now.microseconds / Microseconds.second)
        out.append(UInt8(ascii: "}"))
      }
    case "SystemStatus":
      let now = request.loops.now()
      KrakenLists.appendResult(to: &out) { out in
        out.append("{\"status\":\"online\",\"timestamp\":\"")
        out.append(rfc3339: now)
        out.append("\"}")
      }
    case "AssetPairs" where target.markets.isShown(hub.feeds):
      let entries = target.markets.all(in: hub.directory, request.grant).map(\.instrument)
      guard let names = request.parameter("pair")?.split(separator: ",") else {
        KrakenLists.appendResult(to: &out) { out in
          KrakenLists.appendPairs(entries.map { ($0.base + $0.quote, $0) }, to: &out)
        }
        break
      }
      // Under the names of the request: clients look them up by these.
      let pairs = names.prefix(KrakenRequest.symbolLimit).compactMap { name in
        entries.first { isName(name, of: $0) }.map { (String(name), $0) }
      }
      if pairs.count < names.count {
        KrakenLists.appendError("EQuery:Unknown asset pair", to: &out)
      } else {
        KrakenLists.appendResult(to: &out) { KrakenLists.appendPairs(pairs, to: &$0) }
      }
    case "Assets" where target.markets.isShown(hub.feeds):
      let entries = target.markets.all(in: hub.directory, request.grant).map(\.instrument)
      KrakenLists.appendResult(to: &out) { KrakenLists.appendAssets(of: entries, to: &$0) }
    case "AssetPairs", "Assets":
      KrakenLists.appendError("EService:Unavailable: \(DialectMarkets.Refusal.simulated.words)", to: &out)
    default: return .notFound
    }
    return .now(.json(out.takeBytes()))
  }

  /// Whether a name of a request is a market's: `BTC/USD`, `BTCUSD`, or with Kraken's older `XBT`.
  private static func isName(_ name: Substring, of instrument: Instrument) -> Bool {
    func isMade(of base: String) -> Bool {
      name == "\(base)/\(instrument.quote)" || name == "\(base)\(instrument.quote)"
    }
    return isMade(of: instrument.base) || instrument.base == "BTC" && isMade(of: "XBT")
  }
}
