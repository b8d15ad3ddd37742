import Bytes
import HTTP1
import TestSupport
import TestTraits
import Testing
import VenueSimulator
import Transport
import VenueSimulator

@testable import Gateway

/// A client that asks again and again on one connection.
private final class Poller: ConnectionHandler, @unchecked Sendable {
  // `@unchecked`: used on its loop only, but for `address` and `loop`, which are constant.
  private let loop: EventLoop
  private let address: SocketAddress
  private var connection: Connection?
  private var parser = HTTPResponseParser(limits: HTTPLimits(bodyBytes: 16 << 20))
  private var waiting: [(Result<(status: Int, tag: String?, body: String), ProbeError>) -> Void] = []

  init(_ address: SocketAddress, loop: EventLoop) async throws {
    self.loop = loop
    self.address = address
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      loop.execute { [self] in
        Connector.connect(host: address.host, port: address.port, tls: nil, loop: loop, handler: self) { result in
          switch result {
          case .success(let connection):
            self.connection = connection
            continuation.resume()
          case .failure(let error): continuation.resume(throwing: ProbeError(description: error.description))
          }
        }
      }
    }
  }

  /// Asks `count` times at once, the same octets each time.
  func ask(_ path: String, tag: String?, count: Int = 1) async throws -> [(status: Int, tag: String?, body: String)] {
    let known = tag.map { "If-None-Match: \($0)\r\n" } ?? ""
    let request = "GET \(path) HTTP/1.1\r\nHost: \(address)\r\n\(known)\r\n"
    let bytes = Array(String(repeating: request, count: count).utf8)
    return try await withCheckedThrowingContinuation { continuation in
      loop.execute { [self] in
        var answers: [(status: Int, tag: String?, body: String)] = []
        var isOver = false
        for _ in 0..<count {
          waiting.append { result in
            guard !isOver else { return }
            switch result {
            case .success(let answer): answers.append(answer)
            case .failure(let error):
              isOver = true
              return continuation.resume(throwing: error)
            }
            if answers.count == count {
              isOver = true
              continuation.resume(returning: answers)
            }
          }
        }
        bytes.withUnsafeBytes { connection?.write($0.bytes) }
      }
    }
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    do {
      while let (head, body) = try parser.next(&input) {
        guard !waiting.isEmpty else { return }
        waiting.removeFirst()(.success((head.status, head.fields["ETag"], String(decoding: body, as: UTF8.self))))
      }
    } catch {
      waiting.removeFirst()(.failure(ProbeError(description: "\(error)")))
    }
  }

  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    for answer in waiting { answer(.failure(ProbeError(description: "closed: \(reason)"))) }
    waiting = []
  }

  func close() { loop.execute { [self] in connection?.abort() } }
}

@Suite("Pollers, end to end", .serialized, .realTime)
struct PollingTests {
  /// What has been seen of one path, by whomever.
  private struct Seen {
    /// The tag of the newest answer.
    var newest: String?
    /// Tags after which another was seen: of content that there is no more.
    var gone: Set<String> = []
    var bodies: [String: String] = [:]
    /// By poller: the tag of its last answer.
    var held: [Int: String] = [:]
  }

  @Test(
    "nobody is told that nothing has changed after anybody has seen that it has, on whichever loop", arguments: [1, 2])
  func neverOld(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let harness = try GatewayHarness(venues: ["kraken"], seed: seed, rate: 30)
    try await harness.waitUntilLive()
    // Of what these show, nothing ever comes again: trades are numbered, and books by their changes.
    let paths = [
      "/v1/books/kraken:BTC-USD?depth=5", "/v1/trades/kraken:ETH-USD", "/v1/trades/kraken:BTC-USD?limit=3",
      "/v1/books/kraken:ZEC-USD?depth=full",
    ]
    var pollers: [Poller] = []
    for _ in 0..<6 { pollers.append(try await Poller(harness.gateway.address, loop: harness.clientLoop)) }
    var seen = paths.map { _ in Seen() }
    var unchanged = 0
    var changed = 0
    for step in 0..<1_500 {
      let index = Int.random(in: 0..<paths.count, using: &random)
      let who = Int.random(in: 0..<pollers.count, using: &random)
      let held = seen[index].held[who]
      let count = Int.random(in: 0..<8, using: &random) == 0 ? 6 : 1
      for answer in try await pollers[who].ask(paths[index], tag: held, count: count) {
        let what = "seed \(seed), step \(step), \(paths[index])"
        guard answer.status == 200 || answer.status == 304 else { continue }
        let tag = try #require(answer.tag, "\(what)")
        #expect(!seen[index].gone.contains(tag), "\(what): \(answer.status) of what is no more")
        if let newest = seen[index].newest, newest != tag { seen[index].gone.insert(newest) }
        seen[index].newest = tag
        if answer.status == 304 {
          #expect(tag == held && answer.body.isEmpty, "\(what)")
          unchanged += 1
        } else {
          #expect(seen[index].bodies[tag, default: answer.body] == answer.body, "\(what): two bodies of one tag")
          seen[index].bodies[tag] = answer.body
          seen[index].held[who] = tag
          changed += 1
        }
      }
    }
    #expect(unchanged > 200 && changed > 50, "\(unchanged) unchanged, \(changed) changed")
    for poller in pollers { poller.close() }
    await harness.stop()
  }

  @Test("a request that came before is answered as one that comes for the first time, when its feed dies, too")
  func sameWords() async throws {
    let harness = try GatewayHarness(venues: ["kraken"], rate: 1)
    try await harness.waitUntilLive()
    let poller = try await Poller(harness.gateway.address, loop: harness.clientLoop)
    let paths = ["/v1/instruments", "/v1/snapshot?symbols=kraken:BTC-USD,kraken:ETH-USD", "/v1/tickers/kraken:ZEC-USD"]
    harness.exchanges["kraken"]?.stop()
    var tags: [String?] = paths.map { _ in nil }
    var isDead = false
    var unchanged = 0
    var patience = Patience()
    while !isDead || unchanged < 50 {
      for (index, path) in paths.enumerated() {
        let again = try await poller.ask(path, tag: tags[index])[0]
        let fresh = try await harness.get(path)
        if again.status == 304 { unchanged += 1 }
        if again.status == 200 {
          tags[index] = again.tag
          if again.tag == fresh.fields["ETag"] { #expect(again.body == fresh.text, "\(path)") }
          isDead = isDead || !again.body.contains("\"state\":\"live\"")
        }
      }
      try await patience.wait(for: "the feed to die; \(unchanged) unchanged")
    }
    // At rest both must come to the same.
    for (index, path) in paths.enumerated() {
      var isSame = false
      var patience = Patience()
      while !isSame {
        let fresh = try await harness.get(path)
        let again = try await poller.ask(path, tag: tags[index])[0]
        if again.status == 200 { tags[index] = again.tag }
        isSame = again.tag == fresh.fields["ETag"]
        if !isSame { try await patience.wait(for: "\(path) to be the same") }
      }
    }
    poller.close()
    await harness.stop()
  }
}
