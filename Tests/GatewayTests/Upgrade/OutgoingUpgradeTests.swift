import Operations
import TestSupport
import Testing

@testable import Gateway

@Suite("An upgrade, as the process that serves sees it")
struct OutgoingUpgradeTests {
  private static let second: Int64 = 1_000_000

  /// One whose next process warms up, since 0, with 30 s.
  private func warming() throws -> OutgoingUpgrade {
    var upgrade = OutgoingUpgrade(number: 4)
    #expect(try upgrade.request(warmSeconds: 30, now: 0) == [.start])
    return upgrade
  }

  private func writing() throws -> OutgoingUpgrade {
    var upgrade = try warming()
    #expect(upgrade.received(.ready, now: 5 * Self.second) == [.handOver])
    return upgrade
  }

  private func taking() throws -> OutgoingUpgrade {
    var upgrade = try writing()
    #expect(upgrade.handedOver(now: 6 * Self.second) == [.send(.yours(5))])
    return upgrade
  }

  @Test("the next process warms up, is given the data file, serves, and then the clients are sent to it")
  func whole() throws {
    var upgrade = try warming()
    #expect(upgrade.received(.warming(live: 1, of: 3), now: Self.second) == [])
    #expect(upgrade.warmth?.live == 1 && upgrade.warmth?.of == 3)
    #expect(upgrade.received(.ready, now: 2 * Self.second) == [.handOver])
    #expect(upgrade.handedOver(now: 3 * Self.second) == [.send(.yours(5))])
    #expect(upgrade.received(.serving, now: 4 * Self.second) == [.leave])
    #expect(upgrade.phase == .leaving)
    // It is on its own from here.
    #expect(upgrade.successorEnded("signal 9 ended it") == [])
    #expect(upgrade.received(nil, now: 5 * Self.second) == [])
    #expect(upgrade.tick(now: 10_000 * Self.second) == [])
  }

  @Test("while the next process warms up, whatever goes wrong leaves this one as it was, and it can be asked again")
  func goesOn() throws {
    let faults: [(inout OutgoingUpgrade) -> [OutgoingUpgrade.Action]] = [
      { $0.couldNotStart("no such file") },
      { $0.received(.failed("the configuration is wrong"), now: 1) },
      { $0.successorEnded("it ended with status 1") },
      { $0.received(nil, now: 1) },
      { $0.received(.serving, now: 1) },
      { $0.received(.yours(5), now: 1) },
      { $0.tick(now: 40 * Self.second) },
    ]
    for fault in faults {
      var upgrade = try warming()
      let actions = fault(&upgrade)
      #expect(actions.count == 2 && actions[0] == .endSuccessor)
      guard case .goOn(let reason) = actions[1] else {
        Issue.record("\(actions)")
        continue
      }
      #expect(!reason.isEmpty)
      #expect(upgrade.phase == .idle)
      #expect(try upgrade.request(warmSeconds: 30, now: 50 * Self.second) == [.start])
    }
  }

  @Test("after the feeds have ended there is no way back: this process ends with a failure")
  func givesUp() throws {
    for make in [writing, taking] {
      let faults: [(inout OutgoingUpgrade) -> [OutgoingUpgrade.Action]] = [
        { $0.received(.failed("no space is left"), now: 6 * Self.second) },
        { $0.successorEnded("signal 11 ended it") },
        { $0.received(nil, now: 6 * Self.second) },
        { $0.received(.ready, now: 6 * Self.second) },
        { $0.tick(now: 100 * Self.second) },
      ]
      for fault in faults {
        var upgrade = try make()
        let actions = fault(&upgrade)
        #expect(actions.count == 2 && actions[0] == .endSuccessor)
        guard case .giveUp = actions[1] else {
          Issue.record("\(actions)")
          continue
        }
        #expect(upgrade.phase == .ended)
        #expect(upgrade.handedOver(now: 101 * Self.second) == [])
        #expect(upgrade.tick(now: 1_000 * Self.second) == [])
      }
    }
  }

  @Test("the data file is given away once it is closed, and not before")
  func onlyWhenWritten() throws {
    var upgrade = try writing()
    #expect(upgrade.received(.serving, now: 6 * Self.second).contains(.endSuccessor))
    #expect(upgrade.handedOver(now: 7 * Self.second) == [])
    upgrade = try warming()
    #expect(upgrade.handedOver(now: Self.second) == [])
  }

  @Test("each phase ends in time, and no earlier")
  func times() throws {
    var upgrade = try warming()
    #expect(upgrade.tick(now: 40 * Self.second - 1) == [])
    #expect(upgrade.tick(now: 40 * Self.second).first == .endSuccessor)
    upgrade = try writing()
    #expect(upgrade.tick(now: 35 * Self.second - 1) == [])
    #expect(upgrade.tick(now: 35 * Self.second).first == .endSuccessor)
    upgrade = try taking()
    #expect(upgrade.tick(now: 66 * Self.second - 1) == [])
    #expect(upgrade.tick(now: 66 * Self.second).first == .endSuccessor)
    var idle = OutgoingUpgrade()
    #expect(idle.tick(now: .max) == [])
  }

  @Test("an upgrade during an upgrade, after one, and at the end of the process is refused in words")
  func refusals() throws {
    var left = try taking()
    _ = left.received(.serving, now: 7 * Self.second)
    var ended = OutgoingUpgrade()
    #expect(ended.processEnds() == [])
    for (upgrade, word) in [
      (try warming(), "under way"), (try writing(), "under way"), (try taking(), "under way"),
      (left, "another process serves"), (ended, "is ending"),
    ] {
      var upgrade = upgrade
      let phase = upgrade.phase
      do {
        _ = try upgrade.request(warmSeconds: 30, now: 8 * Self.second)
        Issue.record("\(phase)")
      } catch {
        #expect(error.reason.contains(word))
      }
      #expect(upgrade.phase == phase)
    }
  }

  @Test("a process that ends for another reason ends the next one first, as long as that does not serve")
  func processEnds() throws {
    for make in [warming, writing, taking] {
      var upgrade = try make()
      #expect(upgrade.processEnds() == [.endSuccessor])
      #expect(upgrade.phase == .ended)
      #expect(upgrade.successorEnded("signal 9 ended it") == [])
    }
    var left = try taking()
    _ = left.received(.serving, now: 7 * Self.second)
    #expect(left.processEnds() == [])
  }
}
