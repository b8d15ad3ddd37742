import Bytes
import MarketData
import PubSub

/// A client of tardis-machine's normalised stream.
final class TardisSession: DialectSession {
  private let markets: DialectMarkets
  private let options: String
  /// The exchanges whose interruptions the client wants to hear of.
  private var heard: [String] = []
  private var lastTime = Timestamp(microseconds: 0)

  init(_ markets: DialectMarkets, options: String) {
    self.markets = markets
    self.options = options
  }

  let heartbeatSeconds = 60

  func heartbeat(isQuiet: Bool, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    lastTime = now
    return false
  }

  func open(_ desk: inout DialectContext) {
    lastTime = desk.now
    do throws(TardisOptions.Problem) {
      for element in try TardisOptions.parse(options) { try subscribe(element, &desk) }
    } catch {
      // A close frame has 123 bytes of reason (RFC 6455 section 5.5).
      desk.close(1011, String(decoding: error.words.utf8.prefix(120), as: UTF8.self))
    }
  }

  /// No client sends messages; what one sends means nothing to tardis-machine.
  func receive(_ message: RawSpan, _ desk: inout DialectContext) {
    desk.close(1008, "this stream takes no messages")
  }

  /// `disconnect` for clients that asked for it. Only 1000 is no error to them, and this is one.
  func farewell(_ code: UInt16, _ reason: String) -> DialectFarewell {
    var farewell = DialectFarewell.standard(code, reason)
    if farewell.code == 1001 { farewell.code = 1011 }
    guard let exchange = heard.first else { return farewell }
    var out = ByteBuffer(capacity: 128)
    out.append("{\"type\":\"disconnect\",\"exchange\":")
    out.append(json: exchange)
    out.append(",\"localTimestamp\":\"")
    out.append(rfc3339: lastTime)
    out.append("\"}")
    farewell.message = out.takeBytes()
    return farewell
  }

  private func subscribe(_ options: TardisOptions, _ desk: inout DialectContext) throws(TardisOptions.Problem) {
    let exchange = try options.namedExchange()
    let shown = DialectMarkets(venue: exchange.venue, allowsSimulated: markets.allowsSimulated)
    guard shown.isShown(desk.feeds) else {
      throw TardisOptions.Problem(words: "Error: \(exchange.name): \(DialectMarkets.Refusal.simulated.words)")
    }
    if options.sendsDisconnects { heard.append(exchange.name) }
    for key in try options.keys(of: exchange, in: desk.directory, desk.grant) {
      guard desk.room > 0 else {
        throw TardisOptions.Problem(words: "Error: \(DialectMarkets.Refusal.tooMany.words)")
      }
      desk.join(key)
    }
  }
}
