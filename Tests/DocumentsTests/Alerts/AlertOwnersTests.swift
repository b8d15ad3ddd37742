import Alerts
import Testing

@testable import Documents

@Suite("Owners of alerts")
struct AlertOwnersTests {
  private static let ann = AlertOwner(rawValue: 3)

  @Test("numbers go on after every number that something stored has, with or without its owner's row")
  func numbers() {
    var owners = AlertOwners([(Self.ann, "key:a")], others: [AlertOwner(rawValue: 8)])
    #expect(owners.make("key:a") == Self.ann)
    #expect(owners.make("key:b") == AlertOwner(rawValue: 9))
    #expect(owners["key:b"] == AlertOwner(rawValue: 9) && owners.subject(of: AlertOwner(rawValue: 9)) == "key:b")
    #expect(owners["key:c"] == nil && owners.stored == [Self.ann])
  }

  @Test("an owner without rules is forgotten, unless a stream shows it")
  func idle() {
    var owners = AlertOwners([(Self.ann, "key:a")])
    let bob = owners.make("key:b")
    owners.watch(bob, true)
    owners.forgetIfIdle("key:b")
    #expect(owners["key:b"] == bob)
    owners.watch(bob, false)
    owners.forgetIfIdle("key:b")
    owners.forgetIfIdle("key:a")
    #expect(owners["key:b"] == nil && owners["key:a"] == Self.ann && owners.count == 1)
  }

  @Test("an owner is stored once, and the bytes of its rules are summed")
  func storing() {
    var owners = AlertOwners()
    let ann = owners.make("key:a")
    let (first, second) = (owners.store(ann), owners.store(ann))
    #expect(first && !second)
    owners.resize(ann, from: nil, to: 10)
    owners.resize(ann, from: 10, to: 25)
    #expect(owners.bytes(of: ann) == 25)
    owners.resize(ann, from: 25, to: nil)
    #expect(owners.bytes(of: ann) == 0)
  }
}
