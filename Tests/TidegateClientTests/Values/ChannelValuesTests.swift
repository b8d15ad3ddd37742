import Foundation
import Testing

@testable import TidegateClient

/// The values of the channels that no single market makes, from the messages that the protocol's reference shows.
@Suite("Values of channels")
struct ChannelValuesTests {
  private static func message(
    _ type: String, _ channel: String, symbol: String? = nil, prev: Int? = nil, seq: Int, _ data: String
  ) -> String {
    let name = symbol.map { #","symbol":"\#($0)""# } ?? ""
    let link = prev.map { #","prev":\#($0)"# } ?? ""
    return
      #"{"type":"\#(type)","channel":"\#(channel)"\#(name),"stream":1\#(link),"seq":\#(seq),"time":5,"data":\#(data)}"#
  }

  /// A client that is subscribed to stream 1.
  private static func live(_ request: StreamRequest<Payload>, _ channel: String, symbol: String? = nil) -> CoreHarness {
    var it = CoreHarness(request)
    _ = it.start()
    _ = it.opened()
    _ = it.welcome()
    let name = symbol.map { #","symbol":"\#($0)""# } ?? ""
    _ = it.receive(
      #"{"type":"subscribed","id":3,"total":1,"ok":[{"stream":1,"channel":"\#(channel)"\#(name),"epoch":"k","seq":0}],"failed":[]}"#
    )
    return it
  }

  @Test("a rate has its way and its age, and says why there is none")
  func rate() throws {
    var it = Self.live(StreamRequest.rate("ZEC-USD", every: .seconds(1)).untyped, "rate", symbol: "ZEC-USD")
    let first = it.receive(
      Self.message(
        "snapshot", "rate", symbol: "ZEC-USD", seq: 1,
        #"{"base":"ZEC","quote":"USD","rate":"48.2304","path":["kraken:ZEC-BTC","coinbase:BTC-USD"],"state":"live","simulated":true,"age_ms":120}"#
      ))
    let live = Rate(
      base: "ZEC", quote: "USD", value: ExactDecimal("48.2304"), path: ["kraken:ZEC-BTC", "coinbase:BTC-USD"],
      state: .live, age: .milliseconds(120), isSimulated: true)
    #expect(first.values == [.rate(live)])
    let second = it.receive(
      Self.message(
        "update", "rate", symbol: "ZEC-USD", prev: 1, seq: 2,
        #"{"base":"ZEC","quote":"USD","state":"unavailable","reason":"no live market has the asset ZEC"}"#))
    let gone = Rate(base: "ZEC", quote: "USD", state: .unavailable, reason: "no live market has the asset ZEC")
    #expect(second.values == [.rate(gone)])
  }

  @Test("a composite's quote says whose prices they are; its states are not those of a book out of sync")
  func composite() throws {
    let symbol = "composite:BTC-USD"
    var it = Self.live(StreamRequest.quote(symbol).untyped, "quote", symbol: symbol)
    let step = it.receive(
      Self.message(
        "snapshot", "quote", symbol: symbol, seq: 1,
        #"{"state":"live","bid":"64123.40","bid_size":"0.5","bid_venue":"kraken","ask":"64123.50","ask_size":"1.2","ask_venue":"coinbase","venues":["coinbase","kraken"],"absent":[{"venue":"bitstamp","reason":"stale"}],"time":1790000004000000}"#
      ))
    guard case .quote(let quote)? = step.values.first else { throw Missing() }
    #expect(quote.bidVenue == "kraken" && quote.askVenue == "coinbase" && quote.spread == ExactDecimal("0.1"))
    #expect(quote.mid == ExactDecimal("64123.45") && quote.spreadPercent?.description == "0.0002")
    let parts = Composite(
      state: .live, venues: ["coinbase", "kraken"], absent: [.init(venue: "bitstamp", reason: "stale")])
    #expect(quote.composite == parts)
    for (seq, state) in [(2, CompositeState.single), (3, .unavailable)] {
      let data = #"{"state":"\#(state)","venues":[],"absent":[],"time":1}"#
      let next = it.receive(
        Self.message("update", "quote", symbol: symbol, prev: seq - 1, seq: seq, data))
      guard case .quote(let quote)? = next.values.first else { throw Missing() }
      #expect(quote.composite?.state == state && quote.bid == nil && quote.spreadPercent == nil)
    }
    var market = CoreHarness()
    market.live()
    let syncing = #"{"state":"syncing","reason":"sequence gap","time":4}"#
    #expect(
      market.receive(CoreHarness.message("snapshot", "quote", syncing, seq: 11)).events.short == ["stale: sequence gap"]
    )
  }

  @Test("a ticker says which figures are the gateway's, and of a composite who takes part")
  func ticker() throws {
    let symbol = "composite:BTC-USD"
    var it = Self.live(StreamRequest.ticker(symbol).untyped, "ticker", symbol: symbol)
    let data =
      #"{"state":"single","last":"1.50","last_venue":"kraken","source":"composite","venues":["kraken"],"absent":[],"time":5}"#
    guard
      case .ticker(let ticker)? = it.receive(Self.message("snapshot", "ticker", symbol: symbol, seq: 1, data)).values
        .first
    else { throw Missing() }
    #expect(ticker.lastVenue == "kraken" && ticker.source == .composite && ticker.composite?.state == .single)
    let mixed = #"{"last":"1","source":"mixed","own":["vwap_24h","trades_24h"],"time":5}"#
    guard
      case .ticker(let own)? = it.receive(Self.message("snapshot", "ticker", symbol: symbol, seq: 2, mixed)).values
        .first
    else { throw Missing() }
    #expect(own.own == ["vwap_24h", "trades_24h"] && own.composite == nil)
  }

  private struct News: Decodable, Equatable { var state: String }

  private static func documents(_ numbers: ClosedRange<Int>) -> String {
    let each = numbers.map { #"{"number":\#($0),"time":1790000000000000,"document":{"state":"S\#($0)"}}"# }
    return #"{"number":\#(numbers.upperBound),"documents":[\#(each.joined(separator: ","))]}"#
  }

  @Test("a topic's documents come once each; how many are missing is counted")
  func topic() throws {
    var it = Self.live(StreamRequest.topic("risk-state", last: 2).untyped, "topic", symbol: "risk-state")
    func say(_ type: String, _ numbers: ClosedRange<Int>, prev: Int? = nil, seq: Int) -> [String] {
      it.receive(Self.message(type, "topic", symbol: "risk-state", prev: prev, seq: seq, Self.documents(numbers)))
        .events.map {
          switch $0 {
          case .value(.topic(let documents), _): documents.map { String($0.number) }.joined(separator: " ")
          case .gap(_, let missing): "gap of \(missing.map(String.init) ?? "?")"
          default: "\($0)"
          }
        }
    }
    #expect(say("snapshot", 2...3, seq: 1) == ["2 3"])
    #expect(say("update", 4...4, prev: 1, seq: 2) == ["4"])
    // One update is lost on the way: its document is missing, whatever the numbers of messages say.
    #expect(say("update", 6...6, prev: 3, seq: 4) == ["gap of 1", "6"])
    // A snapshot shows some of what was seen.
    #expect(say("snapshot", 5...7, seq: 9) == ["7"])
    #expect(say("snapshot", 11...12, seq: 10) == ["gap of 3", "11 12"])
    // The topic has begun anew.
    #expect(say("snapshot", 1...2, seq: 11) == ["gap of ?", "1 2"])
    guard case .value(.topic(let documents), _)? = it.core.streams.values.first?.event else { throw Missing() }
    #expect(try documents[0].decode(News.self) == News(state: "S1"))
    #expect(documents[0].time == Date(timeIntervalSince1970: 1_790_000_000))
  }

  @Test("alerts are merged: changed ones in their place, removed ones gone")
  func alerts() throws {
    var it = Self.live(StreamRequest.alerts.untyped, "alerts")
    func say(_ type: String, prev: Int? = nil, seq: Int, _ data: String) throws -> AlertList {
      let step = it.receive(Self.message(type, "alerts", prev: prev, seq: seq, data))
      guard case .alerts(let list)? = step.values.first else { throw Missing() }
      return list
    }
    let rule =
      #"{"condition":{"type":"price","symbol":"kraken:BTC-USD","is":"above","value":"70000"},"frequency":"once"}"#
    let first = try say(
      "snapshot", seq: 1,
      #"{"kept":false,"alerts":[{"id":"100000000","name":"BTC over 70k","state":"running","rule":\#(rule),"created":1790000000000000,"revision":1,"firings":0,"acknowledged":0},{"id":"2","name":"","state":"sleeping","rule":{},"created":1,"revision":1,"firings":0,"acknowledged":0}]}"#
    )
    #expect(!first.isKept && first.ringing.isEmpty && first.alerts.map(\.id) == ["100000000", "2"])
    #expect(first["100000000"]?.rule == rule && first["2"]?.state == .unknown("sleeping"))
    let second = try say(
      "update", prev: 1, seq: 2,
      #"{"alerts":[{"id":"100000000","name":"BTC over 70k","state":"alerting","rule":\#(rule),"created":1790000000000000,"revision":1,"firings":1,"acknowledged":0,"firing":{"number":1,"time":1790000001000000,"symbol":"kraken:BTC-USD","value":"70000.1","late_by_ms":40}}],"removed":["2"],"firings":[]}"#
    )
    #expect(second.alerts.count == 1 && second["2"] == nil && second.ringing.map(\.id) == ["100000000"])
    let firing = Alert.Firing(
      number: 1, time: Date(timeIntervalSince1970: 1_790_000_001), symbol: "kraken:BTC-USD",
      value: ExactDecimal("70000.1"), lateBy: .milliseconds(40))
    #expect(second.ringing.first?.firing == firing)
    // A gap: what is shown is old until a snapshot comes.
    let update = Self.message("update", "alerts", prev: 7, seq: 8, #"{"alerts":[],"removed":[],"firings":[]}"#)
    #expect(it.receive(update).events.short == ["stale gap"])
    #expect(try say("snapshot", seq: 9, #"{"kept":true,"alerts":[]}"#).alerts.isEmpty)
  }

  @Test("a portfolio is valued by line; what is not known is nil")
  func portfolio() throws {
    let contents = PortfolioContents(
      currency: "EUR", holdings: [.init("BTC", quantity: ExactDecimal("0.5")!, cost: 20_000)],
      positions: [.init("deribit:BTC-PERPETUAL", .short, size: ExactDecimal("0.1")!, leverage: 5, entry: 64_000)])
    var it = Self.live(StreamRequest.portfolio(contents).untyped, "portfolio")
    let step = it.receive(
      Self.message(
        "snapshot", "portfolio", seq: 1,
        #"{"currency":"EUR","state":"stale","value":"32100.5","cost":"20000","holdings":[{"asset":"BTC","state":"stale","price_time":1790000000000000,"quantity":"0.5","price":"64201","value":"32100.5","share_percent":"100","cost":"20000","unrealised":"12100.5"}],"positions":[{"symbol":"deribit:BTC-PERPETUAL","state":"missing","side":"short","size":"0.1","leverage":"5","entry":"64000","maintenance":"0.005","liquidation_price":"76417.9","margin_percent":"2.5"}]}"#
      ))
    guard case .portfolio(let value)? = step.values.first else { throw Missing() }
    #expect(value.state == .stale && value.value == ExactDecimal("32100.5") && value.dayProfit == nil)
    #expect(value.holdings.first?.sharePercent == 100 && value.holdings.first?.state == .stale)
    #expect(value.positions.first?.side == .short && value.positions.first?.mark == nil)
    #expect(value.positions.first?.maintenance == ExactDecimal("0.005"))
    #expect(value.positions.first?.liquidationPrice == ExactDecimal("76417.9"))
    #expect(value.positions.first?.marginPercent == ExactDecimal("2.5"))
    let gone = it.receive(
      Self.message("update", "portfolio", prev: 1, seq: 2, #"{"portfolio":"3","state":"deleted"}"#))
    guard case .portfolio(let deleted)? = gone.values.first else { throw Missing() }
    #expect(deleted.state == .deleted && deleted.id == "3" && deleted.holdings.isEmpty)
  }

  @Test("a deck shows the card of the day, and says that it is gone")
  func deck() throws {
    let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
    var it = CoreHarness(StreamRequest.deck("calm", timeZone: berlin).untyped)
    _ = it.start()
    #expect(
      it.opened().sent.last
        == #"{"op":"subscribe","id":3,"streams":[{"channel":"deck","symbols":["calm"],"zone":"Europe/Berlin"}]}"#)
    _ = it.welcome()
    _ = it.receive(
      #"{"type":"subscribed","id":3,"total":1,"ok":[{"stream":1,"channel":"deck","symbol":"calm","epoch":"k","seq":0}],"failed":[]}"#
    )
    let card =
      #"{"number":5,"quote":"Wait.","action":"Turn off one.","minutes":5,"domain":"wealth","source":"A trader"}"#
    let step = it.receive(
      Self.message(
        "snapshot", "deck", symbol: "calm", seq: 1,
        #"{"deck":"calm","zone":"Europe/Berlin","state":"live","title":"A calm day","date":"2026-11-23","turns_at":1795474800000000,"cards":14,"card":\#(card)}"#
      ))
    let day = DeckDay(
      deck: "calm", zone: "Europe/Berlin", state: .live, title: "A calm day", date: "2026-11-23",
      turnsAt: Date(timeIntervalSince1970: 1_795_474_800), cards: 14,
      card: .init(number: 5, quote: "Wait.", action: "Turn off one.", minutes: 5, domain: .wealth, source: "A trader"))
    #expect(step.values == [.deck(day)])
    let gone = #"{"deck":"calm","zone":"Europe/Berlin","state":"removed"}"#
    let removed = it.receive(Self.message("update", "deck", symbol: "calm", prev: 1, seq: 2, gone))
    #expect(removed.values == [.deck(DeckDay(deck: "calm", zone: "Europe/Berlin"))])
  }

  @Test("requests name what the protocol names, and no rate where there is none")
  func requests() throws {
    let contents = PortfolioContents(
      currency: "EUR", holdings: [.init("BTC", quantity: ExactDecimal("0.50")!, cost: 20_000)],
      positions: [.init("deribit:BTC-PERPETUAL", .short, size: 1, entry: 64_000)])
    var it = CoreHarness(
      .all(
        StreamRequest.rate("ZEC-USD").untyped, StreamRequest.topic("a", "b", last: 500).untyped,
        StreamRequest.alerts.untyped, StreamRequest.portfolio(contents).untyped,
        StreamRequest.portfolio(id: "3", currency: "USD").untyped, StreamRequest.status.untyped))
    var actions: [ClientAction] = []
    it.core.configure(cadence: 1_000, now: it.now, into: &actions)
    _ = it.start()
    let sent = it.opened().sent
    #expect(
      sent.dropFirst() == [
        #"{"op":"subscribe","id":3,"streams":[{"channel":"rate","symbols":["ZEC-USD"],"interval_ms":1000},{"channel":"topic","symbols":["a","b"],"last":100},{"channel":"alerts"},{"channel":"portfolio","currency":"EUR","holdings":[{"asset":"BTC","quantity":"0.50","cost":"20000"}],"positions":[{"symbol":"deribit:BTC-PERPETUAL","side":"short","size":"1","leverage":"1","entry":"64000"}]},{"channel":"status"}]}"#,
        #"{"op":"subscribe","id":4,"streams":[{"channel":"portfolio","portfolio":"3","currency":"USD"}]}"#,
      ])
  }

  private struct Missing: Error {}
}
