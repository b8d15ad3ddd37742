import MarketData
import Testing

@testable import Venues

@Suite("Symbols that were refused")
struct SymbolRefusalsTests {
  private let start = Timestamp(microseconds: 1_700_000_000_000_000)

  @Test("asked for again after 1, 2, 4 … 30 minutes, for ever")
  func backoff() {
    var refusals = SymbolRefusals()
    #expect(refusals.isEmpty)
    #expect(refusals.takeDue(now: start) == [])
    #expect(refusals.note("A-USD", now: start) == start + Microseconds.minute)
    var now = start
    var minutes: [Int64] = []
    var last = start
    while minutes.count < 8 {
      now = now + Microseconds.second
      guard refusals.takeDue(now: now) == ["A-USD"] else { continue }
      // The venue says no at once.
      #expect(refusals.note("A-USD", now: now) > now)
      minutes.append((now - last) / Microseconds.minute)
      last = now
    }
    #expect(minutes == [1, 2, 4, 8, 16, 30, 30, 30])
    refusals.forget("A-USD")
    #expect(refusals.isEmpty)
  }

  @Test(
    "however many are refused, and whenever: one round a minute, and a new connection's refusal does not bring it forward"
  )
  func rounds() {
    var refusals = SymbolRefusals()
    var now = start
    var rounds: [Timestamp] = []
    for second in 0..<3_600 {
      now = start + Int64(second) * Microseconds.second
      if second < 500 { _ = refusals.note("S\(second)-USD", now: now) }
      if !refusals.takeDue(now: now).isEmpty { rounds.append(now) }
    }
    for (earlier, later) in zip(rounds, rounds.dropFirst()) { #expect(later - earlier >= Microseconds.minute) }
    #expect(rounds.count <= 59 && rounds.count > 10)
    var single = SymbolRefusals()
    let due = single.note("A-USD", now: start)
    #expect(single.note("A-USD", now: start + 30 * Microseconds.second) == due)
  }
}

/// What each venue's engine does when it is to ask again.
@Suite("A refused symbol is asked for again")
struct AskAgainTests {
  @Test("a pipeline asks after a minute, and not for what is no symbol of the venue")
  func pipeline() {
    let pipeline = FeedPipeline(
      venue: Coinbase.venue,
      configuration: FeedConfiguration(symbols: ["BTC-USD", "XYZ-USD", "btc", "ETH-USD-PERP"]))
    var now = Timestamp(microseconds: 1_700_000_000_000_000)
    func actions() -> [FeedAction] { pipeline.takeActions() }
    func answer(_ list: String) -> [FeedAction] {
      var out: [FeedAction] = []
      for action in actions() {
        guard case .get(let request, _, _) = action else {
          out.append(action)
          continue
        }
        let bytes = Array(list.utf8)
        pipeline.response(to: request, status: 200, body: bytes.span.bytes, now: now)
      }
      return out + actions()
    }
    let product =
      #"{"id":"BTC-USD","base_currency":"BTC","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.00000001"}"#
    pipeline.prepare(now: now)
    var failed: [String: Timestamp?] = [:]
    for action in answer("[\(product)]") {
      if case .symbolFailed(let symbol, _) = action { failed[symbol] = .some(pipeline.refused(symbol, now: now)) }
    }
    #expect(failed["XYZ-USD"] == .some(now + Microseconds.minute))
    #expect(failed["btc"] == .some(nil) && failed["ETH-USD-PERP"] == .some(nil))
    pipeline.connected(now: now)
    _ = actions()
    for _ in 0..<239 {
      now = now + 250_000
      pipeline.tick(now: now)
      #expect(!actions().contains { if case .get = $0 { true } else { false } })
    }
    now = now + 250_000
    pipeline.tick(now: now)
    let other = product.replacing("BTC", with: "XYZ")
    let sent = answer("[\(product),\(other)]").compactMap { if case .send(let text) = $0 { text } else { nil } }
    #expect(sent.count == 1 && sent[0].contains(#""product_ids":["XYZ-USD"]"#))
    #expect(pipeline.market.instruments.map(\.instrument.symbol) == ["coinbase:BTC-USD", "coinbase:XYZ-USD"])
    pipeline.accepted("XYZ-USD")
    for _ in 0..<2_000 {
      now = now + 250_000
      pipeline.tick(now: now)
      #expect(!actions().contains { if case .get = $0 { true } else { false } })
    }
  }

  @Test(
    "Coinbase: a product that was refused is subscribed apart from the others, at the next connection and when asked")
  func coinbase() {
    let feed = EngineHarness(Coinbase.venue, ["BTC-USD", "ETH-USD"])
    let list =
      #"[{"id":"BTC-USD","base_currency":"BTC","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.00000001"},"#
      + #"{"id":"ETH-USD","base_currency":"ETH","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.00000001"}]"#
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    #expect(feed.sent.count == 1)
    let refusal = #"{"type":"error","message":"Failed to subscribe","reason":"ETH-USD is delisted"}"#
    feed.receive(refusal)
    #expect(feed.failures.keys.sorted() == ["ETH-USD"])
    #expect(feed.sent.count == 1 && !feed.sent[0].contains("ETH-USD"))
    feed.disconnect()
    feed.engine.forgetConnection()
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    #expect(feed.sent.count == 2)
    #expect(feed.sent.contains { $0.contains(#"["ETH-USD"]"#) } && feed.sent.contains { $0.contains(#"["BTC-USD"]"#) })
    feed.receive(refusal)
    #expect(feed.failures.keys.sorted() == ["ETH-USD"] && feed.sent.isEmpty, "the others are left alone")
    feed.retry(["ETH-USD"])
    feed.respond(feed.gets[0].request, 200, list)
    #expect(feed.sent.count == 1 && feed.sent[0].contains(#"["ETH-USD"]"#))
  }

  @Test("OKX: one list, then what was refused and nothing else")
  func okx() {
    let feed = EngineHarness(OKX.venue, ["BTC-USDT", "ETH-USDT"])
    let list =
      #"{"code":"0","msg":"","data":[{"instType":"SPOT","instId":"BTC-USDT","tickSz":"0.1","lotSz":"0.1"},{"instType":"SPOT","instId":"ETH-USDT","tickSz":"0.1","lotSz":"0.1"}]}"#
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    feed.receive(
      #"{"event":"error","code":"60018","msg":"Wrong URL or channel:books,instId:ETH-USDT doesn't exist.","connId":"ed8c407d"}"#
    )
    #expect(feed.failures.keys.sorted() == ["ETH-USDT"])
    feed.wait(1)
    feed.retry(["ETH-USDT"])
    #expect(feed.gets.count == 1)
    feed.respond(feed.gets[0].request, 200, list)
    let sent = feed.sent
    feed.wait(1)
    let subscriptions = (sent + feed.sent).filter { $0.contains(#""op":"subscribe""#) }
    #expect(subscriptions.count == 1 && subscriptions[0].contains("ETH-USDT") && !subscriptions[0].contains("BTC-USDT"))
  }

  @Test("Binance: a symbol that was silent is subscribed again, and told when it is heard")
  func binance() {
    let feed = EngineHarness(Binance.spot, ["BNB-BTC"])
    let list = #"{"symbols":[{"symbol":"BNBBTC","baseAsset":"BNB","quoteAsset":"BTC"}]}"#
    feed.prepare()
    feed.respond(feed.gets[0].request, 200, list)
    feed.connect()
    feed.wait(61)
    #expect(feed.failures.keys.sorted() == ["BNB-BTC"])
    feed.retry(["BNB-BTC"])
    feed.respond(feed.gets.last!.request, 200, list)
    #expect(feed.sent.contains { $0.contains("SUBSCRIBE") && $0.contains("bnbbtc@depth@100ms") })
    feed.wait(62)
    #expect(feed.failures.keys.sorted() == ["BNB-BTC"])
    feed.receive(#"{"u":1,"s":"BNBBTC","b":"1.0","B":"1.0","a":"2.0","A":"1.0"}"#)
    feed.tick()
    #expect(feed.actions.contains { if case .symbolAccepted("BNB-BTC") = $0 { true } else { false } })
  }
}
