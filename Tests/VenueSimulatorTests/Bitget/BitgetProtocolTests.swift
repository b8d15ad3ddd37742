import Bytes
import MarketData
import TestTraits
import Testing

@testable import VenueSimulator

@Suite("The simulated Bitget", .longComputation)
struct BitgetProtocolTests {
  private static func argument(_ channel: String, _ name: String, _ family: String) -> String {
    #"{"instType":"\#(family)","channel":"\#(channel)","instId":"\#(name)"}"#
  }

  private static func subscribe(
    _ channel: String, _ names: [String], family: String = "SPOT", op: String = "subscribe"
  ) -> String {
    let list = names.map { argument(channel, $0, family) }.joined(separator: ",")
    return #"{"op":"\#(op)","args":[\#(list)]}"#
  }

  /// Side of a client's book by exact text: prices to sizes.
  private func apply(_ levels: [[String]], to side: inout [Double: String]) throws {
    for level in levels {
      let price = try #require(Double(level[0]))
      if Double(level[1]) == 0 { side[price] = nil } else { side[price] = level[1] }
    }
  }

  @Test(
    "books begin whole, each update names the number before its own, the first may name one before its snapshot",
    arguments: ["SPOT", "USDT-FUTURES"])
  func books(family: String) throws {
    let venue = try makeVenue("bitget", seed: 5)
    let client = try TestClient(venue)
    client.send(Self.subscribe("books", ["BTCUSDT", "ETHUSDT"], family: family))
    var sides: [String: (bids: [Double: String], asks: [Double: String], number: Int)] = [:]
    // Those whose first update is still to come.
    var begun: Set<String> = []
    var updates = 0
    for _ in 0..<400 {
      client.send("ping")
      venue.run(0.25, client)
      for text in client.take() where text.hasPrefix(#"{"action""#) {
        let message = try parse(text)
        let argument = try #require(message.object("arg"))
        #expect(argument.string("instType") == family && argument.string("channel") == "books")
        let name = try #require(argument.string("instId"))
        let data = try #require(message.objects("data").first)
        let (number, previous) = (try #require(data.int("seq")), try #require(data.int("pseq")))
        #expect(data.string("ts").flatMap(Int64.init) != nil && message.int("ts") != nil)
        if message.string("action") == "snapshot" {
          #expect(sides[name] == nil && previous == 0)
          sides[name] = ([:], [:], number)
          begun.insert(name)
        } else {
          updates += 1
          let last = try #require(sides[name]?.number)
          #expect(previous == last || begun.contains(name) && previous == last - 1, "\(name)")
          begun.remove(name)
          #expect(number > last + 1)
        }
        var side = try #require(sides[name])
        try apply(data.pairs("bids"), to: &side.bids)
        try apply(data.pairs("asks"), to: &side.asks)
        side.number = number
        sides[name] = side
      }
    }
    #expect(updates > 100)
    // A last turn for what has gathered.
    for (name, side) in sides.sorted(by: { $0.key < $1.key }) {
      let state = try #require(
        venue.market.instruments.first {
          $0.instrument.venueSymbol == name && BitgetProtocol.family($0.instrument) == family
        })
      let scale = Double(DecimalText.power(state.instrument.priceScale))
      let size = Double(DecimalText.power(state.instrument.sizeScale))
      func wanted(_ levels: [PriceLevel]) -> [[Double]] {
        levels.map { [Double($0.price) / scale, Double($0.size) / size] }
      }
      func held(_ side: [Double: String], best: (Double, Double) -> Bool) -> [[Double]] {
        side.keys.sorted(by: best).prefix(20).map { [$0, Double(side[$0]!)!] }
      }
      // Changes since the last turn are still to be told; the book of that turn is what `number` says.
      guard BitgetNumber.of(state) == side.number else { continue }
      #expect(held(side.bids, best: >) == wanted(state.book.top(.bid, 20)), "\(name)")
      #expect(held(side.asks, best: <) == wanted(state.book.top(.ask, 20)), "\(name)")
    }
    #expect(sides.count == 2)
  }

  @Test("each argument is acknowledged or refused by itself, with codes that are numbers")
  func answers() throws {
    let client = try TestClient(try makeVenue("bitget", faults: ["refuse=ETH-USDT"]))
    client.send(Self.subscribe("trade", ["BTCUSDT", "NOPEUSDT", "ETHUSDT"]))
    let texts = client.take()
    #expect(texts[0] == #"{"event":"subscribe","arg":\#(Self.argument("trade", "BTCUSDT", "SPOT"))}"#)
    #expect(texts[1].hasPrefix(#"{"action":"snapshot""#))
    #expect(
      texts[2] == #"{"event":"error","arg":\#(Self.argument("trade", "NOPEUSDT", "SPOT")),"code":30001,"#
        + #""msg":"instType:SPOT,channel:trade,instId:NOPEUSDT,precision:null doesn't exist","op":"subscribe"}"#)
    #expect(texts[3].contains(#""code":30001"#) && texts.count == 4)
    client.send(Self.subscribe("books50", ["BTCUSDT"]))
    #expect(client.take()[0].contains(#""code":30016,"msg":"Param error""#))
    client.send(#"{"op":"ping"}"#)
    client.send("{")
    #expect(client.take().allSatisfy { $0.contains(#""code":30002"#) && !$0.contains(#""arg""#) })
    client.send("ping")
    #expect(client.take() == ["pong"])
    client.send(Self.subscribe("trade", ["BTCUSDT"], op: "unsubscribe"))
    #expect(client.take() == [#"{"event":"unsubscribe","arg":\#(Self.argument("trade", "BTCUSDT", "SPOT"))}"#])
  }

  @Test("a market under another family's name is acknowledged and silent; the same again begins again, once")
  func pitfalls() throws {
    let venue = try makeVenue("bitget")
    let client = try TestClient(venue)
    client.send(Self.subscribe("books", ["BTCUSDT"], family: "COIN-FUTURES"))
    client.send("ping")
    venue.run(3, client)
    #expect(client.take().filter { $0 != "pong" }.count == 1)
    client.send(Self.subscribe("books", ["BTCUSDT"]))
    client.send(Self.subscribe("books", ["BTCUSDT"]))
    let begun = client.take()
    #expect(begun.count == 4 && begun.filter { $0.hasPrefix(#"{"action":"snapshot""#) }.count == 2)
    venue.run(2, client)
    let numbers = try client.take().map { try parse($0).objects("data")[0].int("seq") ?? 0 }
    #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
  }

  @Test("trades come newest first, and the first message repeats those before")
  func trades() throws {
    let venue = try makeVenue("bitget")
    let client = try TestClient(venue)
    client.send(Self.subscribe("trade", ["BTCUSDT"], family: "USDT-FUTURES"))
    client.send("ping")
    venue.run(30, client)
    let messages = try client.take().filter { $0.hasPrefix(#"{"action""#) }.map(parse)
    #expect(messages[0].string("action") == "snapshot" && messages[0].objects("data").count == 30)
    var last: UInt64 = 0
    for message in messages {
      let ids = message.objects("data").compactMap { $0.string("tradeId") }.compactMap { UInt64($0) }
      #expect(ids == ids.sorted(by: >) && ids[ids.count - 1] > last && "\(ids[0])".count == 19)
      last = ids[0]
    }
    #expect(messages.count > 5)
  }

  @Test("a connection ends without its ping, after too many messages, and after a day")
  func ends() throws {
    let venue = try makeVenue("bitget", rate: 0.1)
    let quiet = try TestClient(venue)
    let alive = try TestClient(venue)
    for _ in 0..<7 {
      venue.run(20, quiet, alive)
      alive.send("ping")
    }
    #expect(quiet.isAborted && !alive.isAborted)
    let noisy = try TestClient(venue)
    for _ in 0..<11 { noisy.send("ping") }
    #expect(noisy.closed == 1_006 && noisy.take().last?.contains("30007") == true)
  }

  @Test("the lists name what is traded, and the step of a price is not always one of its last digit")
  func lists() throws {
    let venue = try makeVenue("bitget")
    let symbols = try parse(venue.respond(path: "/api/v2/spot/public/symbols", query: []).body)
    #expect(symbols.string("code") == "00000" && symbols.objects("data").count == 8)
    let contracts = try parse(
      venue.respond(path: "/api/v2/mix/market/contracts", query: [("productType", "usdt-futures")]).body)
    let solana = try #require(contracts.objects("data").first { $0.string("symbol") == "SOLUSDT" })
    #expect(solana.string("priceEndStep") == "5" && solana.string("pricePlace") == "3")
    #expect(solana.string("sizeMultiplier") == "0.1" && solana.string("symbolStatus") == "normal")
    #expect(venue.respond(path: "/api/v2/mix/market/contracts", query: []).status == 400)
    let tickers = try parse(venue.respond(path: "/api/v2/spot/market/tickers", query: []).body)
    #expect(tickers.objects("data").allSatisfy { $0.string("usdtVolume") != nil })
    let book = try parse(
      venue.respond(path: "/api/v2/spot/market/orderbook", query: [("symbol", "BTCUSDT"), ("limit", "5")]).body)
    #expect(book.object("data")?.pairs("bids").count == 5)
    let unknown = venue.respond(path: "/api/v2/spot/public/symbols", query: [("symbol", "NOTACOINUSDT")])
    #expect(
      unknown.status == 400 && unknown.body.contains(#""code":"40034","msg":"Parameter NOTACOINUSDT does not exist""#))
    for _ in 0..<20 { _ = venue.respond(path: "/api/v2/public/time", query: []) }
    #expect(venue.respond(path: "/api/v2/public/time", query: []).status == 429)
  }
}

/// The number of a book that stands as the market does.
private enum BitgetNumber {
  static func of(_ state: InstrumentMarket) -> Int { Int(state.updateID * 2_857) }
}
