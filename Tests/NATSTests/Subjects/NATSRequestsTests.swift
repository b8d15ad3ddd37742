import Testing

@testable import NATS

@Suite("Requests over one inbox")
struct NATSRequestsTests {
  private func begin(
    _ requests: inout NATSRequests<Int>, _ context: Int, timeout: Int64
  ) throws -> NATSSubject {
    let reply = requests.begin(context, timeout: timeout, now: 0)
    return try #require(reply)
  }

  private func answered(_ requests: inout NATSRequests<Int>, _ subject: String) -> Int? {
    Array(subject.utf8).withUnsafeBytes { requests.answered($0)?.context }
  }

  @Test("each answer finds its request, once")
  func answers() throws {
    var requests = NATSRequests<Int>(random: (1, 2))
    let first = try begin(&requests, 10, timeout: 100)
    let second = try begin(&requests, 20, timeout: 100)
    for reply in [first, second] { #expect(reply.bytes.withUnsafeBytes { requests.inbox.matches($0) }) }
    #expect(answered(&requests, second.description) == 20)
    #expect(answered(&requests, second.description) == nil)
    #expect(answered(&requests, "\(first)0") == nil)
    #expect(answered(&requests, "\(first).1") == nil)
    #expect(answered(&requests, "x") == nil)
    #expect(answered(&requests, first.description) == 10)
  }

  @Test("a request ends at its time, oldest first; a late answer finds nothing")
  func expiry() throws {
    var requests = NATSRequests<Int>(random: (1, 2))
    let late = try begin(&requests, 1, timeout: 300)
    _ = requests.begin(2, timeout: 100, now: 0)
    _ = requests.begin(3, timeout: 100, now: 0)
    #expect(requests.nextDeadline == 100)
    func expired(_ now: Int64) -> [Int] { requests.expire(now: now).map(\.context) }
    #expect(expired(99) == [])
    #expect(expired(100) == [2, 3])
    #expect(requests.nextDeadline == 300)
    #expect(expired(300) == [1])
    #expect(answered(&requests, late.description) == nil)
    #expect(requests.nextDeadline == .max)
  }

  @Test("the table is bounded; a broken connection ends all that wait")
  func bound() {
    var requests = NATSRequests<Int>(limit: 3, random: (1, 2))
    let began = (0..<4).map { requests.begin($0, timeout: 10, now: 0) != nil }
    #expect(began == [true, true, true, false])
    let ended = requests.failAll().map(\.context)
    #expect(ended == [0, 1, 2] && requests.count == 0)
    let next = requests.begin(4, timeout: 10, now: 0)
    #expect(next != nil)
  }
}
