import Access
import Synchronization
import Testing
import Transport

@testable import Operations

@Suite("Refused clients in the log")
struct RefusalLogTests {
  private let lines = LogLines()

  private func admission(_ change: (inout Admission.Limits) -> Void) -> Admission {
    var limits = Admission.Limits()
    change(&limits)
    let log = RefusalLog(FoldedLog(lines.logger) { 0 }, limits: limits)
    return Admission(
      limits: limits, budget: QueueBudget(limit: 1_000, loops: 1), report: { log.refused($0, $1) })
  }

  private static func peer(_ host: String) -> SocketAddress { SocketAddress(host: host, port: 4711) }

  @Test("a line names the limit that was met, its setting and value, and the address")
  func limits() throws {
    let admission = admission {
      $0.connectionsPerAddress = 1
      $0.requestsPerSecond = 1
      $0.handshakesPerSecondPerAddress = 1
    }
    let permit = try #require(admission.enter(Self.peer("192.0.2.1"), now: 0))
    #expect(lines.all == [])
    let refused = (1...5).map { _ in admission.enter(Self.peer("192.0.2.1"), now: 0) }
    #expect(refused.allSatisfy { $0?.refusal == .connectionsPerAddress })
    let address = IPAddress("192.0.2.7")
    for _ in 1...3 { _ = admission.request(permit, from: address, now: 0) }
    for _ in 1...3 { _ = admission.handshake(permit, from: address, now: 0) }
    #expect(
      lines.all == [
        "level=notice msg=\"clients were refused\" limit=limits.connections-per-address peer=192.0.2.1 "
          + "reason=connections_per_address value=1",
        "level=notice msg=\"clients were refused\" limit=limits.http-requests-per-second peer=192.0.2.7 "
          + "reason=request_rate_per_connection value=1",
        "level=notice msg=\"clients were refused\" limit=limits.handshakes-per-second-per-address peer=192.0.2.7 "
          + "reason=handshake_rate_per_address value=1",
      ])
  }

  @Test("where the gateway as a whole is full, it is a warning")
  func full() throws {
    let admission = admission { $0.connections = 1 }
    let permit = try #require(admission.enter(Self.peer("192.0.2.1"), now: 0))
    admission.markActive(permit)
    #expect(admission.enter(Self.peer("192.0.2.2"), now: 0)?.refusal == .connections)
    #expect(
      lines.all == [
        "level=warning msg=\"clients were refused\" limit=limits.clients peer=192.0.2.2 reason=connections value=1"
      ])
  }

  @Test("every reason has its line, and one that comes from a setting names it", arguments: Refusal.allCases)
  func reasons(_ refusal: Refusal) {
    let admission = admission { _ in }
    admission.count(refusal)
    #expect(lines.all.count == 1 && lines.all[0].contains("reason=\(refusal.rawValue)"))
    if refusal != .draining, refusal != .unanswered { #expect(lines.all[0].contains("limit="), "\(lines.all)") }
  }

  @Test("clients that a rule closes are told by code")
  func closed() {
    let log = RefusalLog(FoldedLog(lines.logger) { 0 }, limits: .init())
    for _ in 1...4 { log.closed(4108, "too slow", IPAddress("192.0.2.1")) }
    log.closed(4129, "too many requests", IPAddress("192.0.2.2"))
    #expect(
      lines.all == [
        "level=notice msg=\"clients were closed\" code=4108 peer=192.0.2.1 reason=\"too slow\"",
        "level=notice msg=\"clients were closed\" code=4129 peer=192.0.2.2 reason=\"too many requests\"",
      ])
  }

  @Test("refused operators' tokens are counted in a line of their own, also if no more come")
  func operators() {
    let now = Mutex<Int64>(0)
    let log = RefusalLog(FoldedLog(lines.logger) { now.withLock { $0 } }, limits: .init())
    for _ in 1...4 { log.refusedOperator(IPAddress("192.0.2.1")) }
    log.tell()
    #expect(lines.all == ["level=warning msg=\"an operator's token was refused\" peer=192.0.2.1"])
    now.withLock { $0 = 10_000_000 }
    log.tell()
    #expect(
      lines.all.dropFirst() == ["level=warning msg=\"an operator's token was refused\" count=3 peer=192.0.2.1"])
  }
}
