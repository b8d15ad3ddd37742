import Logging
import Synchronization
import Testing
import Transport

@testable import Operations

@Suite("Folded log")
struct FoldedLogTests {
  private let lines = LogLines()
  private let clock = Clock()

  private final class Clock: Sendable {
    let now = Mutex<Int64>(0)
    func advance(seconds: Int64) { now.withLock { $0 += seconds * 1_000_000 } }
  }

  private func make() -> FoldedLog {
    FoldedLog(lines.logger) { [clock] in clock.now.withLock { $0 } }
  }

  private static func event(_ text: String) -> FoldedLog.Event {
    .init(message: "refused", metadata: ["why": "\(text)"])
  }
  private static let peers = (1...250).map { IPAddress("192.0.2.\($0)") }

  @Test("the first of a kind is told at once, the rest of ten seconds in one line with their number and peers")
  func folding() {
    let log = make()
    log.note("a", peer: Self.peers[0]) { Self.event("first") }
    #expect(lines.all == ["level=notice msg=refused peer=192.0.2.1 why=first"])
    for number in 0..<1_000 { log.note("a", peer: Self.peers[number % 3]) { Self.event("later \(number)") } }
    log.tell()
    #expect(lines.all.count == 1)
    clock.advance(seconds: 10)
    log.tell()
    #expect(lines.all.count == 2 && lines.all[1] == "level=notice msg=refused count=1000 peers=3 why=\"later 0\"")
    log.tell()
    clock.advance(seconds: 10)
    log.tell()
    #expect(lines.all.count == 2)
    log.note("a") { Self.event("again") }
    #expect(lines.all.last == "level=notice msg=refused why=again")
  }

  @Test("what nobody told in time is told with the next of its kind")
  func overdue() {
    let log = make()
    for text in ["1", "2", "3"] { log.note("a") { Self.event(text) } }
    clock.advance(seconds: 10)
    log.note("a") { Self.event("4") }
    #expect(lines.all == ["level=notice msg=refused why=1", "level=notice msg=refused count=3 why=2"])
  }

  @Test("a flood of kinds and peers costs a bounded number of lines and a bounded table")
  func flood() {
    let log = make()
    for number in 0..<10_000 {
      log.note("kind \(number)", peer: Self.peers[number % 250]) { Self.event("x") }
    }
    // The shared kind is told once, too.
    #expect(lines.all.count == FoldedLog.kindLimit + 1)
    for _ in 0..<10 {
      for number in 0..<100 { log.note("kind 1", peer: Self.peers[number]) { Self.event("y") } }
      clock.advance(seconds: 1)
      log.tell()
    }
    let later = lines.all.dropFirst(FoldedLog.kindLimit + 1)
    #expect(later.contains("level=notice msg=refused count=1000 peers=\"more than 32\" why=y"), "\(later)")
    #expect(later.count == 2)
  }

  @Test("kinds that do not come again are forgotten")
  func forgetting() {
    let log = make()
    for number in 0..<FoldedLog.kindLimit { log.note("old \(number)") { Self.event("x") } }
    clock.advance(seconds: 10)
    log.tell()
    let before = lines.all.count
    for number in 0..<FoldedLog.kindLimit { log.note("new \(number)") { Self.event("x") } }
    #expect(lines.all.count == before + FoldedLog.kindLimit)
  }

  @Test("failed handshakes are told by kind, with the name that was asked for")
  func handshakes() {
    let log = TLSLog(make())
    let peer = SocketAddress(host: "192.0.2.1", port: 5)
    log.failed(peer, "a.test", TLSFailure(.expired, "it has expired"))
    for _ in 1...3 { log.failed(peer, nil, TLSFailure(.expired, "again")) }
    log.failed(peer, nil, TLSFailure(.plainHTTP, "HTTP"))
    log.sawTLS(from: peer)
    log.sawTLS(from: peer)
    #expect(lines.all.count == 3)
    #expect(lines.all[0].contains("name=a.test") && lines.all[0].contains("reason=\"it has expired\""))
    #expect(lines.all[0].contains("peer=192.0.2.1") && !lines.all[0].contains("count="))
    #expect(lines.all[2].contains("msg=\"clients spoke TLS to a port in the clear\""))
    clock.advance(seconds: 10)
    log.failed(peer, nil, TLSFailure(.expired, "later"))
    #expect(lines.all.count == 4 && lines.all[3].contains("count=4"))
  }
}
