import TestSupport
import Testing

@testable import TidegateClient

@Suite("Inbox")
struct InboxTests {
  private static func drain(_ inbox: inout Inbox<Int, String>) -> [String] {
    var entries: [String] = []
    while let entry = inbox.next() {
      switch entry {
      case .state(let key): entries.append("state \(key)")
      case .event(let event): entries.append(event)
      case .dropped(let count): entries.append("dropped \(count)")
      }
    }
    return entries
  }

  @Test("state that is unread waits once, in the order of its first change")
  func merges() {
    var inbox = Inbox<Int, String>(limit: 10)
    for _ in 0..<1_000 {
      inbox.mark(1)
      inbox.mark(2)
    }
    #expect(Self.drain(&inbox) == ["state 1", "state 2"])
    #expect(inbox.isEmpty)
  }

  @Test("events beyond the limit are dropped, oldest first, by their weight, and counted")
  func drops() {
    var inbox = Inbox<Int, String>(limit: 10)
    for id in 0..<5 { inbox.append("e\(id)", weight: 3) }
    inbox.mark(1)
    inbox.append("whole", weight: 99)
    #expect(Self.drain(&inbox) == ["dropped 15", "whole", "state 1"])
    inbox.append("next")
    #expect(Self.drain(&inbox) == ["next"])
  }

  @Test("every event is read or counted, in order, whatever the mix", arguments: testSeeds(20))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var inbox = Inbox<Int, String>(limit: 50)
    var next = 0
    var accounted = 0
    for _ in 0..<20_000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0...3:
        inbox.append("\(next)")
        next += 1
      case 4...5:
        switch inbox.next() {
        case .event(let event)?:
          #expect(Int(event) == accounted, "seed \(seed)")
          accounted += 1
        case .dropped(let count)?: accounted += count
        case .state?, nil: break
        }
      default: inbox.mark(Int.random(in: 0..<20, using: &random))
      }
    }
    var left = 0
    while let entry = inbox.next() {
      left += 1
      if case .event = entry { accounted += 1 }
      if case .dropped(let count) = entry { accounted += count }
    }
    #expect(accounted == next, "seed \(seed)")
    #expect(left <= 50 + 20 + 1, "seed \(seed)")
  }
}
