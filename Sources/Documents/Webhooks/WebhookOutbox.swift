import Alerts
import History
import MarketData

/// The queue of webhook deliveries: decides which delivery is due, in which order, and when to retry a failed one.
/// Sans-IO.
///
/// Deliveries of one rule to one webhook are sent one after the other, in the order of the firings. A failed delivery
/// delays only those after it.
struct WebhookOutbox {
  /// How long a delivery is tried, µs.
  static let patience = Microseconds.day
  /// The longest wait after a failure, µs; each is twice the one before.
  static let longestWait = Microseconds.hour
  /// The most waiting deliveries of one owner. Beyond that, new ones are given up at once, and listed.
  static let ownerLimit = 1_000
  /// The most given-up deliveries of an owner that are kept, the newest ones.
  static let deadLimit = 100
  /// Requests under way at a time, in all and of one owner.
  static let requestLimit = 16
  static let ownerRequestLimit = 2

  private let firstWait: Int64

  private struct Lane: Hashable {
    var webhook: Int64
    var alert: AlertID
  }

  private(set) var webhooks: [Int64: StoredWebhook] = [:]
  private(set) var deliveries: [Int64: StoredDelivery] = [:]
  /// Deliveries that wait or are under way, in the order of the firings.
  private var lanes: [Lane: [Int64]] = [:]
  private var underWay: [Int64: AlertOwner] = [:]
  private var nextID: Int64 = 1
  private var nextWebhook: Int64 = 1
  /// By owner: the number of waiting deliveries, and the given-up ones, oldest first.
  private var waiting: [AlertOwner: Int] = [:]
  private var dead: [AlertOwner: [Int64]] = [:]
  /// Changes that must be written.
  private var changes = WebhookBatch()
  /// Deliveries that are being stored: they are sent only after that.
  private var unwritten: Set<Int64> = []
  /// When it was last checked for due deliveries, steady µs.
  private var checked: Int64 = 0

  /// - Parameters:
  ///   - nextWebhook: greater than every earlier webhook's number, as `nextDelivery` is for deliveries. A receiver
  ///     takes a number that it knows for a repetition.
  ///   - firstWait: the wait after the first failure, µs.
  init(
    _ webhooks: [StoredWebhook] = [], _ deliveries: [StoredDelivery] = [], nextWebhook: Int64 = 1,
    nextDelivery: Int64 = 1, firstWait: Int64 = 5 * Microseconds.second
  ) {
    self.firstWait = firstWait
    (self.nextWebhook, nextID) = (nextWebhook, nextDelivery)
    for webhook in webhooks {
      self.webhooks[webhook.id] = webhook
      self.nextWebhook = max(self.nextWebhook, webhook.id + 1)
    }
    for delivery in deliveries {
      nextID = max(nextID, delivery.id + 1)
      guard let owner = self.webhooks[delivery.webhook]?.owner else { continue }
      self.deliveries[delivery.id] = delivery
      if delivery.dead == nil { enqueue(delivery, owner) } else { dead[owner, default: []].append(delivery.id) }
    }
  }

  /// Whether a second has passed since the last check; then this one counts.
  /// - Parameter now: steady µs.
  mutating func isCheckDue(_ now: Int64) -> Bool {
    guard now - checked >= Microseconds.second else { return false }
    checked = now
    return true
  }

  var hasChanges: Bool { !changes.isEmpty }

  /// Takes the changes to write now; call `written` when the store has them.
  mutating func takeChanges() -> WebhookBatch {
    defer { changes = WebhookBatch() }
    (changes.nextWebhook, changes.nextDelivery) = (nextWebhook, nextID)
    unwritten.formUnion(changes.deliveries.keys)
    return changes
  }

  /// The store has all changes that were taken.
  mutating func written() { unwritten.removeAll(keepingCapacity: true) }

  /// The whole content, for a new store.
  var everything: WebhookBatch {
    var all = WebhookBatch()
    all.made = webhooks.values.sorted { $0.id < $1.id }
    all.deliveries = deliveries
    (all.nextWebhook, all.nextDelivery) = (nextWebhook, nextID)
    return all
  }

  /// An owner's webhooks, oldest first.
  func webhooks(of owner: AlertOwner) -> [StoredWebhook] {
    webhooks.values.filter { $0.owner == owner }.sorted { $0.id < $1.id }
  }

  /// The number of waiting deliveries of a webhook.
  func waitingCount(_ webhook: Int64) -> Int {
    lanes.reduce(0) { $0 + ($1.key.webhook == webhook ? $1.value.count : 0) }
  }

  /// The delivery of a webhook that has waited longest after a failure; nil: none has failed.
  func failing(_ webhook: Int64) -> StoredDelivery? {
    lanes.lazy.filter { $0.key.webhook == webhook }.compactMap { $0.value.first.flatMap { deliveries[$0] } }
      .filter { $0.attempts > 0 }.min { $0.id < $1.id }
  }

  /// Deliveries of a webhook that were given up, the newest first.
  func dead(_ webhook: StoredWebhook) -> [StoredDelivery] {
    (dead[webhook.owner] ?? []).reversed().compactMap { deliveries[$0] }.filter { $0.webhook == webhook.id }
  }

  mutating func add(_ owner: AlertOwner, url: String, secret: String, now: Timestamp) -> StoredWebhook {
    let webhook = StoredWebhook(id: nextWebhook, owner: owner, url: url, secret: secret, created: now)
    nextWebhook += 1
    webhooks[webhook.id] = webhook
    changes.made.append(webhook)
    return webhook
  }

  /// Removes a webhook and all of its deliveries.
  mutating func remove(_ id: Int64) {
    guard let webhook = webhooks.removeValue(forKey: id) else { return }
    for delivery in deliveries.values where delivery.webhook == id {
      if delivery.dead == nil { waiting[webhook.owner, default: 0] -= 1 }
      deliveries[delivery.id] = nil
    }
    for lane in lanes.keys where lane.webhook == id { lanes[lane] = nil }
    dead[webhook.owner]?.removeAll { deliveries[$0] == nil }
    changes.removed.append(id)
  }

  /// Adds a delivery of a firing for each webhook of its owner.
  mutating func add(_ owner: AlertOwner, _ firing: StoredFiring, body: (_ delivery: Int64) -> String, now: Timestamp) {
    for webhook in webhooks(of: owner) {
      var delivery = StoredDelivery(
        id: nextID, webhook: webhook.id, alert: firing.alert, number: firing.number, body: body(nextID), created: now)
      nextID += 1
      if waiting[owner, default: 0] >= Self.ownerLimit {
        delivery.reason = "\(Self.ownerLimit) deliveries already wait"
        bury(&delivery, owner, now: now)
      } else {
        deliveries[delivery.id] = delivery
        changes.deliveries[delivery.id] = delivery
        enqueue(delivery, owner)
      }
    }
  }

  private mutating func enqueue(_ delivery: StoredDelivery, _ owner: AlertOwner) {
    lanes[Lane(webhook: delivery.webhook, alert: delivery.alert), default: []].append(delivery.id)
    waiting[owner, default: 0] += 1
  }

  /// The deliveries to send now, the longest due first. They count as running from here on. O(lanes).
  mutating func takeDue(now: Timestamp) -> [(webhook: StoredWebhook, delivery: StoredDelivery)] {
    guard underWay.count < Self.requestLimit else { return [] }
    var due = lanes.values.compactMap { $0.first.flatMap { deliveries[$0] } }
      .filter { underWay[$0.id] == nil && changes.deliveries[$0.id] == nil && !unwritten.contains($0.id) }
      // After a step back of the wall clock nothing waits longer than its pause.
      .filter { $0.next <= now || $0.next - now > Self.longestWait }
    due.sort { ($0.next, $0.id) < ($1.next, $1.id) }
    var taken: [(webhook: StoredWebhook, delivery: StoredDelivery)] = []
    for delivery in due where underWay.count < Self.requestLimit {
      guard let webhook = webhooks[delivery.webhook],
        underWay.values.count(where: { $0 == webhook.owner }) < Self.ownerRequestLimit
      else { continue }
      underWay[delivery.id] = webhook.owner
      taken.append((webhook, delivery))
    }
    return taken
  }

  /// A request has ended.
  /// - Parameter failure: why it must be sent again; nil: the receiver took it.
  mutating func ended(_ id: Int64, failure: String?, now: Timestamp) {
    guard let owner = underWay.removeValue(forKey: id), var delivery = deliveries[id] else { return }
    guard let failure else {
      dequeue(delivery, owner)
      deliveries[id] = nil
      changes.deliveries[id] = nil
      changes.done.insert(id)
      return
    }
    delivery.attempts += 1
    delivery.reason = failure
    guard now - delivery.created < Self.patience else {
      dequeue(delivery, owner)
      return bury(&delivery, owner, now: now)
    }
    let doublings = min(delivery.attempts - 1, 16)
    delivery.next = now + min(Self.longestWait, firstWait << Int64(doublings))
    deliveries[id] = delivery
    changes.deliveries[id] = delivery
  }

  private mutating func dequeue(_ delivery: StoredDelivery, _ owner: AlertOwner) {
    let lane = Lane(webhook: delivery.webhook, alert: delivery.alert)
    lanes[lane]?.removeAll { $0 == delivery.id }
    if lanes[lane]?.isEmpty ?? false { lanes[lane] = nil }
    waiting[owner, default: 0] -= 1
  }

  private mutating func bury(_ delivery: inout StoredDelivery, _ owner: AlertOwner, now: Timestamp) {
    delivery.dead = now
    deliveries[delivery.id] = delivery
    changes.deliveries[delivery.id] = delivery
    dead[owner, default: []].append(delivery.id)
    guard let oldest = dead[owner]?.first, dead[owner]!.count > Self.deadLimit else { return }
    dead[owner]?.removeFirst()
    deliveries[oldest] = nil
    changes.deliveries[oldest] = nil
    changes.done.insert(oldest)
  }
}
