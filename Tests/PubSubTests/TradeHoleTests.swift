import Foundation
import MarketData
import Testing

@testable import PubSub

@Suite("Missing trades on the stream")
struct TradeHoleTests {
  private static func request(_ interval: Int = 0) -> String {
    #"{"op":"subscribe","streams":[{"channel":"trades","symbols":["kraken:BTC-USD"],"interval_ms":\#(interval)}]}"#
  }

  private func subscribed(_ world: World, _ request: String = request()) -> ModelClient {
    let client = world.client()
    _ = client.ask("{\"op\":\"hello\"}")
    _ = client.ask(request)
    return client
  }

  /// Of the trades 11 to 13, between 10 and 14.
  private func hole(_ world: World, found: Int64 = 0) -> TradeHole {
    let (from, to) = (world.now, world.now + 3 * Microseconds.second)
    var hole = TradeHole(first: 11, last: 13, count: 3, from: from, to: to, covers: TimeSpan(from: from, to: to))
    hole.isSearched = true
    hole.found = found
    return hole
  }

  private func trade(_ world: World, _ id: UInt64, isLate: Bool = false) -> Trade {
    Trade(
      instrument: InstrumentID(0), id: TradeID(id), price: Int64(id), size: 1, side: .buy,
      time: isLate ? world.now - Microseconds.second : world.now, isLate: isLate)
  }

  private func lose(_ world: World) {
    let hole = hole(world)
    world.trade(id: 10, price: 10)
    world.now = world.now + 3 * Microseconds.second
    world.apply {
      $0.events.append(.tradesMissing(InstrumentID(0), hole))
      $0.events.append(.trade(trade(world, 14)))
    }
  }

  private func find(_ world: World) {
    let hole = hole(world, found: 2)
    world.apply {
      for id: UInt64 in [11, 13] { $0.events.append(.trade(trade(world, id, isLate: true))) }
      $0.events.append(.tradesSearched(InstrumentID(0), hole))
    }
  }

  private func data(_ client: ModelClient) throws -> [[String: Any]] {
    try client.texts.of("update").map {
      let message = try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
      return try #require(message?["data"] as? [String: Any])
    }
  }

  @Test(
    "are told to all subscribers, between the trades around them and at once in every class", arguments: [0, 1_000])
  func told(interval: Int) throws {
    let world = World()
    let clients = [subscribed(world, Self.request(interval)), subscribed(world, Self.request(interval))]
    lose(world)
    world.settle()
    world.run(milliseconds: 1_000)
    for client in clients {
      let data = try data(client)
      let ids = data.map { ($0["trades"] as? [[String: Any]] ?? []).map { $0["id"] as? String ?? "" } }
      #expect(ids == [["10"], [], ["14"]], "\(client.texts)")
      let lost = try #require(data[1]["lost"] as? [String: Any])
      #expect(lost["from_id"] as? String == "11" && lost["to_id"] as? String == "13")
      #expect(lost["count"] as? Int == 3 && lost["requested"] as? Bool == true)
      #expect(client.faults.isEmpty, "\(client.faults)")
    }
  }

  @Test("are told to a session that comes back, in their place")
  func resumed() throws {
    let world = World()
    let client = subscribed(world)
    client.leave()
    world.settle()
    lose(world)
    find(world)
    world.settle()
    let back = client.comeBack()
    #expect(back.texts.first?.contains("\"recovered\":true") ?? false)
    let data = try data(back)
    #expect(data.count == 5 && data[1]["lost"] != nil && data[4]["found"] != nil)
    #expect(back.faults.isEmpty, "\(back.faults)")
  }

  @Test("that are found come late and are marked; how many stay missing is said")
  func found() throws {
    let world = World()
    let client = subscribed(world)
    lose(world)
    find(world)
    world.settle()
    let data = try data(client)
    let late = data.flatMap { $0["trades"] as? [[String: Any]] ?? [] }.filter { $0["late"] as? Bool == true }
    #expect(late.map { $0["id"] as? String } == ["11", "13"])
    let found = try #require(data.last?["found"] as? [String: Any])
    #expect(found["count"] as? Int == 2 && found["missing"] as? Int == 1)
    // A snapshot has all trades in their order.
    let next = subscribed(world)
    let snapshot = try #require(next.texts.of("snapshot").first)
    let ids = ["10", "11", "13", "14"].map { "{\"id\":\"\($0)\"" }
    let indices = ids.map { snapshot.range(of: $0)?.lowerBound }
    #expect(indices.allSatisfy { $0 != nil } && indices.compactMap(\.self) == indices.compactMap(\.self).sorted())
  }

  @Test("of an unknown number have no count")
  func unknown() throws {
    let world = World()
    let client = subscribed(world)
    var hole = hole(world)
    (hole.count, hole.last, hole.isSearched) = (nil, .max, false)
    world.apply { $0.events.append(.tradesMissing(InstrumentID(0), hole)) }
    world.settle()
    let lost = try #require(try data(client).first?["lost"] as? [String: Any])
    #expect(lost["count"] == nil && lost["to_id"] as? String == "9223372036854775807")
    #expect(lost["requested"] as? Bool == false)
  }

  @Test("make the open candle partial, at once, and whole again when all of them are there")
  func candles() throws {
    let world = World()
    world.now = Timestamp(microseconds: 1_790_000_040_000_000)
    world.trade(id: 9, price: 9)
    world.run(milliseconds: 61_000)
    let client = subscribed(
      world, #"{"op":"subscribe","streams":[{"channel":"candles","symbols":["kraken:BTC-USD"],"interval_ms":0}]}"#)
    func sources() throws -> [String] {
      try data(client).suffix(1).flatMap { $0["candles"] as? [[String: Any]] ?? [] }.map {
        $0["source"] as? String ?? ""
      }
    }
    lose(world)
    world.settle()
    #expect(try sources() == ["partial"])
    let hole = hole(world, found: 3)
    world.apply {
      for id: UInt64 in 11...13 { $0.events.append(.trade(trade(world, id, isLate: true))) }
      var whole = hole
      whole.covers = TimeSpan(from: world.now - 4 * Microseconds.second, to: world.now)
      $0.events.append(.tradesSearched(InstrumentID(0), whole))
    }
    world.settle()
    #expect(try sources() == ["own"])
  }
}
