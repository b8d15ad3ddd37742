import HTTP1
import TestSupport
import Testing
import Transport

@testable import Access

@Suite("Admission")
struct AdmissionTests {
  private static func admission(
    proxies: [String] = [], budget: Int = 1_000, _ change: (inout Admission.Limits) -> Void = { _ in }
  ) -> Admission {
    var limits = Admission.Limits()
    change(&limits)
    return Admission(
      limits: limits, proxies: TrustedProxies(networks: proxies.compactMap { IPNetwork($0) }),
      budget: QueueBudget(limit: budget, loops: 2))
  }

  private static func peer(_ host: String) -> SocketAddress { SocketAddress(host: host, port: 4711) }

  private static func count(_ admission: Admission, _ refusal: Refusal) -> UInt64 {
    admission.figures.refusals[Refusal.allCases.firstIndex(of: refusal)!]
  }

  @Test("a permit has 72 bytes: ten thousand connections have one each")
  func size() { #expect(instanceSize(of: AdmissionPermit.self) <= 72) }

  @Test("connections are bounded in total, and each that ends makes room")
  func total() throws {
    let admission = Self.admission { $0.connections = 2 }
    let first = try #require(admission.enter(Self.peer("192.0.2.1"), now: 0))
    var second = admission.enter(Self.peer("192.0.2.2"), now: 0)
    #expect(first.refusal == nil && second?.refusal == nil)
    for permit in [first, second] { permit.map(admission.markActive) }
    let third = try #require(admission.enter(Self.peer("192.0.2.3"), now: 0))
    #expect(third.refusal == .connections)
    #expect(third.rejection?.refusal.status == 503)
    #expect(admission.figures.connections == 2)
    second = nil
    #expect(admission.enter(Self.peer("192.0.2.3"), now: 0)?.refusal == nil)
    #expect(Self.count(admission, .connections) == 1)
  }

  @Test("at the limit the silent give way to newcomers, a bounded number of times before they are gone")
  func room() throws {
    let admission = Self.admission { $0.connections = 2 }
    let first = try #require(admission.enter(Self.peer("192.0.2.1"), now: 0))
    let second = try #require(admission.enter(Self.peer("192.0.2.1"), now: 0))
    admission.markActive(first)
    #expect(first.room == nil && second.room == nil)
    var newcomers = (1...Admission.roomLimit).compactMap { _ in admission.enter(Self.peer("192.0.2.3"), now: 0) }
    #expect(newcomers.map(\.room) == (1...Admission.roomLimit).map { $0 })
    #expect(admission.enter(Self.peer("192.0.2.3"), now: 0)?.refusal == .connections)
    newcomers.removeLast(Admission.roomLimit - 1)
    #expect(admission.figures.connections == 3)
    withExtendedLifetime(second) {}
  }

  @Test("connections of one address are bounded, IPv6 by /64; loopback is an address like others")
  func perAddress() {
    let admission = Self.admission { $0.connectionsPerAddress = 1 }
    for (one, same, other) in [
      ("192.0.2.1", "192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"),
      ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
    ] {
      let first = admission.enter(Self.peer(one), now: 0)
      let second = admission.enter(Self.peer(same), now: 0)
      let third = admission.enter(Self.peer(other), now: 0)
      #expect(first?.refusal == nil && second?.refusal == .connectionsPerAddress && third?.refusal == nil, "\(one)")
    }
  }

  @Test(
    "new connections of one address are rated, also where each is closed at once; the answer says when to come again")
  func connectionRate() throws {
    let admission = Self.admission { $0.connectionsPerSecondPerAddress = 4 }
    for _ in 0..<4 { #expect(admission.enter(Self.peer("192.0.2.1"), now: 0)?.refusal == nil) }
    let refused = try #require(admission.enter(Self.peer("192.0.2.1"), now: 100_000))
    #expect(refused.refusal == .connectionRate)
    #expect(refused.rejection == Rejection(.connectionRate, wait: 150_000))
    #expect(refused.rejection?.refusal.status == 429)
    #expect(admission.enter(Self.peer("192.0.2.2"), now: 100_000)?.refusal == nil)
    #expect(admission.enter(Self.peer("192.0.2.1"), now: 250_000)?.refusal == nil)
  }

  @Test("refusals that are being answered are bounded: beyond, connections are closed without one")
  func refusing() {
    let admission = Self.admission { $0.connections = 1 }
    var held = [admission.enter(Self.peer("192.0.2.1"), now: 0)]
    held[0].map(admission.markActive)
    for index in 0..<Admission.refusingLimit { held.append(admission.enter(Self.peer("192.0.2.2"), now: Int64(index))) }
    #expect(held.allSatisfy { $0 != nil })
    #expect(admission.enter(Self.peer("192.0.2.3"), now: 0) == nil)
    #expect(Self.count(admission, .unanswered) == 1)
    held.removeAll()
    #expect(admission.enter(Self.peer("192.0.2.3"), now: 0)?.refusal == nil)
    #expect(admission.figures.connections == 0)
  }

  @Test("requests are rated per connection and per address, handshakes per address and in total")
  func rates() throws {
    let admission = Self.admission {
      $0.requestsPerSecond = 2
      $0.requestsPerSecondPerAddress = 3
      $0.handshakesPerSecond = 3
      $0.handshakesPerSecondPerAddress = 2
    }
    let address = IPAddress("192.0.2.1")
    let one = try #require(admission.enter(Self.peer("192.0.2.1"), now: 0))
    let two = try #require(admission.enter(Self.peer("192.0.2.1"), now: 0))
    for _ in 0..<2 { #expect(admission.request(one, from: address, now: 0) == nil) }
    #expect(admission.request(one, from: address, now: 0)?.refusal.status == 429)
    #expect(admission.request(two, from: address, now: 0) == nil)
    #expect(admission.request(two, from: address, now: 0)?.refusal.status == 429)
    #expect(Self.count(admission, .requestRate) == 1 && Self.count(admission, .requestRatePerAddress) == 1)
    #expect(admission.request(one, from: address, now: 500_000) == nil)

    for _ in 0..<2 { #expect(admission.handshake(one, from: address, now: 0) == nil) }
    #expect(admission.handshake(one, from: address, now: 0)?.refusal.status == 429)
    #expect(admission.handshake(one, from: IPAddress("192.0.2.2"), now: 0) == nil)
    #expect(admission.handshake(one, from: IPAddress("192.0.2.3"), now: 0)?.refusal.status == 503)
    #expect(Self.count(admission, .handshakeRatePerAddress) == 1 && Self.count(admission, .handshakeRate) == 1)
  }

  @Test("a trusted proxy is not limited itself, but the clients that it speaks for are")
  func proxies() throws {
    let admission = Self.admission(proxies: ["10.0.0.0/8"]) {
      $0.connectionsPerAddress = 1
      $0.connectionsPerSecondPerAddress = 1
    }
    var permits: [AdmissionPermit] = []
    for _ in 0..<3 { permits.append(try #require(admission.enter(Self.peer("10.0.0.1"), now: 0))) }
    #expect(permits.allSatisfy { $0.refusal == nil && $0.isProxy })
    #expect(admission.handshake(permits[0], from: IPAddress("203.0.113.7"), now: 0) == nil)
    let refused = admission.handshake(permits[1], from: IPAddress("203.0.113.7"), now: 0)
    #expect(refused?.refusal.status == 429 && Self.count(admission, .connectionsPerAddress) == 1)
    #expect(admission.handshake(permits[2], from: IPAddress("203.0.113.8"), now: 0) == nil)
    permits.removeFirst()
    #expect(admission.handshake(permits[0], from: IPAddress("203.0.113.7"), now: 0) == nil)
  }

  @Test("what is too much is let go of, and nobody new comes in only while that does not keep up")
  func overBudget() throws {
    let admission = Self.admission(budget: 1_000)
    let early = try #require(admission.enter(Self.peer("192.0.2.1"), now: 0))
    #expect(admission.budget.book(600, loop: 0) == 0)
    // 325 over seven eighths of the limit, of which each loop's share is as its part of the whole.
    #expect(admission.budget.book(600, loop: 1) == 163)
    #expect(admission.enter(Self.peer("192.0.2.3"), now: 0)?.refusal == nil)
    #expect(admission.budget.book(651, loop: 1) > 163)
    #expect(admission.enter(Self.peer("192.0.2.2"), now: 0)?.refusal == .queuedBytes)
    #expect(admission.handshake(early, from: nil, now: 0)?.refusal.status == 503)
    admission.budget.rebook(300, loop: 0)
    #expect(admission.enter(Self.peer("192.0.2.2"), now: 0)?.refusal == nil)
    #expect(admission.budget.total == 951)
  }
}
