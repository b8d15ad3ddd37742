import Foundation
import TestSupport
import Testing

@testable import TidegateClient

/// Subscribing and cancelling while answers are under way: a stream that somebody follows has a value, and a stream
/// that nobody follows ends.
@Suite("Streams that nobody follows")
struct UnfollowedTests {
  private static let deep = StreamRequest.book("kraken:BTC-USD", depth: .levels25).untyped
  private static let book = #"{"state":"live","bids":[["1","1"]],"asks":[],"time":1}"#

  @Test("a stream that two requests name goes on when the first is cancelled before the second is answered")
  func sameStream() {
    var it = CoreHarness(StreamRequest.pulse("kraken:BTC-USD", every: .milliseconds(100)).untyped)
    it.live("pulse")
    let data = #"{"price":"1","merged":1,"time":1}"#
    _ = it.receive(CoreHarness.message("snapshot", "pulse", data, seq: 11))
    // The same stream to the gateway, which sends no second snapshot.
    let second = it.subscribe(StreamRequest.pulse("kraken:BTC-USD").untyped).id
    #expect(it.cancel(it.subscription).sent.isEmpty)
    #expect(it.receive(CoreHarness.subscribed(id: 4, CoreHarness.item("pulse", seq: 11))).sent.isEmpty)
    #expect(it.take(second).short == ["value pulse"])
    #expect(it.cancel(second).sent == [#"{"op":"unsubscribe","id":5,"streams":[1]}"#])
  }

  @Test("what is cancelled while its request is under way ends with the answer; what is wanted again goes on")
  func underWay() {
    for isWantedAgain in [false, true] {
      var it = CoreHarness(Self.deep)
      _ = it.start()
      _ = it.opened()
      _ = it.welcome()
      _ = it.cancel(it.subscription)
      let second = isWantedAgain ? it.subscribe(Self.deep).id : 0
      let answer = it.receive(CoreHarness.subscribed(id: 3, CoreHarness.item("book"))).sent
      if isWantedAgain {
        #expect(answer.isEmpty)
        _ = it.receive(CoreHarness.message("snapshot", "book", Self.book, seq: 10))
        #expect(it.receive(CoreHarness.subscribed(id: 4, CoreHarness.item("book"))).sent.isEmpty)
        #expect(it.take(second).short == ["value book"])
      } else {
        #expect(answer == [#"{"op":"unsubscribe","id":4,"streams":[1]}"#])
        #expect(it.core.streams.isEmpty && it.core.streams.numbers.isEmpty)
      }
    }
  }

  @Test("an unsubscribe that is refused for its rate is repeated, unless the stream is wanted again meanwhile")
  func rateLimited() {
    let error = #"{"type":"error","id":4,"code":"rate_limited","message":"…","retry":true,"retry_after_ms":400}"#
    var it = CoreHarness()
    it.live()
    #expect(it.cancel(it.subscription).sent == [#"{"op":"unsubscribe","id":4,"streams":[1]}"#])
    #expect(it.receive(error).isSilent)
    #expect(it.pass(milliseconds: 400).sent == [#"{"op":"unsubscribe","id":5,"streams":[1]}"#])
    // The gateway has the stream still, and sends no snapshot of it.
    var other = CoreHarness()
    other.live()
    _ = other.cancel(other.subscription)
    _ = other.receive(error)
    let again = other.subscribe(StreamRequest.quote("kraken:BTC-USD").untyped).id
    _ = other.receive(CoreHarness.subscribed(id: 5, CoreHarness.item("quote", seq: 11)))
    let sent = other.pass(milliseconds: 400).sent
    #expect(sent.count == 2 && sent[0].contains(#""op":"unsubscribe""#) && sent[1].contains(#""op":"subscribe""#))
    _ = other.receive(CoreHarness.subscribed(id: 7, CoreHarness.item("quote", seq: 12)))
    _ = other.receive(CoreHarness.quote("snapshot", seq: 13))
    #expect(other.take(again).short == ["value quote"])
    #expect(other.pass(milliseconds: 1_000).sent.isEmpty)
  }

  @Test("what is cancelled before a connection ends is not resumed")
  func disconnected() {
    var it = CoreHarness(StreamRequest.book("kraken:BTC-USD").untyped)
    it.live("book")
    _ = it.receive(CoreHarness.message("snapshot", "book", Self.book, seq: 11))
    let other = it.subscribe(StreamRequest.quote("kraken:ETH-USD").untyped).id
    _ = it.cancel(it.subscription)
    _ = it.closed(nil, "broken")
    _ = it.passToDeadline()
    let sent = it.opened().sent
    #expect(sent.count == 2 && sent[0].contains(#""streams":[]"#) && !sent[1].contains("BTC"))
    #expect(it.core.streams.isEmpty)
    _ = it.cancel(other)
  }

  @Test(
    "in any order of subscribing, cancelling and answering, what is followed has its value, and nothing else is left",
    arguments: testSeeds(100))
  func anyOrder(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var gateway = StreamGateway()
    let requests = [
      StreamRequest.pulse("kraken:BTC-USD").untyped,
      StreamRequest.pulse("kraken:BTC-USD", every: .milliseconds(100)).untyped,
      StreamRequest.pulse("kraken:BTC-USD", every: .seconds(1)).untyped, StreamRequest.quote("kraken:BTC-USD").untyped,
      StreamRequest.pulse("kraken:ETH-USD").untyped,
    ]
    var it = CoreHarness(requests[0])
    _ = it.start()
    var toGateway = it.opened().sent
    _ = it.welcome()
    var toClient: [String] = []
    var held = [(id: it.subscription, request: 0)]
    for turn in 0..<200 {
      // At the end everything arrives.
      switch turn < 100 ? Int.random(in: 0..<10, using: &random) : 8 + turn % 2 {
      case 0..<3:
        let request = Int.random(in: requests.indices, using: &random)
        let (id, step) = it.subscribe(requests[request])
        held.append((id, request))
        toGateway += step.sent
      case 3..<6:
        guard let index = held.indices.randomElement(using: &random) else { continue }
        toGateway += it.cancel(held.remove(at: index).id).sent
      case 6, 8:
        while !toGateway.isEmpty {
          toClient += gateway.answer(toGateway.removeFirst())
          if turn < 100 { break }
        }
      default:
        while !toClient.isEmpty {
          toGateway += it.receive(toClient.removeFirst()).sent
          if turn < 100 { break }
        }
      }
    }
    let wanted = Set(held.map { StreamGateway.name(requests[$0.request].items[0]) })
    #expect(Set(gateway.subscribed.values) == wanted, "seed \(seed)")
    for (id, request) in held where id != it.subscription {
      #expect(it.take(id).contains { if case .value = $0 { true } else { false } }, "seed \(seed): \(request)")
    }
    #expect(it.core.phase == .open && it.core.streams.values.allSatisfy { !$0.subscribers.isEmpty }, "seed \(seed)")
  }
}

/// Streams as the gateway has them: requests are read in order, and a new subscription gets a snapshot.
private struct StreamGateway {
  private var numbers: [String: Int] = [:]
  private(set) var subscribed: [Int: String] = [:]

  /// What an item is to the gateway: pulses have a rate of 100 ms if none is given.
  static func name(_ item: StreamItem) -> String {
    name(item.channel.rawValue, item.symbol, item.cadence)
  }

  private static func name(_ channel: String, _ symbol: String, _ interval: Int?) -> String {
    "\(channel) \(symbol) \(interval ?? (channel == "pulse" ? 100 : 0))"
  }

  mutating func answer(_ text: String) -> [String] {
    guard let request = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
      let id = request["id"] as? Int, let op = request["op"] as? String
    else { return [] }
    if op == "unsubscribe" {
      for number in request["streams"] as? [Int] ?? [] { subscribed[number] = nil }
      return [#"{"type":"unsubscribed","id":\#(id),"streams":[],"total":0}"#]
    }
    guard op == "subscribe" else { return [] }
    var ok: [String] = []
    var snapshots: [String] = []
    let items = (request["streams"] as? [[String: Any]] ?? []).flatMap { item in
      (item["symbols"] as? [String] ?? []).map {
        (channel: item["channel"] as? String ?? "", symbol: $0, interval: item["interval_ms"] as? Int)
      }
    }
    for (channel, symbol, interval) in items {
      let name = Self.name(channel, symbol, interval)
      let number = numbers[name] ?? numbers.count + 1
      numbers[name] = number
      if subscribed.updateValue(name, forKey: number) == nil {
        let data = channel == "pulse" ? #"{"price":"1","merged":1,"time":1}"# : #"{"bid":"1","time":1}"#
        snapshots.append(
          #"{"type":"snapshot","channel":"\#(channel)","symbol":"\#(symbol)","stream":\#(number),"seq":10,"time":1,"data":\#(data)}"#
        )
      }
      ok.append(CoreHarness.item(channel, symbol: symbol, stream: number))
    }
    return [
      #"{"type":"subscribed","id":\#(id),"total":1,"ok":[\#(ok.joined(separator: ","))],"failed":[]}"#
    ] + snapshots
  }
}
