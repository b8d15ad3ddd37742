import Foundation
import Synchronization
import TestTraits
import Testing
import TidegateClient
import TidegateEpoll
import Transport

@testable import Gateway

/// Sessions and the end of a gateway, over sockets.
@Suite("Sessions and draining, end to end", .serialized, .realTime)
struct SessionTests {
  private static let subscribe =
    #"{"op":"subscribe","id":2,"streams":[{"channel":"trades","symbols":["kraken:BTC-USD"]},"#
    + #"{"channel":"book","symbols":["kraken:BTC-USD"],"depth":25,"interval_ms":0}]}"#

  /// A client with trades and a book.
  private func subscribed(_ harness: GatewayHarness) async throws -> StreamProbe {
    let probe = try await harness.probe()
    probe.send(#"{"op":"hello","id":1}"#)
    probe.send(Self.subscribe)
    try await probe.first("a trade") { $0.type == "update" && $0.channel == "trades" }
    try await probe.first("an update of the book") { $0.type == "update" && $0.channel == "book" }
    return probe
  }

  /// Where the streams stopped, as a `hello` that resumes.
  private func resume(_ messages: [Message]) throws -> String {
    let session = try #require(messages.first { $0.type == "welcome" }?["session"] as? String)
    let reply = try #require(messages.first { $0.type == "subscribed" })
    let streams = try (reply["ok"] as? [[String: Any]] ?? []).map { item -> String in
      let number = try #require(item["stream"] as? Int)
      let epoch = try #require(item["epoch"] as? String)
      let channel = try #require(item["channel"] as? String)
      let last = try #require(messages.last { $0.stream == number && ["update", "snapshot"].contains($0.type) })
      let depth = channel == "book" ? #","depth":25"# : ""
      return
        #"{"channel":"\#(channel)","symbol":"kraken:BTC-USD"\#(depth),"interval_ms":0,"stream":\#(number),"epoch":"\#(epoch)","seq":\#(last.seq)}"#
    }
    return #"{"op":"hello","id":9,"resume":{"session":"\#(session)","streams":[\#(streams.joined(separator: ","))]}}"#
  }

  /// What came of the trades and of requests, in a few words each.
  private static func trace(_ messages: [Message]) -> String {
    messages.filter { $0.channel != "book" && $0.type != "heartbeat" }.map { message in
      let text = message.channel == "trades" ? "\(message.type) \(message.prev)→\(message.seq)" : message.text
      return String(text.prefix(1_000))
    }.joined(separator: ", ")
  }

  /// What is wrong with the links of trades from one connection to the next.
  private func checkLinks(_ before: [Message], _ after: [Message]) {
    let stream = before.first { $0.channel == "trades" }?.stream
    var last = before.last { $0.stream == stream && $0.seq >= 0 && ["update", "snapshot"].contains($0.type) }?.seq
    for message in after where message.stream == stream && message.type == "update" {
      #expect(message.prev == last)
      last = message.seq
    }
  }

  @Test("a client that lost its connection goes on where it stopped, on either loop; nothing is missed")
  func resume() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 100)
    try await harness.waitUntilLive()
    for _ in 0..<2 {
      let first = try await subscribed(harness)
      first.disconnect()
      let before = first.messages
      // One client more shifts the next to the other loop.
      let second = try await harness.probe()
      second.send(try resume(before))
      let welcome = try await second.first("the welcome") { $0.type == "welcome" }
      try await second.first("trades") { $0.type == "update" && $0.channel == "trades" }
      let after = second.messages
      let items = welcome["ok"] as? [[String: Any]] ?? []
      #expect(items.count == 2)
      #expect(
        items.first { $0["channel"] as? String == "trades" }?["recovered"] as? Bool == true,
        "\(Self.trace(before)) then \(Self.trace(after))")
      checkLinks(before, after)
      #expect(!after.contains { $0.type == "snapshot" && $0.channel == "trades" })
      let extra = try await harness.probe()
      extra.disconnect()
    }
    await harness.stop()
  }

  @Test("a connection that has not noticed its end is closed with 4202, whatever loop it is on")
  func takeOver() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 100)
    try await harness.waitUntilLive()
    for _ in 0..<2 {
      let first = try await subscribed(harness)
      let second = try await harness.probe()
      second.send(try resume(first.messages))
      let code = try await first.closeCode()
      #expect(code == 4202)
      let welcome = try await second.first("the welcome") { $0.type == "welcome" }
      #expect(welcome["resumed"] as? Bool == true)
      try await second.first("trades") { $0.type == "update" && $0.channel == "trades" }
      let extra = try await harness.probe()
      extra.disconnect()
    }
    await harness.stop()
  }

  @Test("the client library goes on by itself: no trade is missed, and it says so")
  func library() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 100)
    try await harness.waitUntilLive()
    let url = "ws://\(harness.gateway.address.description)/v1/stream"
    let transport = BreakingTransport()
    let client = GatewayClient(url: try GatewayURL(url), transport: transport)
    let follower = ClientFollower(
      client, StreamRequest.trades("kraken:BTC-USD", every: .zero).untyped,
      StreamRequest.book("kraken:BTC-USD", every: .zero).untyped)
    try await follower.first("a trade") { $0.info?.channel == .trades }
    try await follower.first("a book") { $0.info?.channel == .book }
    transport.breakAll()
    let back = try await follower.first("the next connection") { event in
      if case .connection(.connected(let welcome)) = event { return welcome.isResumed }
      return false
    }
    try await follower.first("the trades to go on") { event in
      if case .stream(.resumed(let info)) = event { return info.channel == .trades }
      return false
    }
    try await follower.first("a trade", from: back) { $0.info?.channel == .trades }
    #expect(!follower.events.contains { if case .stream(.gap) = $0 { true } else { false } })
    await harness.stop()
  }

  @Test("a drain tells everybody when to go, closes them over the window with 4201, takes nobody in and ends")
  func drain() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    var probes: [StreamProbe] = []
    for _ in 0..<10 { probes.append(try await harness.probe()) }
    let isOver = Mutex(false)
    let ended = AsyncStream<Void>.makeStream()
    harness.gateway.drain(seconds: 2) {
      isOver.withLock { $0 = true }
      ended.continuation.finish()
    }
    let ready = try await harness.get("/readyz", internal: true)
    #expect(ready.status == 503)
    #expect(ready.text.hasPrefix("draining"))
    var moments: [Int] = []
    for probe in probes {
      let notice = try await probe.first("the notice") { $0["code"] as? String == "drain" }
      moments.append(try #require(notice["reconnect_in_ms"] as? Int))
      #expect(notice["deadline"] as? Int != nil)
    }
    #expect(moments.allSatisfy { (1...1800).contains($0) })
    #expect(Set(moments).count == 10)
    #expect(moments.count { $0 <= 900 } == 5)
    await #expect(throws: (any Error).self) { _ = try await harness.get("/v1/status") }
    for probe in probes {
      let code = try await probe.closeCode()
      #expect(code == 4201)
    }
    for await _ in ended.stream {}
    #expect(isOver.withLock { $0 })
    await harness.stop()
  }

  @Test("a stop cuts a drain short")
  func cutShort() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    let probe = try await harness.probe()
    let ended = AsyncStream<Void>.makeStream()
    harness.gateway.drain(seconds: 3_600) { ended.continuation.finish() }
    try await probe.first("the notice") { $0["code"] as? String == "drain" }
    await harness.stop()
    let code = try await probe.closeCode()
    #expect(code == 4201)
    for await _ in ended.stream {}
  }
}

/// The library's transport, with connections that the test can break.
private final class BreakingTransport: ClientTransport {
  private let inner = EpollTransport()
  private let open = Mutex<[@Sendable () -> Void]>([])

  func connect(
    to url: GatewayURL, subprotocol: String, receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    connect(to: url, subprotocols: [subprotocol], receive: receive)
  }

  func connect(
    to url: GatewayURL, subprotocols: [String], receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    let shared = Broken()
    let connection = inner.connect(to: url, subprotocols: subprotocols) { event in
      if !shared.flag.withLock({ $0 }) { receive(event) }
    }
    open.withLock {
      $0.append {
        let wasBroken = shared.flag.withLock { flag in
          defer { flag = true }
          return flag
        }
        // The other end is not told: as when a phone changes its network.
        if !wasBroken { receive(.closed(code: nil, reason: "broken by the test")) }
      }
    }
    return connection
  }

  private final class Broken: Sendable {
    let flag = Mutex(false)
  }

  func breakAll() {
    let all = open.withLock { open in
      defer { open = [] }
      return open
    }
    for end in all { end() }
  }
}
