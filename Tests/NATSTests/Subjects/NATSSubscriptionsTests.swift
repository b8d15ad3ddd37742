import TestSupport
import Testing

@testable import NATS

@Suite("Subscriptions")
struct NATSSubscriptionsTests {
  @Test("a message for an ended subscription is not its successor's")
  func generations() throws {
    var table = NATSSubscriptions()
    let added = table.add(pattern("a"), tag: 1)
    let first = try #require(added)
    #expect([table.remove(first), table.remove(first)] == [true, false])
    let next = table.add(pattern("b"), tag: 2)
    let second = try #require(next)
    #expect(first != second)
    #expect(table.tag(of: first) == nil && table.tag(of: second) == 2)
    #expect(table.tag(of: 12_345) == nil && table.tag(of: .max) == nil)
  }

  @Test("the table is bounded, and a new connection subscribes to what is left", arguments: testSeeds(3))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = NATSSubscriptions(limit: 20)
    var model: [UInt64: Int] = [:]
    for step in 0..<2_000 {
      if Bool.random(using: &random), let number = model.keys.sorted().randomElement(using: &random) {
        let isRemoved = table.remove(number)
        #expect(isRemoved)
        model[number] = nil
      } else if let number = table.add(pattern("s.\(step)"), tag: step) {
        #expect(model.count < 20 && model[number] == nil)
        model[number] = step
      } else {
        #expect(model.count == 20)
      }
      #expect(table.count == model.count)
    }
    for (number, tag) in model { #expect(table.tag(of: number) == tag) }
    let lines = written { table.appendAll(to: &$0) }.split(separator: "\r\n").map(String.init)
    #expect(Set(lines) == Set(model.map { "SUB s.\($0.value) \($0.key)" }))
  }
}
