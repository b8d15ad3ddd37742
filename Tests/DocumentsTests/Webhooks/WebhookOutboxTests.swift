import Alerts
import Foundation
import History
import MarketData
import Testing

@testable import Documents

@Suite("The outbox of webhooks")
struct WebhookOutboxTests {
  private static let ann = AlertOwner(rawValue: 1)
  private static let bob = AlertOwner(rawValue: 2)
  private let start = Timestamp(microseconds: 1_790_000_000_000_000)

  private func firing(_ alert: UInt64, _ number: UInt32) -> StoredFiring {
    StoredFiring(
      AlertFiring(alert: AlertID(rawValue: alert), owner: Self.ann, number: number, time: start), symbol: nil)
  }

  private func outbox(_ owners: [AlertOwner] = [ann]) -> WebhookOutbox {
    var outbox = WebhookOutbox()
    for owner in owners { _ = outbox.add(owner, url: "https://a.example/", secret: "s", now: start) }
    write(&outbox)
    return outbox
  }

  @discardableResult
  private func write(_ outbox: inout WebhookOutbox) -> WebhookBatch {
    let changes = outbox.takeChanges()
    outbox.written()
    return changes
  }

  private func due(_ outbox: inout WebhookOutbox, _ now: Timestamp) -> [UInt32] {
    outbox.takeDue(now: now).map(\.delivery.number)
  }

  @Test("nothing is sent before it is written")
  func durable() {
    var outbox = outbox()
    outbox.add(Self.ann, firing(1, 1), body: { "\($0)" }, now: start)
    #expect(due(&outbox, start) == [])
    let changes = outbox.takeChanges()
    #expect(changes.deliveries.values.map(\.body) == ["1"])
    #expect(due(&outbox, start) == [], "the store has been given it, and has not got it")
    outbox.written()
    #expect(due(&outbox, start) == [1])
  }

  @Test(
    "firings of one rule go out in their order; one that fails holds up its rule alone, with longer and longer pauses")
  func order() {
    var outbox = outbox()
    for number in 1...2 { outbox.add(Self.ann, firing(1, UInt32(number)), body: { _ in "" }, now: start) }
    outbox.add(Self.ann, firing(2, 7), body: { _ in "" }, now: start)
    write(&outbox)
    let first = outbox.takeDue(now: start)
    #expect(first.map(\.delivery.number) == [1, 7])
    outbox.ended(first[0].delivery.id, failure: "answered 500", now: start)
    outbox.ended(first[1].delivery.id, failure: nil, now: start)
    write(&outbox)
    var now = start
    var waits: [Int64] = []
    for _ in 0..<12 {
      var wait: Int64 = 0
      var taken: [(webhook: StoredWebhook, delivery: StoredDelivery)] = []
      while taken.isEmpty {
        wait += Microseconds.second
        taken = outbox.takeDue(now: now + wait)
      }
      #expect(taken.map(\.delivery.number) == [1])
      now = now + wait
      waits.append(wait / Microseconds.second)
      outbox.ended(taken[0].delivery.id, failure: "reset", now: now)
      write(&outbox)
    }
    #expect(waits == [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600])
    let last = outbox.takeDue(now: now + Microseconds.hour)
    outbox.ended(last[0].delivery.id, failure: nil, now: now)
    write(&outbox)
    #expect(due(&outbox, now) == [2])
  }

  @Test("after 24 h a delivery is given up and listed with its reason, and the next of its rule has its turn")
  func dead() throws {
    var outbox = outbox()
    for number in 1...2 { outbox.add(Self.ann, firing(1, UInt32(number)), body: { _ in "" }, now: start) }
    write(&outbox)
    var now = start
    var numbers: [UInt32] = []
    while now - start < 25 * Microseconds.hour {
      for (_, delivery) in outbox.takeDue(now: now) {
        numbers.append(delivery.number)
        outbox.ended(delivery.id, failure: "answered 503", now: now)
      }
      write(&outbox)
      now = now + Microseconds.minute
    }
    let webhook = try #require(outbox.webhooks(of: Self.ann).first)
    #expect(outbox.dead(webhook).map(\.number) == [2, 1], "the newest first")
    #expect(outbox.dead(webhook).allSatisfy { $0.reason == "answered 503" && $0.dead != nil })
    #expect(outbox.waitingCount(webhook.id) == 0)
    #expect(numbers.count(where: { $0 == 1 }) > 20 && numbers == numbers.sorted())
  }

  @Test("an owner's backlog and requests are bounded, and others go on")
  func bounds() throws {
    var outbox = outbox([Self.ann, Self.bob])
    for alert in 0..<UInt64(WebhookOutbox.ownerLimit + 150) {
      outbox.add(Self.ann, firing(alert, 1), body: { _ in "" }, now: start)
    }
    outbox.add(Self.bob, firing(1 << 40, 9), body: { _ in "" }, now: start)
    write(&outbox)
    let webhook = try #require(outbox.webhooks(of: Self.ann).first)
    #expect(outbox.waitingCount(webhook.id) == WebhookOutbox.ownerLimit)
    #expect(outbox.dead(webhook).count == WebhookOutbox.deadLimit)
    #expect(outbox.deliveries.count == WebhookOutbox.ownerLimit + WebhookOutbox.deadLimit + 1)
    let taken = outbox.takeDue(now: start)
    #expect(taken.count(where: { $0.webhook.owner == Self.ann }) == WebhookOutbox.ownerRequestLimit)
    #expect(taken.count(where: { $0.webhook.owner == Self.bob }) == 1)
    #expect(outbox.takeDue(now: start).isEmpty)
    outbox.remove(webhook.id)
    #expect(outbox.deliveries.count == 1)
    // The answer of one that is gone says nothing.
    outbox.ended(taken[0].delivery.id, failure: "late", now: start)
    #expect(write(&outbox).removed == [webhook.id])
  }

  @Test("what was written makes the same outbox again; what was under way is sent once more, under the same number")
  func restart() {
    var outbox = outbox()
    for number in 1...3 { outbox.add(Self.ann, firing(1, UInt32(number)), body: { _ in "" }, now: start) }
    write(&outbox)
    let sent = outbox.takeDue(now: start)
    let kept = outbox.everything
    var again = WebhookOutbox(kept.made, kept.deliveries.values.sorted { $0.id < $1.id })
    #expect(again.takeDue(now: start).map(\.delivery) == sent.map(\.delivery))
    again.add(Self.ann, firing(9, 1), body: { _ in "" }, now: start)
    #expect(again.deliveries.keys.max() == 4, "numbers go on")
  }

  @Test("numbers go on in the next run, also behind deliveries and webhooks that are gone from the file")
  func numbers() throws {
    let folder = NSTemporaryDirectory() + "tidegate-outbox-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var (seen, webhooks): (Set<Int64>, Set<Int64>) = ([], [])
    for run in 0..<4 {
      let store = AlertStore(
        file: try DataFile(path: "\(folder)/data.sqlite", parts: SchemaPart.all, stamp: "test"))
      let contents = try store.load()
      #expect(contents.deliveries.isEmpty && contents.webhooks.isEmpty)
      var outbox = WebhookOutbox(
        contents.webhooks, contents.deliveries, nextWebhook: contents.nextWebhook, nextDelivery: contents.nextDelivery)
      func keep() throws {
        var batch = AlertBatch(now: start)
        batch.webhooks = outbox.takeChanges()
        try store.write(batch)
        outbox.written()
      }
      let webhook = outbox.add(Self.ann, url: "https://example.com/", secret: "s", now: start)
      #expect(webhooks.insert(webhook.id).inserted, "run \(run): the webhook \(webhook.id) was another's")
      for number in 1...3 { outbox.add(Self.ann, firing(1, UInt32(number)), body: { _ in "" }, now: start) }
      try keep()
      while let due = outbox.takeDue(now: start).first {
        #expect(seen.insert(due.delivery.id).inserted, "run \(run): the delivery \(due.delivery.id) was another's")
        outbox.ended(due.delivery.id, failure: nil, now: start)
        try keep()
      }
      outbox.remove(webhook.id)
      try keep()
    }
    #expect(seen.count == 12)
  }

  @Test("a wall clock that is set back keeps nobody waiting for longer than a pause")
  func steppedBack() {
    var outbox = outbox()
    outbox.add(Self.ann, firing(1, 1), body: { _ in "" }, now: start)
    write(&outbox)
    #expect(due(&outbox, start - Microseconds.second) == [])
    #expect(due(&outbox, start - Microseconds.day) == [1])
  }
}
