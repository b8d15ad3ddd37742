import Operations
import TestSupport
import Testing

@testable import Gateway

@Suite("An upgrade, as the process sees it that takes over")
struct IncomingUpgradeTests {
  private static let second: Int64 = 1_000_000
  private static let live = IncomingUpgrade.Warmth(live: 3, all: 3, venues: 2)

  private func begun(required: Int = 1) -> IncomingUpgrade {
    IncomingUpgrade(required: required, warmSeconds: 30, now: 0)
  }

  @Test("it is ready with its last connection, and takes over when it is told to")
  func whole() {
    var upgrade = begun()
    #expect(
      upgrade.feeds(.init(live: 1, all: 3, venues: 0), now: Self.second) == [.send(.warming(live: 1, of: 3))])
    // Nothing new is no news.
    #expect(upgrade.feeds(.init(live: 1, all: 3, venues: 0), now: Self.second) == [])
    #expect(upgrade.feeds(Self.live, now: 2 * Self.second) == [.send(.warming(live: 3, of: 3)), .send(.ready)])
    // A connection may be lost and found again meanwhile.
    #expect(upgrade.feeds(.init(live: 2, all: 3, venues: 1), now: 3 * Self.second) == [])
    #expect(upgrade.received(.yours(2)) == [.take(number: 2)])
    #expect(upgrade.predecessorEnded() == [])
    #expect(upgrade.received(nil) == [])
    #expect(upgrade.tick(now: .max) == [])
  }

  @Test("after its time it is ready with what it has, if that is as much as is required")
  func late() {
    var upgrade = begun(required: 1)
    _ = upgrade.feeds(.init(live: 2, all: 3, venues: 1), now: Self.second)
    #expect(upgrade.tick(now: 30 * Self.second - 1) == [])
    #expect(upgrade.tick(now: 30 * Self.second) == [.send(.ready)])

    upgrade = begun(required: 2)
    _ = upgrade.feeds(.init(live: 2, all: 3, venues: 1), now: Self.second)
    let actions = upgrade.tick(now: 30 * Self.second)
    guard case .giveUp(let reason)? = actions.last else { return #expect(Bool(false), "\(actions)") }
    #expect(reason.contains("2 of 3") && actions.first == .send(.failed(reason)))
    #expect(upgrade.phase == .ended && upgrade.tick(now: .max) == [])
  }

  @Test("one without feeds is ready at once where none is required")
  func noFeeds() {
    var upgrade = begun(required: 0)
    #expect(upgrade.tick(now: 30 * Self.second) == [.send(.ready)])
  }

  @Test("what it does not expect, and the end of the other process, end it before the hand-over")
  func faults() {
    let faults: [(inout IncomingUpgrade) -> [IncomingUpgrade.Action]] = [
      { $0.received(nil) }, { $0.received(.ready) }, { $0.received(.serving) }, { $0.predecessorEnded() },
    ]
    for isReady in [false, true] {
      for fault in faults + (isReady ? [{ $0.tick(now: 100 * Self.second) }] : [{ $0.received(.yours(1)) }]) {
        var upgrade = begun()
        if isReady { _ = upgrade.feeds(Self.live, now: Self.second) }
        let actions = fault(&upgrade)
        guard case .giveUp(let reason)? = actions.last else { return #expect(Bool(false), "\(actions)") }
        #expect(actions == [.send(.failed(reason)), .giveUp(reason: reason)])
        #expect(upgrade.received(.yours(1)) == [])
      }
    }
  }

  /// Both processes, and what lies between them: at every step, whatever is lost or late, the data file has at most one
  /// owner, and while the upgrade can fail the old one still serves.
  @Test(
    "two processes never have the data file at once, and one of them serves or is started anew",
    arguments: testSeeds(60))
  func together(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      var (old, new) = (OutgoingUpgrade(), begun())
      var (toOld, toNew): ([UpgradeMessage?], [UpgradeMessage?]) = ([], [])
      var (hasOld, hasNew) = (true, false)
      var (isWriting, isNewThere, gaveUp, wentOn, served) = (false, true, false, false, false)
      var now: Int64 = 0
      func actOld(_ actions: [OutgoingUpgrade.Action]) {
        for action in actions {
          switch action {
          case .start: break
          case .send(let message):
            #expect(!hasOld, "seed \(seed): given away while it is open")
            toNew.append(message)
          case .handOver: isWriting = true
          case .leave: served = true
          case .endSuccessor: (isNewThere, hasNew) = (false, false)
          case .goOn:
            wentOn = true
            #expect(hasOld && !isWriting, "seed \(seed): goes on without its data")
          case .giveUp: gaveUp = true
          }
        }
      }
      func actNew(_ actions: [IncomingUpgrade.Action]) {
        for action in actions {
          switch action {
          case .send(let message): toOld.append(message)
          case .take:
            #expect(!hasOld, "seed \(seed): taken while it is open")
            hasNew = true
          case .giveUp: isNewThere = false
          }
        }
      }
      actOld((try? old.request(warmSeconds: 30, now: now)) ?? [])
      for _ in 0..<40 {
        now += Int64.random(in: 0...8_000_000, using: &generator)
        switch Int.random(in: 0...9, using: &generator) {
        case 0...1 where isNewThere:
          let live = Int.random(in: 0...2, using: &generator)
          actNew(new.feeds(.init(live: live, all: 2, venues: live), now: now))
        case 2...3 where !toOld.isEmpty: actOld(old.received(toOld.removeFirst(), now: now))
        case 4 where isNewThere && !toNew.isEmpty: actNew(new.received(toNew.removeFirst()))
        case 5 where isWriting:
          (isWriting, hasOld) = (false, false)
          actOld(old.handedOver(now: now))
        case 6 where isNewThere && hasNew && Bool.random(using: &generator): toOld.append(.serving)
        case 7:
          actOld(old.tick(now: now))
          if isNewThere { actNew(new.tick(now: now)) }
        case 8 where Int.random(in: 0...9, using: &generator) == 0:
          isNewThere = false
          hasNew = false
          actOld(old.successorEnded("it crashed"))
        case 9 where Int.random(in: 0...19, using: &generator) == 0: toOld.append(nil)
        default: break
        }
        if !isNewThere, !hasNew, toOld.isEmpty { actOld(old.successorEnded("it is gone")) }
        #expect(!(hasOld && hasNew), "seed \(seed)")
        #expect(!(wentOn && gaveUp) && !(served && wentOn), "seed \(seed)")
      }
    }
  }
}
