import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("One client's subscriptions")
struct MembershipsTests {
  @Test("order and counts are those of a plain list, whatever comes and goes", arguments: testSeeds(20))
  func counts(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var memberships = Memberships()
    var model: [UInt32: Subscription.Mark] = [:]
    let marks: [Subscription.Mark] = [.none, .holding, .marked, .awaiting, .behind]
    for _ in 0..<300 {
      let stream = UInt32.random(in: 1...20, using: &random)
      let mark = marks.randomElement(using: &random) ?? .none
      if let index = memberships.index(of: stream) {
        #expect(model[stream] == memberships[index].mark, "seed \(seed)")
        if Bool.random(using: &random) {
          #expect(memberships.remove(at: index).stream == stream)
          model[stream] = nil
        } else {
          #expect(memberships.setMark(mark, at: index).mark == model[stream], "seed \(seed)")
          model[stream] = mark
        }
      } else {
        #expect(model[stream] == nil, "seed \(seed)")
        memberships.insert(Subscription(stream: stream, position: 0, wanted: 0, mark: mark))
        model[stream] = mark
      }
      #expect(memberships.subscriptions.map(\.stream) == model.keys.sorted(), "seed \(seed)")
      #expect(Int(memberships.marks) == model.values.count { $0 != .none }, "seed \(seed)")
      #expect(Int(memberships.awaited) == model.values.count { $0 == .awaiting }, "seed \(seed)")
      #expect(Int(memberships.behind) == model.values.count { $0 == .behind }, "seed \(seed)")
    }
  }

  @Test("each marked stream has its turn, small ones and large ones apart")
  func turns() {
    var memberships = Memberships()
    for stream in UInt32(1)...10 {
      memberships.insert(Subscription(stream: stream, position: 0, wanted: 0, mark: .marked))
    }
    func ask() -> [UInt32] {
      memberships.nextMarked(small: 2, large: 1) { $0 > 5 }.map { memberships[$0].stream }
    }
    #expect([ask(), ask(), ask(), ask()] == [[1, 2, 6], [3, 4, 7], [5, 1, 8], [2, 3, 9]])
  }
}
