import Alerts
import Bytes
import Dispatch
import History
import Logging
import MarketData
import PubSub
import Synchronization
import Transport

/// Watches alerts for all owners: it owns the engine and the store, and answers owners and streams.
///
/// It has its own queue. Loops pass it the prices of markets that rules name, and the requests of owners; neither
/// waits. The desk collects changes in a draft, and writes one transaction at a time. It reports firings only when they
/// are in the file, so every reported firing still exists after a crash. Without a store, it reports at once.
package final class AlertDesk: @unchecked Sendable {
  // `@unchecked`: all state but the constants and `mailbox` is touched on `queue` only, which `assertOnQueue` checks at
  // each entrance.

  package struct Limits: Sendable, Equatable {
    /// Rules of all owners.
    package var rules = 100_000
    /// Rules of one owner.
    package var rulesOfOwner = 200
    /// Webhooks of one owner.
    package var webhooksOfOwner = 5
    /// The wait after the first failure of a delivery, µs; each wait is twice the one before, up to an hour.
    package var webhookWait = 5 * Microseconds.second
    /// How long a delivery may take: name resolution, TLS and answer together.
    package var webhookTimeout: Duration = .seconds(10)

    package init() {}
  }

  /// The most bytes of an owner's rules as text, which is the snapshot of its stream.
  static let ownerBytes = 512 << 10
  /// Firings that may wait for the disk. Beyond that, prices are ignored until they are written.
  static let firingLimit = 10_000
  /// The interval between checks of the clocks, ms: with rules, and without.
  private static let tick = 100
  private static let idleTick = 1_000
  /// How long to wait before a failed transaction is tried again, ms.
  private static let retryAfter = 1_000

  /// The desk's part of a rule, beside the engine's.
  struct Entry {
    var owner: AlertOwner
    var name: String
    var rule: AlertRule
    var revision: Int64
    var created: Timestamp
    var newest: StoredFiring?
    /// The text that its owner sees, as the store has it. Nil: the store does not have it yet.
    var shown: AlertText?
  }

  /// What happened since the last transaction began.
  struct Draft: WriteDraft {
    /// Rules whose text, name or revision changed, and rules whose progress changed.
    var written: Set<AlertID> = []
    var touched: Set<AlertID> = []
    var removed: [AlertID: AlertOwner] = [:]
    var owners: [AlertOwner] = []
    var keys: [StoredRequestKey] = []
    var firings: [(owner: AlertOwner, firing: StoredFiring, isReminder: Bool)] = []
    var webhooks = WebhookBatch()
    var isLiveDue = false

    var isEmpty: Bool {
      webhooks.isEmpty && written.isEmpty && touched.isEmpty && removed.isEmpty && owners.isEmpty && keys.isEmpty
        && firings.isEmpty && !isLiveDue
    }
  }

  /// The desk's counters, for metrics.
  package struct Figures: Sendable, Equatable {
    package var rules = 0
    package var owners = 0
    package var firings: UInt64 = 0
    package var late: UInt64 = 0
    package var commits: UInt64 = 0
    /// How often prices were left out because the mailbox was full; each time counts as a gap.
    package var overflows: UInt64 = 0
    /// Requests that webhooks accepted, and requests that they did not.
    package var delivered: UInt64 = 0
    package var undelivered: UInt64 = 0
    /// Why the store cannot be written at present; nil if it can.
    package var failure: String?

    package init() {}
  }

  let limits: Limits
  let context: DeskContext
  let reader = BoundedReader(label: "tidegate.alerts.reader")
  let mailbox = Mutex(AlertMailbox())
  let sharedFigures = Mutex(Figures())

  let engine: AlertEngine
  var entries: [AlertID: Entry] = [:]
  var owners = AlertOwners()
  var keys = RequestKeys<StoredRequestKey>()
  var symbols = AlertSymbols()
  var outbox: WebhookOutbox
  var writes: DocumentQueue<Draft>
  private var timer = DeskTimer()
  /// The receiver of wanted markets and of shown documents; nil before `start` and after the end.
  private(set) var outlet: (any AlertOutlet)?

  /// Loads the rules of a file. If the file cannot be read, only alerts suffer: they are in memory for this run, and
  /// the log says so.
  package static func open(
    _ file: DataFile?, limits: Limits = Limits(), log: Logger, kernel: any Kernel = SystemKernel.shared
  ) -> AlertDesk {
    let (context, contents) = DeskContext.open("tidegate.alerts", file, log: log, kernel: kernel) {
      (file: DataFile) throws(DataFileError) in
      try AlertStore(file: file).load()
    } report: {
      log.error("alerts are not kept in this run", metadata: ["reason": "\($0)"])
    }
    return AlertDesk(context, contents ?? .init(), limits: limits)
  }

  private init(_ context: DeskContext, _ contents: AlertStore.Contents, limits: Limits) {
    self.limits = limits
    self.context = context
    outbox = WebhookOutbox(
      contents.webhooks, contents.deliveries, nextWebhook: contents.nextWebhook, nextDelivery: contents.nextDelivery,
      firstWait: limits.webhookWait)
    writes = DocumentQueue(context.file)
    engine = AlertEngine(
      limits: .init(rules: limits.rules, rulesOfOwner: limits.rulesOfOwner),
      firstGeneration: contents.nextGeneration, at: context.moment)
    restore(contents, context.moment)
  }

  var queue: DispatchQueue { context.queue }
  var store: AlertStore? { context.file.map { AlertStore(file: $0) } }
  var moment: AlertMoment { context.moment }

  /// Whether rules survive a restart.
  package var isKept: Bool { context.file != nil }

  package var figures: Figures { sharedFigures.withLock { $0 } }

  /// Begins to watch.
  /// - Parameter outlet: the gateway's loops.
  package func start(_ outlet: any AlertOutlet) {
    queue.async { [self] in
      self.outlet = outlet
      for symbol in symbols.all { outlet.watch(watch(of: symbol)) }
      timer.start(queue, everyMilliseconds: pace) { [weak self] in self?.everyTick() }
      settle()
    }
  }

  /// Writes pending changes, ends, then calls `completion`.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    context.end { [self] in
      timer.cancel()
      outlet = nil
      // Tries once more, even after a failure.
      writes.finish()
      writes.draft.isLiveDue = isKept
      // It is called after the batches that the writer already has.
      writes.wait { _ in completion() }
      settle()
    }
  }

  /// How often the present rules need the clocks, ms.
  private var pace: Int { entries.isEmpty ? Self.idleTick : Self.tick }

  private func everyTick() {
    let now = moment
    engine.advance(to: now)
    // A delivery that has waited for 5 s can wait for another second.
    if outbox.isCheckDue(now.steady) { sendDue() }
    if isKept, symbols.takeRecord(now: now.wall) { writes.draft.isLiveDue = true }
    settle()
  }

  // MARK: Restoring

  private func restore(_ contents: AlertStore.Contents, _ moment: AlertMoment) {
    owners = AlertOwners(
      contents.owners,
      others: contents.alerts.map(\.owner) + contents.webhooks.map(\.owner) + contents.keys.map(\.owner))
    keys = RequestKeys(contents.keys)
    for (id, reason) in contents.unreadable {
      context.log.error(
        "stored alert cannot be read: it is not watched", metadata: ["id": "\(id.text)", "reason": "\(reason)"])
    }
    for alert in contents.alerts {
      do {
        loadZone(alert.rule.timeZone, moment)
        try engine.restore(alert.rule, alert.id, owner: alert.owner, alert.progress, at: moment)
      } catch {
        context.log.error(
          "stored alert cannot be watched", metadata: ["id": "\(alert.id.text)", "reason": "\(error)"])
        continue
      }
      for symbol in alert.rule.symbols { symbols.add(symbol) }
      entries[alert.id] = Entry(
        owner: alert.owner, name: alert.name, rule: alert.rule, revision: alert.revision, created: alert.created,
        newest: contents.newest[alert.id])
      show(alert.id)
    }
    engine.finishRestoring()
    for (symbol, time) in contents.liveUntil.sorted(by: { $0.key < $1.key }) where symbols.isUsed(symbol) {
      engine.wasLive(engine.source(symbol), until: time, at: moment)
    }
    count()
  }

  /// Updates the owner's view of a rule from the engine.
  func show(_ id: AlertID) {
    guard let entry = entries[id], let status = try? engine.status(of: id) else { return }
    show(AlertText(id, entry, status))
  }

  private func show(_ text: AlertText) {
    guard let entry = entries[text.id] else { return }
    owners.resize(entry.owner, from: entry.shown?.bytes.count, to: text.bytes.count)
    entries[text.id]?.shown = text
  }

  func count() {
    timer.set(everyMilliseconds: pace)
    sharedFigures.withLock { figures in
      figures.rules = entries.count
      figures.owners = owners.count
      figures.failure = writes.failure?.description
    }
  }

  // MARK: The store

  /// Takes the engine's output and writes it.
  func settle() {
    context.assertOnQueue()
    if engine.hasOutput {
      let output = engine.takeOutput()
      for firing in output.firings {
        let stored = StoredFiring(firing, symbol: firing.source.map { engine.symbol(of: $0) })
        writes.draft.firings.append((firing.owner, stored, firing.isReminder))
        entries[firing.alert]?.newest = stored
        let (name, reminds) = (entries[firing.alert]?.name ?? "", firing.isReminder)
        outbox.add(
          firing.owner, stored, body: { WebhookText.body($0, name, stored, isReminder: reminds) }, now: firing.time)
        sharedFigures.withLock { figures in
          if !firing.isReminder { figures.firings += 1 }
          if firing.lateBy > 0 { figures.late += 1 }
        }
      }
      for id in output.changed where entries[id] != nil { writes.draft.touched.insert(id) }
    }
    commit()
  }

  /// Writes the draft, unless a transaction is under way, whose end calls this again.
  private func commit() {
    // Not earlier: the outbox sends what it handed over as soon as a transaction has ended.
    if writes.isReady, outbox.hasChanges {
      writes.draft.webhooks = writes.draft.webhooks.followed(by: outbox.takeChanges())
    }
    let transaction = writes.begin(context.file) { draft in
      draft.written.formUnion(entries.keys)
      draft.webhooks = outbox.everything
      draft.owners = owners.stored
      draft.keys = keys.all
    }
    guard let draft = transaction?.draft else { return }
    let shown = Shown(draft, of: self)
    guard let store else { return written(shown, .success(())) }
    let batch = batch(of: draft)
    context.submit {
      store.submit(batch, completion: $0)
    } ended: { [self] in
      written(shown, $0)
    }
  }

  private func batch(of draft: Draft) -> AlertBatch {
    var batch = AlertBatch(now: moment.wall)
    batch.owners = draft.owners.sorted { $0.rawValue < $1.rawValue }.compactMap { owner in
      owners.subject(of: owner).map { (owner, $0) }
    }
    for id in draft.written.sorted() {
      guard let entry = entries[id], let progress = try? engine.progress(of: id) else { continue }
      batch.rules.append(
        StoredAlert(
          id: id, owner: entry.owner, name: entry.name, rule: entry.rule, progress: progress, revision: entry.revision,
          created: entry.created))
    }
    for id in draft.touched.subtracting(draft.written).sorted() {
      guard entries[id] != nil, let progress = try? engine.progress(of: id) else { continue }
      batch.progress.append((id, progress))
    }
    // A reminder repeats a firing that is written already.
    batch.firings = draft.firings.filter { !$0.isReminder && draft.removed[$0.firing.alert] == nil }.map(\.firing)
    batch.removed = draft.removed.keys.sorted()
    batch.keys = draft.keys
    batch.webhooks = draft.webhooks
    if draft.isLiveDue { batch.live = symbols.allLive }
    return batch
  }

  private func written(_ shown: Shown, _ result: Result<Void, DataFileError>) {
    context.assertOnQueue()
    guard let transaction = writes.end(isWritten: (try? result.get()) != nil) else { return }
    switch result {
    case .success:
      if isKept { sharedFigures.withLock { $0.commits += 1 } }
      tell(transaction.draft, shown)
      transaction.answer(.success(()))
      count()
      sendDue()
      commit()
    case .failure(let error):
      context.log.error(
        "alerts are not written; clients get changes only once they are", metadata: ["reason": "\(error.description)"])
      transaction.answer(.failure(.unwritten))
      let isLast = writes.hasEnded
      writes.pause(error, again: transaction.draft.followed(by: writes.draft))
      count()
      if isLast { return writes.abandon().answer(.failure(.unwritten)) }
      queue.asyncAfter(deadline: .now() + .milliseconds(Self.retryAfter)) { self.retry() }
    }
  }

  private func retry() {
    writes.retry()
    count()
    commit()
  }

  /// Sends due deliveries to webhooks; their results are written like all changes.
  private func sendDue() {
    guard let outlet, writes.failure == nil else { return }
    let now = moment.wall
    for (webhook, delivery) in outbox.takeDue(now: now) {
      outlet.send(delivery, to: webhook, seconds: now.microseconds / Microseconds.second) { [self] reason in
        queue.async { self.ended(delivery.id, reason) }
      }
    }
  }

  private func ended(_ delivery: Int64, _ reason: String?) {
    outbox.ended(delivery, failure: reason, now: moment.wall)
    sharedFigures.withLock { figures in
      if reason == nil { figures.delivered += 1 } else { figures.undelivered += 1 }
    }
    settle()
  }

  /// Shows owners and streams the state that was written.
  private func tell(_ current: Draft, _ shown: Shown) {
    for (id, _, text) in shown.texts where entries[id] != nil { show(text) }
    outbox.written()
    for (owner, update) in updates(of: current, shown) { outlet?.publish(update, of: owner) }
  }
}

extension DeskContext {
  var moment: AlertMoment { AlertMoment(steady: kernel.monotonicMicroseconds, wall: now) }
}

extension AlertDesk.Draft {
  /// Joins a draft that could not be written with the one after it.
  func followed(by next: AlertDesk.Draft) -> AlertDesk.Draft {
    var all = next
    all.written.formUnion(written)
    all.touched.formUnion(touched)
    all.removed.merge(removed) { a, _ in a }
    all.owners = owners + next.owners
    all.keys = keys + next.keys
    all.firings = firings + next.firings
    all.webhooks = webhooks.followed(by: next.webhooks)
    all.isLiveDue = isLiveDue || next.isLiveDue
    return all
  }
}

/// The receiver of the desk's results: the gateway's loops. Called on the desk's queue.
package protocol AlertOutlet: Sendable {
  /// Tells every loop which values of the symbol to hand over, or none.
  func watch(_ watch: AlertWatch)
  /// Publishes to the streams of an owner.
  func publish(_ update: StreamDocumentUpdate, of owner: String)
  func show(_ document: StreamDocument, of owner: String)
  /// Sends a delivery. Calls `completion` once, with the reason if it must be sent again.
  func send(
    _ delivery: StoredDelivery, to webhook: StoredWebhook, seconds: Int64,
    completion: @escaping @Sendable (String?) -> Void)
}
