import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("Groups: one stream for a list of symbols")
struct GroupStreamTests {
  private static let both = #"["kraken:A1-USD","kraken:BTC-USD"]"#

  private static func request(
    _ channel: String, _ symbols: String = both, _ more: String = #","interval_ms":100"#
  ) -> String {
    #"{"op":"subscribe","id":1,"streams":[{"channel":"\#(channel)","symbols":\#(symbols),"group":true\#(more)}]}"#
  }

  private static func object(_ text: String) -> [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
  }

  /// The elements of a group's message: index, whether it replaces the member, and the data.
  private static func elements(_ text: String) -> [(index: Int, isSnapshot: Bool, data: [String: Any])] {
    let message = object(text)
    let data = message["data"] as? [String: Any] ?? [:]
    return (data["updates"] as? [[String: Any]] ?? []).map {
      (
        $0["i"] as? Int ?? -1, message["type"] as? String == "snapshot" || $0["snapshot"] as? Bool == true,
        $0["data"] as? [String: Any] ?? [:]
      )
    }
  }

  private func move(_ world: World, _ bid: Int64, instrument: Int) {
    world.apply {
      $0.events.append(
        .quote(
          Quote(
            instrument: InstrumentID(instrument), bid: bid, bidSize: 5, ask: bid + 10, askSize: 6, time: world.now)))
    }
  }

  @Test("all that a tick brings of all members is one message, the same for all who ask for the same list")
  func oneMessage() {
    let world = World(instruments: 2)
    for instrument in 0...1 { move(world, 100, instrument: instrument) }
    let (one, other) = (world.client(), world.client())
    let first = one.ask(Self.request("quote"))
    let second = other.ask(Self.request("quote", #"["kraken:BTC-USD","kraken:A1-USD","kraken:*"]"#))
    #expect(first[0].contains(#""channel":"quote","group":true,"symbols":["kraken:A1-USD","kraken:BTC-USD"],"#))
    let stream = (Self.object(first[0])["ok"] as? [[String: Any]])?.first?["stream"] as? Int
    #expect((Self.object(second[0])["ok"] as? [[String: Any]])?.first?["stream"] as? Int == stream)
    #expect(first[1].hasPrefix(#"{"type":"snapshot","channel":"quote","group":true,"stream":"#))
    #expect(first[1].contains(#""data":{"members":["kraken:A1-USD","kraken:BTC-USD"],"updates":[{"i":0,"data":{"bid""#))
    let before = one.texts.count
    for step in 1...5 as ClosedRange<Int64> {
      move(world, 100 + step, instrument: 0)
      move(world, 200 + step, instrument: 1)
    }
    world.settle()
    #expect(one.texts.count == before)
    world.run(milliseconds: 100)
    let texts = one.texts[before...].filter { $0.contains(#""type":"update""#) }
    #expect(texts.count == 1)
    #expect(Array(other.texts.suffix(1)) == Array(texts))
    #expect(Self.elements(texts[texts.startIndex]).map(\.index).sorted() == [0, 1])
    #expect(texts[texts.startIndex].contains(#"{"i":1,"data":{"bid":"10.5","#))
    #expect(texts[texts.startIndex].contains(#"{"i":0,"data":{"bid":"20.5","#))
    world.run(milliseconds: 1_000)
    #expect(one.faults == [] && other.faults == [])
  }

  @Test(
    "a member has what its own stream has, through lost and found books, other digits and slow clients",
    arguments: testSeeds(4))
  func members(seed: UInt64) {
    let world = World(instruments: 2)
    var random = SeededGenerator(seed: seed)
    let single = world.client()
    let grouped = world.client()
    let items = ["quote", "ticker", "pulse", "sparkline", "book"]
    for channel in items {
      let more = channel == "book" ? #","depth":10,"interval_ms":100"# : #","interval_ms":1000"#
      _ = single.ask(
        #"{"op":"subscribe","streams":[{"channel":"\#(channel)","symbols":\#(Self.both)\#(more)}]}"#)
      _ = grouped.ask(Self.request(channel, Self.both, more))
    }
    for round in 0..<4 as Range<UInt64> {
      world.play(steps: 25, seed: seed &+ round)
      move(world, 500 + Int64(round), instrument: 1)
      if Bool.random(using: &random) {
        grouped.isStuck = true
        grouped.unsent(1_000)
        world.play(steps: 25, seed: seed &+ 100 &+ round)
        grouped.unsent(0)
        grouped.isStuck = false
        world.settle()
      }
    }
    world.playRareChanges()
    world.run(milliseconds: 6_000)
    #expect(single.faults == [] && grouped.faults == [])
    // The last state of each member of each channel, as both clients have it.
    var alone: [String: String] = [:]
    var together: [String: String] = [:]
    for text in single.texts {
      let message = Self.object(text)
      guard let channel = message["channel"] as? String, let symbol = message["symbol"] as? String,
        let data = message["data"] as? [String: Any], ["quote", "ticker", "pulse"].contains(channel)
      else { continue }
      alone["\(channel) \(symbol)"] = "\(data.sorted { $0.key < $1.key })"
    }
    let names = ["kraken:A1-USD", "kraken:BTC-USD"]
    var books = [
      ModelClient.Stream(channel: "book", symbol: names[0]), ModelClient.Stream(channel: "book", symbol: names[1]),
    ]
    for text in grouped.texts {
      guard let channel = Self.object(text)["channel"] as? String else { continue }
      if channel == "book", text.hasPrefix(#"{"type":"snapshot""#) {
        for index in 0...1 { books[index].bids = [:]; books[index].asks = [:] }
      }
      for element in Self.elements(text) {
        together["\(channel) \(names[element.index])"] = "\(element.data.sorted { $0.key < $1.key })"
        guard channel == "book" else { continue }
        if element.isSnapshot || element.data["state"] as? String == "syncing" {
          books[element.index].bids = [:]
          books[element.index].asks = [:]
        }
        for (name, path) in [("bids", \ModelClient.Stream.bids), ("asks", \ModelClient.Stream.asks)] {
          for level in element.data[name] as? [[String]] ?? [] {
            books[element.index][keyPath: path][level[0]] = level[1] == "0" ? nil : level[1]
          }
        }
      }
    }
    for (name, data) in alone { #expect(together[name] == data, "seed \(seed): \(name)") }
    for stream in single.streams.values where stream.channel == "book" {
      let index = names.firstIndex(of: stream.symbol)!
      #expect(ModelClient.text(of: books[index]) == ModelClient.text(of: stream), "seed \(seed): \(stream.symbol)")
    }
  }

  @Test("members of several loops are a stream for each; a group counts as its members")
  func loops() {
    let world = World(loops: 2, instruments: 2)
    let client = world.client()
    let reply = client.ask(Self.request("pulse", #"["*:BTC-USD","kraken:A1-USD"]"#))
    let ok = Self.object(reply[0])["ok"] as? [[String: Any]] ?? []
    #expect(
      ok.compactMap { $0["symbols"] as? [String] } == [["kraken:A1-USD", "kraken:BTC-USD"], ["coinbase:BTC-USD"]])
    var limits = ClientLimits()
    limits.subscriptions = 4
    let small = World(instruments: 3, limits: limits)
    let other = small.client()
    _ = other.ask(Self.request("quote", #"["kraken:*"]"#))
    let refused = other.ask(Self.request("ticker", Self.both, ""))
    #expect(refused[0].contains(#""code":"too_many_subscriptions""#) && refused[0].contains(#""ok":[]"#))
    let last = other.ask(#"{"op":"subscribe","streams":[{"channel":"trades","symbols":["kraken:BTC-USD"]}]}"#)
    #expect(last[0].contains(#""failed":[]"#))
  }

  @Test("a group that nobody follows is given up; its number goes to another, whose numbers are higher")
  func givenUp() {
    let world = World(instruments: 2)
    let client = world.client()
    let first = client.ask(Self.request("quote"))
    let number = (Self.object(first[0])["ok"] as? [[String: Any]])?.first?["stream"] as? Int ?? 0
    let kept = world.publishers[0].keptStreams
    #expect(world.hubs[0].lists.groupMembers == 2)
    let seq = (Self.object(first[0])["ok"] as? [[String: Any]])?.first?["seq"] as? Int ?? 0
    _ = client.ask(#"{"op":"unsubscribe","streams":[\#(number)]}"#)
    #expect(world.publishers[0].keptStreams == kept - 1)
    #expect(world.hubs[0].lists.groupMembers == 0)
    let second = client.ask(Self.request("ticker"))
    let item = (Self.object(second[0])["ok"] as? [[String: Any]])?.first
    #expect(item?["stream"] as? Int == number)
    #expect(item?["seq"] as? Int ?? 0 > seq)
    #expect(client.faults == [])
  }

  @Test("a loop has a bound for the members of all its groups")
  func bound() {
    var resolver = SubscriptionResolver(nameLimit: 1_000)
    resolver.directory.venues = ["kraken"]
    for index in 0..<3 {
      let instrument = Instrument(
        id: InstrumentID(index), venue: "kraken", venueSymbol: "A\(index)", base: "A\(index)", quote: "USD",
        priceScale: 1, sizeScale: 8)
      resolver.directory.update(DirectoryEntry(loop: 0, market: 0, instrument: instrument, bookState: .live))
    }
    var item = ClientRequest.Item(channelText: "quote", channel: .quote, symbols: ["kraken:*"])
    item.isGroup = true
    var asker = SubscriptionResolver.Asker(grant: .everything, count: 0, limit: 100, degraded: 0)
    asker.groupRoom = 2
    let now = Timestamp(microseconds: 1_790_000_000_000_000)
    let result = resolver.resolve([item], for: asker, now: now) { _ in false }
    #expect(result.matches.isEmpty && result.failures.map(\.error.code) == [.tooManySubscriptions])
    asker.groupRoom = 3
    #expect(resolver.resolve([item], for: asker, now: now) { _ in false }.matches.map(\.key.weight) == [3])
  }

  @Test("only what a client may see is in its group, and a smaller grant ends it")
  func rights() {
    let world = World(instruments: 2)
    let client = world.client()
    var grant = Grant.everything
    grant.symbols = SymbolRules(["kraken:BTC-USD"]).map { [$0] } ?? []
    client.authorize(grant)
    let reply = client.ask(Self.request("quote"))
    #expect(reply[0].contains(#""symbols":["kraken:BTC-USD"]"#) && reply[0].contains(#""code":"forbidden""#))
    grant.symbols = SymbolRules(["kraken:A1-USD"]).map { [$0] } ?? []
    client.authorize(grant)
    world.settle()
    #expect(client.notices.contains { $0["code"] as? String == "forbidden" })
    #expect(client.ask(#"{"op":"list"}"#)[0].contains(#""streams":[]"#))
  }

  @Test("a watchlist of the configuration is a group of its symbols, and a change of it affects later requests")
  func watchlist() {
    let world = World(instruments: 3)
    let client = world.client()
    func ask(_ name: String, _ more: String = "", _ channel: String = "quote") -> String {
      client.ask(
        #"{"op":"subscribe","id":1,"streams":[{"channel":"\#(channel)","watchlist":"\#(name)"\#(more)}]}"#)[0]
    }
    #expect(ask("majors").contains(#""message":"there is no watchlist `majors`","hint":"there are none""#))
    world.hubs[0].watchlists = ["majors": ["kraken:BTC-USD", "kraken:A1-USD"], "all": ["kraken:*"]]
    #expect(ask("majors").contains(#""group":true,"symbols":["kraken:A1-USD","kraken:BTC-USD"]"#))
    #expect(ask("all", #","group":true"#).contains(#""symbols":["kraken:A1-USD","kraken:A2-USD","kraken:BTC-USD"]"#))
    #expect(ask("minors").contains(#""hint":"all, majors""#))
    #expect(ask("all", #","symbols":["kraken:BTC-USD"]"#).contains("has both `symbols` and `watchlist`"))
    #expect(ask("all", "", "trades").contains("the channel `trades` has no groups"))
    let before = client.streams.count
    world.hubs[0].watchlists = ["majors": ["kraken:A2-USD"]]
    #expect(ask("majors").contains(#""symbols":["kraken:A2-USD"]"#))
    #expect(client.streams.count == before + 1)
    var grant = Grant.everything
    grant.symbols = SymbolRules(["kraken:BTC-USD"]).map { [$0] } ?? []
    client.authorize(grant)
    #expect(ask("majors").contains(#""code":"forbidden""#))
  }

  @Test("what cannot be a group is refused in words")
  func refused() {
    let world = World()
    let client = world.client()
    let one = #"["kraken:BTC-USD"]"#
    #expect(client.ask(Self.request("trades", one))[0].contains("the channel `trades` has no groups"))
    #expect(client.ask(Self.request("book", one, #","depth":"full""#))[0].contains("depth` of 10 or 25"))
    #expect(client.ask(Self.request("quote", #"["kraken:NONE-USD"]"#))[0].contains(#""code":"unknown_symbol""#))
    let text = client.ask(#"{"op":"subscribe","streams":[{"channel":"quote","symbols":\#(one),"group":1}]}"#)[0]
    #expect(text.contains("`streams[0].group` must be true or false"))
  }

  @Test("a client that returns gets what it missed, or a snapshot; another rate is another stream")
  func resume() {
    let world = World(instruments: 2)
    for instrument in 0...1 { move(world, 100, instrument: instrument) }
    let keeper = world.client()
    _ = keeper.ask(Self.request("quote"))
    let client = world.client()
    let reply = Self.object(client.ask(Self.request("quote"))[0])
    let item = (reply["ok"] as? [[String: Any]])?.first ?? [:]
    let number = item["stream"] as? Int ?? 0
    let seq = client.streams[number]?.seq ?? 0
    client.leave()
    move(world, 150, instrument: 1)
    world.run(milliseconds: 200)
    let back = world.client()
    back.resumed = client.streams
    let texts = back.ask(
      #"{"op":"hello","resume":{"session":"\#(client.session)","streams":[{"channel":"quote","symbols":\#(Self.both),"group":true,"interval_ms":100,"stream":\#(number),"epoch":"k7","seq":\#(seq)}]}}"#
    )
    #expect(texts[0].contains(#""recovered":true"#))
    #expect(texts.of("update").count == 1 && texts.of("snapshot").isEmpty)
    let moved = back.ask(#"{"op":"configure","interval_ms":1000}"#)
    #expect(moved[0].contains(#""group":true"#) && moved.of("snapshot").count == 1)
    #expect(back.faults == [])
  }
}
