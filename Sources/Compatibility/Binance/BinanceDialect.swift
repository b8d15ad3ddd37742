import HTTPAPI
import PubSub

/// Binance's spot market streams, and the answers by REST that their clients need.
///
/// `/compat/binance/ws/btcusdt@trade` is one stream, `/compat/binance/stream?streams=…` several.
/// `/compat/binance/ws` and `/compat/binance/stream` begin without any. A number behind them, which some clients use to
/// tell connections apart, means nothing. `/compat/binance/kraken/ws` has the spot markets of another venue.
enum BinanceDialect: Dialect {
  static let venue = "binance"
  static let firstWords: Set<Substring> = ["ws", "stream", "api"]
  static let rootWord: Substring? = nil

  static func session(_ target: DialectPath) -> (any DialectSession)? {
    guard let word = target.path.first, word == "ws" || word == "stream" else { return nil }
    var names = target.path.dropFirst().map(String.init)
    if names.count == 1, names[0].isEmpty || names[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }) { names = [] }
    for item in target.query where item.name == "streams" { names += item.value.split(separator: "/").map(String.init) }
    var form = BinanceForm(isCombined: word == "stream")
    if target.query.contains(where: { $0.name == "timeUnit" && $0.value.lowercased() == "microsecond" }) {
      form.unit = .microseconds
    }
    return BinanceSession(target.markets, form, streams: Array(names.prefix(BinanceRequest.streamLimit + 1)))
  }

  static func answer(_ target: DialectPath, _ request: DialectRequest) -> DialectAnswer {
    guard target.path.starts(with: ["api", "v3"]) else { return .notFound }
    let answers = BinanceAnswers(markets: target.markets, request: request)
    do throws(BinanceAnswers.Problem) {
      return try answers.answer(target.path.dropFirst(2).joined(separator: "/"))
    } catch {
      return .now(error.response)
    }
  }
}
