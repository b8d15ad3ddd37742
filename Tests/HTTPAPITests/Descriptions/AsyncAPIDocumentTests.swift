import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import HTTPAPI
@testable import PubSub

@Suite("The AsyncAPI document")
struct AsyncAPIDocumentTests {
  private static func document() throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: Data(AsyncAPIDocument.whole.bytes)) as? [String: Any])
  }

  @Test("names every op and channel, and each reference leads to something")
  func complete() throws {
    let document = try Self.document()
    #expect(document["asyncapi"] as? String == "3.0.0")
    let operations = try #require(document["operations"] as? [String: [String: Any]])
    #expect(Set(operations.keys) == Set(ClientRequest.ops + ["publish"]))
    let messages = try #require((document["components"] as? [String: [String: Any]])?["messages"])
    for channel in ChannelName.allCases {
      #expect(messages["snapshot.\(channel.rawValue)"] != nil && messages["update.\(channel.rawValue)"] != nil)
    }
    var references: [String] = []
    func find(_ value: Any) {
      if let object = value as? [String: Any] {
        if let reference = object["$ref"] as? String { references.append(reference) }
        for part in object.values { find(part) }
      } else if let list = value as? [Any] {
        for part in list { find(part) }
      }
    }
    find(document)
    #expect(references.count > 50)
    for reference in references {
      var location: Any? = document
      for step in reference.dropFirst(2).split(separator: "/") {
        location = (location as? [String: Any])?[String(step)]
      }
      #expect(location != nil, "\(reference)")
    }
  }

  /// The schema of a channel's data.
  private static func data(_ message: String, _ document: [String: Any]) throws -> [String: Any] {
    let messages = (document["components"] as? [String: [String: Any]])?["messages"]
    let payload = (messages?[message] as? [String: Any])?["payload"] as? [String: Any]
    return try #require((payload?["properties"] as? [String: [String: Any]])?["data"], "\(message)")
  }

  @Test("needs the members that every message of a channel has, and names every schema that it has")
  func required() throws {
    let document = try Self.document()
    for (channel, known) in WireDescription.channels {
      for (type, members) in [("snapshot", known.snapshot), ("update", known.update)] {
        let needed = try Self.data("\(type).\(channel.rawValue)", document)["required"] as? [String] ?? []
        #expect(Set(needed) == Set(members), "\(type).\(channel.rawValue)")
      }
    }
    let text = String(decoding: AsyncAPIDocument.whole.bytes, as: UTF8.self)
    let named = Set(text.matches(of: /#\/components\/schemas\/(\w+)/).map { String($0.output.1) })
    let schemas = (document["components"] as? [String: Any])?["schemas"] as? [String: Any] ?? [:]
    #expect(named == Set(schemas.keys))
  }

  @Test("has every member that a message has in rare states: holes, late trades, silent channels, failed symbols")
  func rare() throws {
    let document = try Self.document()
    let check = SchemaCheck(document)
    let instrument = Instrument(
      id: InstrumentID(0), venue: "kraken", venueSymbol: "BTC/USD", base: "BTC", quote: "USD", priceScale: 1,
      sizeScale: 8)
    let (then, now) = (Timestamp(microseconds: 1_790_000_000_000_000), Timestamp(microseconds: 1_790_000_001_000_000))
    let mark = ChannelMark(reason: "no trades although the ticker has them")
    var trade = Trade(
      instrument: instrument.id, id: TradeID(7), price: 641_230, size: 1, side: .sell, time: then, isLate: true)
    trade.breakBefore = .renumbered
    var hole = TradeHole(first: 8, last: 9, count: 2, from: then, to: now, covers: TimeSpan(from: then, to: now))
    hole.found = 1
    var feed = FeedStatus(venue: "kraken", state: .reconnecting, since: then)
    (feed.source, feed.reason, feed.attempt, feed.lastMessage) = (.replayed, "closed by the venue (1006)", 3, then)
    (feed.gapFrom, feed.gapTo, feed.syncing) = (then, now, ["kraken:BTC-USD": "checksum mismatch"])
    (feed.failed, feed.silent) = (["kraken:NO-USD": "unknown"], ["kraken:BTC-USD": MarketChannels(.trades)])
    let pulse = Pulse(instrument: instrument.id, price: 641_240, previous: 641_230, merged: 2, time: now)
    var ticker = Ticker(instrument: instrument.id, time: now)
    ticker.last = 641_240
    let day = DayTicker(
      venue: ticker, figures: WindowFigures(), lastPrice: 641_240, quote: nil, instrument: instrument,
      coveredFrom: then, now: now)
    let messages: [(String, Set<String>, (inout ByteBuffer) -> Void)] = [
      (
        "snapshot.trades", ["trades", "state", "reason"],
        {
          TradesChannel.append([trade], of: instrument, mark: mark, to: &$0)
        }
      ),
      (
        "update.trades", ["trades", "state"],
        {
          TradesChannel.append([], of: instrument, mark: ChannelMark(reason: nil), to: &$0)
        }
      ),
      ("update.trades", ["trades", "lost"], { TradesChannel.append(hole, isEnd: false, to: &$0) }),
      ("update.trades", ["trades", "found"], { TradesChannel.append(hole, isEnd: true, to: &$0) }),
      ("snapshot.quote", ["time", "state", "reason"], { QuoteChannel.appendSyncing("stale", time: now, to: &$0) }),
      (
        "snapshot.book", ["bids", "asks", "time", "state", "reason"],
        {
          BookChannel.appendSyncing("sequence gap", time: now, to: &$0)
        }
      ),
      (
        "update.ticker", ["source", "time", "state", "reason"],
        {
          TickerChannel.append(day, of: instrument, mark: mark, to: &$0)
        }
      ),
      (
        "update.pulse", ["price", "direction", "state", "reason"],
        {
          PulseChannel.append(pulse, changePercent: 15, of: instrument, mark: mark, to: &$0)
        }
      ),
      ("update.status", ["feeds"], { StatusChannel.append([feed], now: now, to: &$0) }),
    ]
    for (message, members, write) in messages {
      var out = ByteBuffer(capacity: 512)
      write(&out)
      let data = try #require(JSONSerialization.jsonObject(with: Data(out.takeBytes())) as? [String: Any])
      #expect(members.isSubset(of: data.keys), "\(message): \(data)")
      #expect(check.problems(of: data, try Self.data(message, document)) == [], "\(message)")
      var strange = data
      strange["strange"] = 1
      #expect(check.problems(of: strange, try Self.data(message, document)).count == 1, "\(message)")
    }
  }
}
