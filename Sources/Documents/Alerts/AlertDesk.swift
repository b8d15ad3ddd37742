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
  /// The interval at which the store records which markets are live, µs.
  private static let liveInterval = 5 * Microseconds.second
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

  struct OwnerEntry {
    var subject: String
    /// Bytes of the texts of its rules.
    var bytes = 0
    /// Whether a stream shows its rules.
    var isWatched = false
    /// Whether the owner has, or had, a rule: then it keeps its number.
    var isStored = false
  }

  /// What happened since the last transaction began.
  struct Draft {
    /// Rules whose text, name or revision changed, and rules whose progress changed.
    var written: Set<AlertID> = []
    var touched: Set<AlertID> = []
    var removed: [AlertID: AlertOwner] = [:]
    var owners: [AlertOwner] = []
    var keys: [StoredRequestKey] = []
    var firings: [(owner: AlertOwner, firing: StoredFiring, isReminder: Bool)] = []
    var completions: [(Result<Void, ProtocolError>) -> Void] = []
    var webhooks = WebhookBatch()
    var isLiveDue = false

    var isEmpty: Bool {
      webhooks.isEmpty && written.isEmpty && touched.isEmpty && removed.isEmpty && owners.isEmpty && keys.isEmpty
        && firings.isEmpty
        && completions.isEmpty && !isLiveDue
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
  let log: Logger
  let kernel: any Kernel
  let store: AlertStore?
  let queue = DispatchQueue(label: "tidegate.alerts")
  let reader = BoundedReader(label: "tidegate.alerts.reader")
  let mailbox = Mutex(AlertMailbox())
  let sharedFigures = Mutex(Figures())

  let engine: AlertEngine
  var entries: [AlertID: Entry] = [:]
  var owners: [AlertOwner: OwnerEntry] = [:]
  var subjects: [String: AlertOwner] = [:]
  var nextOwner: UInt32 = 1
  var keys: [AlertOwner: [String: StoredRequestKey]] = [:]
  var outbox: WebhookOutbox
  var draft = Draft()
  /// The draft that is being written.
  private var inFlight: (draft: Draft, shown: Shown)?
  /// Whether a transaction is under way.
  var isWriting: Bool { inFlight != nil }
  var failure: DataFileError?
  /// How many damaged files had been set aside when everything was last written.
  private var filesSetAside = 0
  /// The symbols that rules name, each with the number of rules.
  var uses: [String: Int] = [:]
  /// Sources whose feed is live.
  var live: Set<String> = []
  private var liveTold = Timestamp.distantPast
  /// When the outbox was last checked, steady µs.
  private var lookedAt: Int64 = 0
  private var timer: (any DispatchSourceTimer)?
  /// The present interval between checks of the clocks, ms; 0: the timer does not run.
  private var pace = 0
  private(set) var hasEnded = false
  /// The receiver of wanted markets and of shown documents; set once, before `start`.
  var outlet: (any AlertOutlet)?

  /// Loads the rules of a file. If the file cannot be read, only alerts suffer: they are in memory for this run, and
  /// the log says so.
  package static func open(
    _ file: DataFile?, limits: Limits = Limits(), log: Logger, kernel: any Kernel = SystemKernel.shared
  ) -> AlertDesk {
    let store = file.map { AlertStore(file: $0) }
    do throws(DataFileError) {
      return AlertDesk(store: store, try store?.load() ?? .init(), limits: limits, log: log, kernel: kernel)
    } catch {
      log.error("alerts are not kept in this run", metadata: ["reason": "\(error.description)"])
      return AlertDesk(store: nil, .init(), limits: limits, log: log, kernel: kernel)
    }
  }

  /// - Parameter contents: the store's contents; empty without a store.
  init(
    store: AlertStore?, _ contents: AlertStore.Contents, limits: Limits, log: Logger, kernel: any Kernel
  ) {
    self.store = store
    self.limits = limits
    self.log = log
    self.kernel = kernel
    outbox = WebhookOutbox(
      contents.webhooks, contents.deliveries, nextWebhook: contents.nextWebhook, nextDelivery: contents.nextDelivery,
      firstWait: limits.webhookWait)
    filesSetAside = store?.file.setAside.count ?? 0
    let moment = AlertMoment(
      steady: kernel.monotonicMicroseconds, wall: Timestamp(microseconds: kernel.wallMicroseconds()))
    engine = AlertEngine(
      limits: .init(rules: limits.rules, rulesOfOwner: limits.rulesOfOwner),
      firstGeneration: contents.nextGeneration, at: moment)
    restore(contents, moment)
  }

  func assertOnQueue() { dispatchPrecondition(condition: .onQueue(queue)) }

  var moment: AlertMoment {
    AlertMoment(steady: kernel.monotonicMicroseconds, wall: Timestamp(microseconds: kernel.wallMicroseconds()))
  }

  /// Whether rules survive a restart.
  package var isKept: Bool { store != nil }

  package var figures: Figures { sharedFigures.withLock { $0 } }

  /// Begins to watch.
  /// - Parameter outlet: the gateway's loops.
  package func start(_ outlet: any AlertOutlet) {
    queue.async { [self] in
      self.outlet = outlet
      for symbol in uses.keys.sorted() { outlet.watch(watch(of: symbol)) }
      let source = DispatchSource.makeTimerSource(queue: queue)
      source.setEventHandler { @Sendable [weak self] in self?.everyTick() }
      timer = source
      setPace()
      source.activate()
      settle()
    }
  }

  /// Writes pending changes, ends, then calls `completion`.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    let end = DispatchWorkItem { [self] in
      hasEnded = true
      timer?.cancel()
      timer = nil
      outlet = nil
      // Try once more, even after a failure.
      failure = nil
      draft.isLiveDue = store != nil
      // It is called after the batches that the writer already has.
      draft.completions.append { _ in completion() }
      settle()
    }
    // Without a file there is nothing to wait for. A gateway on a simulated network must end in simulated time.
    if store == nil { queue.sync(execute: end) } else { queue.async(execute: end) }
  }

  /// Checks the clocks as often as the present rules need it.
  private func setPace() {
    let wanted = entries.isEmpty ? Self.idleTick : Self.tick
    guard let timer, wanted != pace else { return }
    pace = wanted
    timer.schedule(
      deadline: .now() + .milliseconds(wanted), repeating: .milliseconds(wanted), leeway: .milliseconds(5))
  }

  private func everyTick() {
    let now = moment
    engine.advance(to: now)
    // A delivery that has waited for 5 s can wait for another second.
    if now.steady - lookedAt >= Microseconds.second {
      lookedAt = now.steady
      sendDue()
    }
    if store != nil, !live.isEmpty, now.wall - liveTold >= Self.liveInterval || now.wall < liveTold {
      liveTold = now.wall
      draft.isLiveDue = true
    }
    settle()
  }

  // MARK: Restoring

  private func restore(_ contents: AlertStore.Contents, _ moment: AlertMoment) {
    for (owner, subject) in contents.owners {
      owners[owner] = OwnerEntry(subject: subject, isStored: true)
      subjects[subject] = owner
    }
    // Also behind owners whose own row is missing: what they had is nobody else's.
    let all =
      contents.owners.map(\.owner) + contents.alerts.map(\.owner) + contents.webhooks.map(\.owner)
      + contents.keys.map(\.owner)
    nextOwner = (all.map(\.rawValue).max() ?? 0) + 1
    for (id, reason) in contents.unreadable {
      log.error(
        "stored alert cannot be read: it is not watched", metadata: ["id": "\(id.text)", "reason": "\(reason)"])
    }
    for alert in contents.alerts {
      do {
        loadZone(alert.rule.timeZone, moment)
        try engine.restore(alert.rule, alert.id, owner: alert.owner, alert.progress, at: moment)
      } catch {
        log.error("stored alert cannot be watched", metadata: ["id": "\(alert.id.text)", "reason": "\(error)"])
        continue
      }
      for symbol in alert.rule.symbols { uses[symbol, default: 0] += 1 }
      entries[alert.id] = Entry(
        owner: alert.owner, name: alert.name, rule: alert.rule, revision: alert.revision, created: alert.created,
        newest: contents.newest[alert.id])
      show(alert.id)
    }
    engine.finishRestoring()
    for (symbol, time) in contents.liveUntil.sorted(by: { $0.key < $1.key }) where uses[symbol] != nil {
      engine.wasLive(engine.source(symbol), until: time, at: moment)
    }
    for key in contents.keys where moment.wall - key.time < StoredRequestKey.lifetime {
      keys[key.owner, default: [:]][key.key] = key
    }
    count()
  }

  /// Updates the owner's view of a rule from the engine.
  func show(_ id: AlertID) {
    guard let entry = entries[id], let status = try? engine.status(of: id) else { return }
    let text = AlertText(id, entry, status)
    owners[entry.owner]?.bytes += text.bytes.count - (entry.shown?.bytes.count ?? 0)
    entries[id]?.shown = text
  }

  func count() {
    setPace()
    sharedFigures.withLock { figures in
      figures.rules = entries.count
      figures.owners = owners.count
      figures.failure = failure?.description
    }
  }

  // MARK: The store

  /// Takes the engine's output and writes it.
  func settle() {
    assertOnQueue()
    if engine.hasOutput {
      let output = engine.takeOutput()
      for firing in output.firings {
        let stored = StoredFiring(firing, symbol: firing.source.map { engine.symbol(of: $0) })
        draft.firings.append((firing.owner, stored, firing.isReminder))
        entries[firing.alert]?.newest = stored
        let (name, reminds) = (entries[firing.alert]?.name ?? "", firing.isReminder)
        outbox.add(
          firing.owner, stored, body: { WebhookText.body($0, name, stored, isReminder: reminds) }, now: firing.time)
        sharedFigures.withLock { figures in
          if !firing.isReminder { figures.firings += 1 }
          if firing.lateBy > 0 { figures.late += 1 }
        }
      }
      for id in output.changed where entries[id] != nil { draft.touched.insert(id) }
    }
    commit()
  }

  /// Writes the draft, unless a transaction is under way, whose end calls this again.
  private func commit() {
    if outbox.hasChanges { draft.webhooks = draft.webhooks.followed(by: outbox.takeChanges()) }
    guard inFlight == nil, failure == nil, !draft.isEmpty else { return }
    let current = draft
    draft = Draft()
    let shown = Shown(current, of: self)
    guard let store else { return tell(current, shown) }
    if store.file.setAside.count != filesSetAside {
      // The file was damaged and replaced by an empty one: everything must be written again.
      filesSetAside = store.file.setAside.count
      draft = current
      draft.written.formUnion(entries.keys)
      draft.webhooks = outbox.everything
      draft.owners = owners.filter(\.value.isStored).map(\.key)
      return commit()
    }
    inFlight = (current, shown)
    let isTaken = store.submit(batch(of: current)) { [queue] result in queue.async { self.written(result) } }
    if !isTaken { written(.failure(.busy(path: store.file.path))) }
  }

  private func batch(of draft: Draft) -> AlertBatch {
    var batch = AlertBatch(now: moment.wall)
    batch.owners = draft.owners.sorted { $0.rawValue < $1.rawValue }.compactMap { owner in
      owners[owner].map { (owner, $0.subject) }
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
    if draft.isLiveDue { batch.live = live.sorted() }
    return batch
  }

  private func written(_ result: Result<Void, DataFileError>) {
    assertOnQueue()
    guard let (current, shown) = inFlight else { return }
    inFlight = nil
    switch result {
    case .success:
      sharedFigures.withLock { $0.commits += 1 }
      tell(current, shown)
      commit()
    case .failure(let error):
      log.error(
        "alerts are not written; clients get changes only once they are", metadata: ["reason": "\(error.description)"])
      failure = error
      count()
      for completion in current.completions { completion(.failure(Self.unavailable)) }
      draft = current.followed(by: draft)
      guard !hasEnded else {
        for completion in draft.completions { completion(.failure(Self.unavailable)) }
        return
      }
      queue.asyncAfter(deadline: .now() + .milliseconds(Self.retryAfter)) { self.retry() }
    }
  }

  private func retry() {
    failure = nil
    count()
    commit()
  }

  /// Sends due deliveries to webhooks; their results are written like all changes.
  private func sendDue() {
    guard let outlet, failure == nil else { return }
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

  static var unavailable: ProtocolError {
    var error = ProtocolError(
      .unavailable, "the store could not be written, so it is not certain that this was done",
      hint: "ask again with the same key")
    error.retry = true
    error.retryAfterMilliseconds = 1_000
    return error
  }

  /// The store could not be read, or too many reads of it wait.
  static var unreadable: ProtocolError {
    var error = ProtocolError(.unavailable, "the store cannot be read at present", hint: "ask again in a second")
    error.retry = true
    error.retryAfterMilliseconds = 1_000
    return error
  }

  /// Shows owners and streams the state that was written.
  private func tell(_ current: Draft, _ shown: Shown) {
    for (id, owner, text) in shown.texts where entries[id] != nil {
      owners[owner]?.bytes += text.bytes.count - (entries[id]?.shown?.bytes.count ?? 0)
      entries[id]?.shown = text
    }
    outbox.written()
    for (owner, update) in updates(of: current, shown) { outlet?.publish(update, of: owner) }
    for completion in current.completions { completion(.success(())) }
    count()
    sendDue()
  }
}

extension AlertDesk.Draft {
  /// Joins a draft that could not be written with the one after it. Requests of the first no longer wait.
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
