import Alerts
import Decks
import MarketData
import PubSub
import TestSupport
import Testing

@testable import Documents

@Suite("The board of decks")
struct DeckBoardTests {
  private static let zones = ["America/New_York", "Asia/Kathmandu", "Europe/Berlin", "Pacific/Apia", "UTC"]
  private static let rules = Dictionary(uniqueKeysWithValues: zones.map { ($0, ZoneFiles.read($0) ?? .utc) })

  /// A board and what it has shown.
  private struct World {
    var board = DeckBoard()
    var decks = ["calm": Deck.demo]
    var shown: [String: String] = [:]
    var messages: [String] = []
    var readings = 0

    mutating func advance(to now: Timestamp) {
      var (messages, shown, readings) = (self.messages, self.shown, self.readings)
      let decks = decks
      board.advance(
        to: now,
        { deck, zone, now in
          readings += 1
          return decks[deck].map { DeckDay($0, zone: zone, DeckBoardTests.rules[zone]!, now: now) }
        },
        { name, text in
          messages.append("\(name.name) \(name.zone ?? "")")
          shown[messages.last!] = String(decoding: text, as: UTF8.self)
        })
      (self.messages, self.shown, self.readings) = (messages, shown, readings)
    }

    /// What each subscriber should have on the screen.
    func expected(_ deck: String, _ zone: String, _ now: Timestamp) -> String {
      guard let found = decks[deck] else {
        return "{\"deck\":\"\(deck)\",\"zone\":\"\(zone)\",\"state\":\"removed\"}"
      }
      let today = DeckDay(found, zone: zone, DeckBoardTests.rules[zone]!, now: now)
      return "\"card\":{\"number\":\(today.index + 1),"
    }
  }

  private static func name(_ zone: String, _ deck: String = "calm") -> StreamDocumentName {
    StreamDocumentName(.deck, deck, zone: zone)
  }

  @Test("each zone turns at its own midnight, within a tick, and once")
  func turns() {
    var world = World()
    for zone in Self.zones { world.board.want(Self.name(zone)) }
    let start = Timestamp(microseconds: 1_795_392_000_000_000)
    world.advance(to: start)
    #expect(world.messages == Self.zones.map { "calm \($0)" })
    for zone in Self.zones {
      let ends = ZoneDay(at: start, in: Self.rules[zone]!).ends
      var before = World()
      before.board.want(Self.name(zone))
      before.advance(to: start)
      before.advance(to: ends - 1)
      #expect(before.messages.count == 1, "\(zone) turned early")
      before.advance(to: ends)
      before.advance(to: ends + 100_000)
      #expect(before.messages.count == 2, "\(zone) did not turn once")
      #expect(before.shown["calm \(zone)"]?.contains(before.expected("calm", zone, ends)) == true)
    }
  }

  @Test("in between nothing is looked at")
  func quiet() {
    var world = World()
    world.board.want(Self.name("Europe/Berlin"))
    let noon = Timestamp(microseconds: 1_795_430_000_000_000)
    for tick in Int64(0)..<10_000 { world.advance(to: noon + tick * 100_000) }
    #expect(world.readings == 1)
  }

  @Test(
    "subscribers, reloads and steps of the clock in any order: each has the card of its day", arguments: testSeeds(40))
  func anything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var world = World()
    var wanted: Set<String> = []
    var now = Timestamp(microseconds: 1_795_392_000_000_000)
    for _ in 0..<400 {
      let zone = Self.zones.randomElement(using: &random)!
      switch Int.random(in: 0..<7, using: &random) {
      case 0:
        world.board.want(Self.name(zone))
        wanted.insert(zone)
      case 1:
        world.board.release(Self.name(zone))
        wanted.remove(zone)
      case 2:
        world.decks["calm"] = world.decks["calm"] == nil ? .demo : nil
        world.board.decksChanged()
      case 3: now = now + Int64.random(in: -90_000_000_000...90_000_000_000, using: &random)
      default: now = now + Int64.random(in: 0...20_000_000_000, using: &random)
      }
      world.advance(to: now)
      for zone in wanted.sorted() {
        let shown = world.shown["calm \(zone)"] ?? ""
        #expect(shown.contains(world.expected("calm", zone, now)), "seed \(seed), \(zone)")
      }
    }
  }
}
