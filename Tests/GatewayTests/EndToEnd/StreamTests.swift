import Foundation
import HTTP1
import TestTraits
import Testing
import VenueSimulator

@testable import Gateway

/// The whole path: simulated venues over TLS and WebSocket, through the gateway, to clients.
@Suite("Streams, end to end", .serialized, .realTime)
struct StreamTests {
  static let all = #"""
    {"op":"subscribe","id":1,"streams":[
      {"channel":"trades","symbols":["kraken:BTC-USD","coinbase:BTC-USD","binance:BTC-USDT"]},
      {"channel":"quote","symbols":["kraken:BTC-USD","coinbase:BTC-USD","binance:BTC-USDT"],"interval_ms":0},
      {"channel":"ticker","symbols":["kraken:BTC-USD","coinbase:BTC-USD","binance:BTC-USDT"]},
      {"channel":"pulse","symbols":["kraken:BTC-USD","coinbase:BTC-USD","binance:BTC-USDT"]},
      {"channel":"sparkline","symbols":["kraken:BTC-USD","coinbase:BTC-USD","binance:BTC-USDT"]},
      {"channel":"book","symbols":["kraken:BTC-USD","coinbase:BTC-USD","binance:BTC-USDT"],"depth":25,"interval_ms":0},
      {"channel":"book","symbols":["kraken:ZEC-USD"],"depth":"full","interval_ms":100},
      {"channel":"status"}]}
    """#

  @Test("every channel of every venue: one reply, snapshots first, then linked updates")
  func everyChannel() async throws {
    let harness = try GatewayHarness()
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(Self.all)
    let reply = try await probe.first("the reply") { $0.type == "subscribed" }
    let ok = reply["ok"] as? [[String: Any]] ?? []
    #expect(ok.count == 20 && (reply["failed"] as? [Any])?.isEmpty == true, "\(reply.text)")
    for channel in ["trades", "quote", "pulse", "book", "sparkline"] {
      for venue in ["kraken:", "coinbase:", "binance:"] where channel != "sparkline" || venue == "kraken:" {
        try await probe.first("an update of \(channel) \(venue)") {
          $0.type == "update" && $0.channel == channel && $0.symbol.hasPrefix(venue)
        }
      }
    }
    try await probe.first("a heartbeat") { $0.type == "heartbeat" }
    #expect(Links.problems(probe.messages) == [])
    await harness.stop()
  }

  @Test("the status tells the age of the moment, also long after the last change of a state")
  func statusAge() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let early = try await harness.probe()
    early.send(#"{"op":"hello","id":1,"heartbeat_s":1}"#)
    early.send(#"{"op":"subscribe","id":2,"streams":[{"channel":"status"}]}"#)
    for _ in 0..<6 {
      let seen = early.count
      try await early.first("a heartbeat", from: seen) { $0.type == "heartbeat" }
    }
    let late = try await harness.probe()
    late.send(#"{"op":"subscribe","id":1,"streams":[{"channel":"status"}]}"#)
    let status = try await late.first("the status") { $0.type == "snapshot" && $0.channel == "status" }
    let feeds = (status["data"] as? [String: Any])?["feeds"] as? [[String: Any]]
    let age = try #require(feeds?.first?["age_ms"] as? Int)
    #expect(age < 2_500, "\(status.text)")
    await harness.stop()
  }

  @Test("clients that join early and late, and /v1/books, have the same book")
  func sameBook() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let subscribe = #"""
      {"op":"subscribe","id":1,"streams":[{"channel":"book","symbols":["kraken:BTC-USD"],"depth":25,"interval_ms":0},
        {"channel":"book","symbols":["kraken:BTC-USD"],"depth":"full","interval_ms":0}]}
      """#
    let early = try await harness.probe()
    early.send(subscribe)
    try await early.first("a while of updates") { $0.type == "update" && $0.seq > 30 }
    let late = try await harness.probe()
    late.send(subscribe)
    try await late.first("an update") { $0.type == "update" }
    let body = try await harness.get("/v1/books/kraken:BTC-USD?depth=25")
    let seen = early.count
    try await early.first("updates after that", from: seen) { $0.type == "update" }
    try await early.first("more of them", from: seen + 20) { $0.type == "update" }
    let count = late.count
    try await late.first("as many", from: count + 10) { $0.type == "update" }
    let a = Links.books(early.messages)
    let b = Links.books(late.messages)
    let common = Set(a.keys).intersection(b.keys)
    #expect(common.count > 5)
    for key in common { #expect(a[key] == b[key], "stream and seq \(key)") }
    let served = BookCopy(body.json).text
    #expect(a.values.contains(served), "the book of /v1/books was never streamed")
    await harness.stop()
  }

  @Test("bad requests get errors that name what is wrong, and the gateway goes on")
  func badRequests() async throws {
    let harness = try GatewayHarness(venues: ["coinbase"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send("{nonsense")
    probe.send(#"{"op":"fly","id":2}"#)
    probe.send(
      #"{"op":"subscribe","id":3,"streams":[{"channel":"book","symbols":["coinbase:BTC-USD","coinbase:BCT-USD"]}]}"#)
    probe.send(#"{"op":"subscribe","id":4,"streams":[{"channel":"boook","symbols":["coinbase:BTC-USD"]}]}"#)
    probe.send(#"{"op":"ping","id":5,"time":17}"#)
    let pong = try await probe.first("the pong") { $0.type == "pong" }
    #expect(pong.id == 5 && pong["client_time"] as? Int == 17)
    let errors = probe.messages.filter { $0.type == "error" }
    #expect(errors.count >= 2)
    #expect(errors.contains { ($0["message"] as? String ?? "").contains("fly") && $0.id == 2 })
    let reply = try await probe.first("the reply") { $0.id == 3 }
    let failed = (reply["failed"] as? [[String: Any]])?.first
    #expect(failed?["symbol"] as? String == "coinbase:BCT-USD", "\(reply.text)")
    #expect((reply["ok"] as? [Any])?.count == 1)
    await harness.stop()
  }

  @Test("SIGTERM's path: every client gets a close frame with 4201")
  func stop() async throws {
    let harness = try GatewayHarness(venues: ["binance"])
    try await harness.waitUntilLive()
    let probe = try await harness.probe()
    probe.send(#"{"op":"hello","id":1}"#)
    let welcome = try await probe.first("a welcome") { $0.type == "welcome" }
    #expect(welcome["heartbeat_s"] as? Int == 1, "the configured cadence")
    await withCheckedContinuation { continuation in harness.gateway.stop(within: .seconds(2)) { continuation.resume() }
    }
    #expect(try await probe.closeCode() == 4201)
  }
}

/// What the protocol promises of links, checked over all that a probe has received.
enum Links {
  static func problems(_ messages: [Message]) -> [String] {
    var last: [Int: Int] = [:]
    var known: Set<Int> = []
    var problems: [String] = []
    for message in messages {
      switch message.type {
      case "subscribed":
        for item in message["ok"] as? [[String: Any]] ?? [] {
          if let stream = item["stream"] as? Int { known.insert(stream) }
        }
      case "snapshot":
        if !known.contains(message.stream) { problems.append("snapshot before the reply: \(message.text.prefix(120))") }
        last[message.stream] = message.seq
      case "update":
        if let seq = last[message.stream], seq != message.prev {
          problems.append("prev \(message.prev) after \(seq): \(message.text.prefix(120))")
        } else if last[message.stream] == nil, message.channel != "trades" {
          problems.append("update before a snapshot: \(message.text.prefix(120))")
        }
        last[message.stream] = message.seq
      default: break
      }
    }
    return problems
  }

  /// The book after each message: "stream/seq" → its text.
  static func books(_ messages: [Message]) -> [String: String] {
    var books: [Int: BookCopy] = [:]
    var states: [String: String] = [:]
    for message in messages where message.channel == "book" {
      if message.type == "snapshot" {
        books[message.stream] = BookCopy(message.data)
      } else {
        books[message.stream]?.apply(message.data)
      }
      states["\(message.stream)/\(message.seq)"] = books[message.stream]?.text
    }
    return states
  }
}

/// A book kept by the rules of the protocol.
struct BookCopy {
  private var sides: [String: [String: String]] = ["bids": [:], "asks": [:]]

  init(_ data: [String: Any]) { apply(data) }

  mutating func apply(_ data: [String: Any]) {
    for side in ["bids", "asks"] {
      for level in data[side] as? [[String]] ?? [] {
        sides[side]![level[0]] = Double(level[1]) == 0 ? nil : level[1]
      }
    }
  }

  var bestBid: Double? { sides["bids"]!.keys.compactMap(Double.init).max() }
  var bestAsk: Double? { sides["asks"]!.keys.compactMap(Double.init).min() }

  var text: String {
    ["bids", "asks"].map { side in
      sides[side]!.sorted { Double($0.key)! < Double($1.key)! }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
    }.joined(separator: " | ")
  }
}
