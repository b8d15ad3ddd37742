import Foundation
import Testing

@testable import TidegateClient

@Suite("Client core: the connection")
struct ClientConnectionTests {
  @Test("a missing heartbeat ends the connection after two and a half intervals")
  func heartbeat() {
    var it = CoreHarness()
    it.live()
    #expect(it.pass(milliseconds: 12_499).isSilent)
    _ = it.receive(CoreHarness.heartbeat(sent: 0))
    #expect(it.pass(milliseconds: 12_499).isSilent)
    let step = it.pass(milliseconds: 1)
    #expect(step.actions.first == .close(code: 1000, reason: "no heartbeat"))
    guard case .disconnected(.noHeartbeat, _?)? = step.connection.first else { return #expect(Bool(false), "\(step)") }
  }

  @Test("a heartbeat before the answer to hello is no event: a connection begins with that it is there")
  func earlyHeartbeat() {
    var it = CoreHarness()
    _ = it.start()
    _ = it.opened()
    #expect(it.receive(CoreHarness.heartbeat(sent: 0)).connection.isEmpty)
    guard case .connected? = it.welcome().connection.first else { return #expect(Bool(false), "not connected") }
    guard case .heartbeat? = it.receive(CoreHarness.heartbeat(sent: 0)).connection.first else {
      return #expect(Bool(false), "no heartbeat")
    }
  }

  @Test("a connection that nobody answers is given up")
  func noAnswer() {
    var it = CoreHarness()
    _ = it.start()
    #expect(it.pass(milliseconds: 9_999).isSilent)
    guard case .disconnected(.noAnswer, _?)? = it.pass(milliseconds: 1).connection.first else {
      return #expect(Bool(false))
    }
  }

  @Test("back-off is full jitter under a doubling cap, and a heartbeat resets it", arguments: [1, 2, 3] as [UInt64])
  func backOff(seed: UInt64) {
    var it = CoreHarness(seed: seed)
    var again = CoreHarness(seed: seed)
    _ = it.start()
    _ = again.start()
    var waits: [UInt64] = []
    for attempt in 0..<12 {
      let wait = it.closed(nil, "refused").retryIn
      #expect(wait == again.closed(nil, "refused").retryIn, "seed \(seed)")
      let cap = min(30_000, 250 << UInt64(attempt)) * 1_000_000 as UInt64
      #expect(wait ?? .max <= cap, "seed \(seed), attempt \(attempt)")
      waits.append(wait ?? 0)
      #expect(it.passToDeadline().wantsConnection)
      _ = again.passToDeadline()
    }
    #expect(Set(waits).count > 8, "seed \(seed)")
    #expect(waits.max() ?? 0 > 1_000_000_000, "seed \(seed)")
    _ = it.opened()
    _ = it.welcome()
    _ = it.receive(CoreHarness.heartbeat(sent: 0))
    #expect(it.closed(nil).retryIn ?? .max <= 250_000_000)
  }

  @Test("who knows that the network is back need not wait")
  func hurry() {
    var it = CoreHarness(seed: 3)
    _ = it.start()
    for _ in 0..<8 {
      _ = it.closed(nil, "refused")
      _ = it.passToDeadline()
    }
    _ = it.closed(nil, "refused")
    #expect(it.act { $0.hurry(now: $1, into: &$2) }.wantsConnection)
    #expect(!it.act { $0.hurry(now: $1, into: &$2) }.wantsConnection, "one at a time")
  }

  @Test("close codes 4000–4099 stop for good", arguments: [4000, 4001, 4099] as [UInt16])
  func stops(code: UInt16) {
    var it = CoreHarness()
    it.live()
    #expect(it.closed(code, "unauthorized").end == .closed(code: code, reason: "unauthorized"))
    #expect(it.core.nextDeadline == nil && it.core.isOver(it.subscription))
    #expect(it.core.failure?.fault == (code == 4001 ? .credentials : .request))
  }

  @Test("close codes 4200–4299 reconnect at once, but only the first time", arguments: [4200, 4202, 4299] as [UInt16])
  func atOnce(code: UInt16) {
    var it = CoreHarness()
    it.live()
    #expect(it.closed(code).retryIn == 0)
    #expect(it.passToDeadline().wantsConnection)
    _ = it.opened()
    _ = it.closed(code)
    #expect(it.core.reconnection.attempt == 2)
    #expect(it.core.nextDeadline ?? 0 > it.now)
  }

  @Test("all other endings back off", arguments: [1000, 1001, 1006, 1011, 4100, 4108, 4199, 4300, nil] as [UInt16?])
  func backsOff(code: UInt16?) throws {
    var it = CoreHarness(seed: 7)
    it.live()
    let wait = try #require(it.closed(code).retryIn)
    #expect(wait > 0 && wait <= 250_000_000)
  }

  @Test("after a reconnection everything is subscribed again, what was shown is old, and old numbers are forgotten")
  func resubscribes() {
    var it = CoreHarness()
    it.live()
    _ = it.receive(CoreHarness.quote("snapshot", seq: 11))
    #expect(it.closed(nil).events == [.stale(CoreHarness.quoteInfo, .disconnected)])
    _ = it.passToDeadline()
    let sent = it.opened().sent
    #expect(sent.last?.contains(#""op":"subscribe""#) == true && sent.last?.contains("kraken:BTC-USD") == true)
    #expect(it.receive(CoreHarness.quote("update", prev: 11, seq: 12)).isSilent)
  }

  @Test("a drain notice reconnects at the time given")
  func drain() {
    var it = CoreHarness()
    it.live()
    #expect(
      it.receive(#"{"type":"notice","code":"drain","reconnect_in_ms":700,"deadline":9000000}"#).connection
        == [
          .notice(.draining(reconnectIn: .milliseconds(700), deadline: .init(timeIntervalSince1970: 9)))
        ])
    #expect(it.pass(milliseconds: 699).isSilent)
    #expect(it.pass(milliseconds: 1).connection == [.disconnected(.draining, retryIn: .zero)])
  }
}
