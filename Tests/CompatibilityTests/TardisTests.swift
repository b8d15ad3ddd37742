import Bytes
import Foundation
import MarketData
import PubSub
import TestSupport
import Testing

@testable import Compatibility

@Suite("tardis-machine's normalised stream")
struct TardisTests {
  private static func path(_ options: String) -> String {
    let allowed = CharacterSet.alphanumerics
    let text = options.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    return "/compat/tardis/ws-stream-normalized?options=\(text)"
  }

  private static func kraken(_ dataTypes: String..., more: String = "") -> String {
    let list = dataTypes.map { "\"\($0)\"" }.joined(separator: ",")
    return path(#"[{"exchange":"kraken","symbols":["xbt/usd"],"dataTypes":[\#(list)]\#(more)}]"#)
  }

  @Test("every message, as a client gets it")
  func golden() throws {
    let world = DialectWorld()
    world.open()
    var golden = Golden()
    for type in [
      "trade", "book_change", "book_snapshot_3_0ms", "book_snapshot_3_100ms", "quote", "book_ticker", "trade_bar_1s",
      "trade_bar_2ticks", "trade_bar_1vol",
    ] {
      let client = world.connect(Self.kraken(type))
      for step in 0..<3 {
        world.book(.delta, bids: [(640_000, 60_000_000 + Int64(step))], asks: [(640_050, 100)])
        world.trade(TradeID(UInt64(20 + step)), 640_006, 50_000_000, step == 0 ? .sell : .buy)
        world.run(milliseconds: 1_000)
      }
      golden.note(type, client.news())
    }
    let client = world.connect(Self.kraken("trade", more: #","withDisconnectMessages":true"#))
    world.hub.feeds[0].state = .stale
    world.run(milliseconds: 2_000)
    golden.note("not live", client.news() + ["close \(client.end?.code ?? 0) \(client.end?.reason ?? "")"])
    try golden.check("tardis")
  }

  @Test("the changes of a book add up to the market's, over losses of sync", arguments: testSeeds(4))
  func book(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let world = DialectWorld()
    world.open()
    let client = world.connect(Self.kraken("book_change"))
    var sides: [String: [Double: Double]] = [:]
    for _ in 0..<300 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0: world.loseSync()
      case 1: world.open()
      default:
        let bids = (0..<Int.random(in: 0..<4, using: &random)).map { _ in
          (639_900 + Int64.random(in: 0...100, using: &random), Int64.random(in: 0...3, using: &random) * 1_000_000)
        }
        world.book(.delta, bids: bids, asks: [])
      }
      world.settle()
      for message in client.news() {
        let change = try json(message)
        if change["isSnapshot"] as? Bool == true { sides = [:] }
        var levels = 0
        for name in ["bids", "asks"] {
          for level in try #require(change[name] as? [[String: Double]]) {
            levels += 1
            let (price, amount) = (try #require(level["price"]), try #require(level["amount"]))
            sides[name, default: [:]][price] = amount == 0 ? nil : amount
          }
        }
        #expect(levels > 0)
      }
      guard world.state.bookState == .live else { continue }
      let bids = Dictionary(
        uniqueKeysWithValues: world.state.book.bids.map { (Double($0.price) / 10, Double($0.size) / 1e8) })
      #expect(sides["bids"] == bids)
    }
  }

  @Test(
    "what cannot be served ends the connection by its name",
    arguments: [
      ("{", "options"), ("[]", "exchange"), (#"{"exchange":"mtgox"}"#, "mtgox"),
      (#"{"exchange":"kraken","dataTypes":["liquidation"]}"#, "invalid data type: liquidation"),
      (#"{"exchange":"kraken","dataTypes":["trade_bar_0s"]}"#, "invalid data type: trade_bar_0s"),
      (#"{"exchange":"kraken","dataTypes":["quote_7s"]}"#, "invalid data type: quote_7s"),
      (#"{"exchange":"kraken","symbols":["DOGE/XMR"],"dataTypes":["trade"]}"#, "DOGE/XMR"),
    ])
  func refusals(options: String, words: String) {
    let world = DialectWorld()
    let client = world.connect(Self.path(options))
    #expect(client.end?.code == 1011)
    #expect(client.end?.reason.contains(words) == true)
    #expect(client.news() == [])
  }

  @Test("all symbols of an exchange, if none is named")
  func all() {
    let world = DialectWorld()
    world.open()
    let client = world.connect(Self.path(#"{"exchange":"kraken","dataTypes":["trade","quote"]}"#))
    #expect(client.end == nil)
    #expect(client.news().allSatisfy { $0.contains(#""symbol":"XBT/USD""#) })
    world.trade(TradeID(99), 640_001)
    world.settle()
    #expect(client.news().count == 1)
  }

  @Test("simulated prices are refused unless they are allowed")
  func simulated() {
    let world = DialectWorld(source: .replayed)
    var settings = CompatibilitySettings()
    settings[.tardis] = true
    let client = world.connect(Self.kraken("trade"), settings)
    #expect(client.end?.reason.contains("compat.allow-simulated") == true)
  }
}
