import Testing

@testable import TidegateClient

@Suite("Requests with an answer of their own")
struct AskedRequestsTests {
  private var asked = AskedRequests()

  @Test("an answer is taken once, and nobody's answer is dropped")
  mutating func answers() {
    asked.add(1, "{}", deadline: 10)
    #expect(asked.contains(1) && !asked.hasAnswer(1) && asked.take(1) == nil)
    #expect(asked.resolve(1, .failure(.cancelled)) == true)
    #expect(asked.hasAnswer(1))
    #expect(asked.take(1) == .failure(.cancelled))
    #expect(!asked.contains(1) && asked.take(1) == nil && asked.isEmpty)
    #expect(!asked.resolve(1, .failure(.cancelled)) && asked.isEmpty)
  }

  @Test("a request that cannot be sent has its answer at once")
  mutating func fails() {
    asked.add(1, .invalid)
    #expect(asked.nextDeadline == nil && asked.hasAnswer(1))
    #expect(asked.sent.isEmpty && asked.take(1) == .failure(.invalid))
  }

  @Test("what waits is sent in order, without what was forgotten")
  mutating func sends() {
    for id in 1...3 { asked.add(id, "f\(id)", deadline: 10) }
    asked.forget(2)
    #expect(asked.sent.isEmpty)
    #expect(asked.takeUnsent().map(\.fields) == ["f1", "f3"])
    #expect(asked.takeUnsent().isEmpty && asked.sent == [1, 3])
  }

  @Test("what waits too long for a connection is late, and what was sent is not")
  mutating func late() {
    asked.add(1, "", deadline: 5)
    #expect(asked.takeUnsent().count == 1)
    asked.add(2, "", deadline: 10)
    asked.add(3, "", deadline: 20)
    #expect(asked.nextDeadline == 10)
    #expect(asked.takeLate(9).isEmpty)
    #expect(asked.takeLate(10) == [2])
    #expect(asked.nextDeadline == 20)
    // The late one is answered by its owner.
    #expect(asked.sent == [1, 2])
    #expect(asked.takeUnanswered() == [1, 2, 3] && asked.nextDeadline == nil)
  }

  @Test("no more than a thousand wait for a connection")
  mutating func limit() {
    for id in 1..<AskedRequests.unsentLimit { asked.add(id, "", deadline: 1) }
    #expect(!asked.isFull)
    asked.add(0, "", deadline: 1)
    #expect(asked.isFull)
  }
}
