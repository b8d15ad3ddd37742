import Bytes
import Dispatch
import History
import Logging
import MarketData
import Portfolio
import PubSub
import Synchronization
import Transport

/// Stores the portfolios of all owners, and values those that streams show.
///
/// It has a queue of its own, so that no loop waits for arithmetic or for a disk. Requests are executed one after the
/// other. A change takes effect when it is in the file, or at once without a file.
package final class PortfolioDesk: @unchecked Sendable {
  // `@unchecked`: all state but the constants and what a `Mutex` guards is touched on `queue` only, which
  // `assertOnQueue` checks at each entrance.

  package struct Limits: Sendable, Equatable {
    /// The most portfolios of all owners.
    package var total = 10_000
    /// The most portfolios of one owner.
    package var perOwner = 20
    /// The most transactions of one portfolio.
    package var transactions = 1_000

    package init() {}
  }

  /// The most transactions of all portfolios: some 100 MB.
  static let transactionLimit = 500_000
  /// Requests that may wait for the one before.
  static let waitingLimit = 1_024
  static let keyLifetime = StoredRequestKey.lifetime

  /// The outcome of a request.
  package enum Outcome: Sendable {
    case portfolio(KeptPortfolio, isNew: Bool)
    case transaction(KeptPortfolio, StoredPortfolio.Entry, isNew: Bool)
    case removed(KeptPortfolio?)
  }

  package typealias Answer<Value> = Result<Value, ProtocolError>

  private struct Waiting {
    var call: PortfolioCall
    var reply: @Sendable (Answer<Outcome>) -> Void
  }

  /// The effect of a request, which holds once the store has written it.
  private struct Change {
    var batch: PortfolioBatch
    /// The changed portfolio; nil: it was deleted.
    var id: Int64
    var portfolio: KeptPortfolio?
    var key: StoredPortfolioKey?
    var outcome: Outcome
  }

  let limits: Limits
  let log: Logger
  let kernel: any Kernel
  private let store: PortfolioStore?
  let queue = DispatchQueue(label: "tidegate.portfolios")
  /// The owner of every portfolio.
  private let known = Mutex<[Int64: String]>([:])

  private(set) var portfolios: [Int64: KeptPortfolio] = [:]
  private var owners: [String: [Int64]] = [:]
  private var keys: [String: [String: StoredPortfolioKey]] = [:]
  private var nextID: Int64 = 1
  private var transactions = 0
  private var waiting: [Waiting] = []
  private var isWriting = false
  /// Damaged files that were set aside when everything was last written.
  private var filesSetAside = 0
  private var hasEnded = false

  var board = PortfolioBoard()
  var timer: (any DispatchSourceTimer)?
  /// Requests that need prices once; at most as many as there are requests under way.
  var oneShots: [OneShot] = []
  var isGathering = false
  var isGatheringSoon = false
  /// The gateway's loops; set once, by `start`.
  var outlet: (any PortfolioOutlet)?

  /// Loads the portfolios of a file. If the file cannot be read, only portfolios suffer: they are in memory for this
  /// run, and the log says so.
  package static func open(
    _ file: DataFile?, limits: Limits = Limits(), log: Logger, kernel: any Kernel = SystemKernel.shared
  ) -> PortfolioDesk {
    let store = file.map { PortfolioStore(file: $0) }
    do throws(DataFileError) {
      return PortfolioDesk(store, try store?.load() ?? .init(), limits: limits, log: log, kernel: kernel)
    } catch {
      log.error("portfolios are not kept in this run", metadata: ["reason": "\(error.description)"])
      return PortfolioDesk(nil, .init(), limits: limits, log: log, kernel: kernel)
    }
  }

  private init(
    _ store: PortfolioStore?, _ contents: PortfolioStore.Contents, limits: Limits, log: Logger, kernel: any Kernel
  ) {
    self.store = store
    self.limits = limits
    self.log = log
    self.kernel = kernel
    filesSetAside = store?.file.setAside.count ?? 0
    nextID = contents.nextID
    for (id, reason) in contents.unreadable {
      log.error("stored portfolio cannot be read: it is not served", metadata: ["id": "\(id)", "reason": "\(reason)"])
    }
    for stored in contents.portfolios {
      do throws(LedgerError) {
        put(try KeptPortfolio(stored), stored.id)
      } catch {
        log.error("stored portfolio cannot be served", metadata: ["id": "\(stored.id)", "reason": "\(error)"])
      }
    }
    for key in contents.keys { keys[key.owner, default: [:]][key.key] = key }
  }

  func assertOnQueue() { dispatchPrecondition(condition: .onQueue(queue)) }

  var now: Timestamp { Timestamp(microseconds: kernel.wallMicroseconds()) }

  /// Whether portfolios survive a restart.
  package var isKept: Bool { store != nil }

  /// Whether an owner has a portfolio. From any loop.
  package func exists(_ text: String, of owner: String) -> Bool {
    guard let id = PortfolioCall.id(text) else { return false }
    return known.withLock { $0[id] == owner }
  }

  // MARK: Reading

  /// An owner's portfolios, oldest first: `{"kept":true,"portfolios":[…],"limit":20}`.
  package func list(_ owner: String, reply: @escaping @Sendable ([UInt8]) -> Void) {
    queue.async { [self] in
      var out = ByteBuffer(capacity: 1024)
      out.append(isKept ? "{\"kept\":true,\"portfolios\":[" : "{\"kept\":false,\"portfolios\":[")
      for (index, id) in (owners[owner] ?? []).enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        portfolios[id]?.append(to: &out, isWhole: false)
      }
      out.append("],\"limit\":")
      out.append(integer: Int64(limits.perOwner))
      out.append("}")
      reply(out.takeBytes())
    }
  }

  /// Calls `body` with a portfolio of the owner, on the desk's queue.
  package func read(_ text: String, of owner: String, body: @escaping @Sendable (Answer<KeptPortfolio>) -> Void) {
    queue.async { [self] in
      do throws(ProtocolError) {
        guard let id = PortfolioCall.id(text) else { throw PortfolioCall.unknown(text) }
        body(.success(try find(id, of: owner)))
      } catch {
        body(.failure(error))
      }
    }
  }

  func find(_ id: Int64, of owner: String) throws(ProtocolError) -> KeptPortfolio {
    guard let portfolio = portfolios[id], portfolio.stored.owner == owner else {
      throw PortfolioCall.unknown(String(id))
    }
    return portfolio
  }

  // MARK: Changing

  /// Performs a request, and answers when it is in the store. Calls `reply` on the desk's queue.
  package func perform(_ call: PortfolioCall, reply: @escaping @Sendable (Answer<Outcome>) -> Void) {
    queue.async { [self] in
      guard waiting.count < Self.waitingLimit, !hasEnded else { return reply(.failure(Self.unavailable)) }
      waiting.append(Waiting(call: call, reply: reply))
      carryOn()
    }
  }

  private func carryOn() {
    assertOnQueue()
    while !isWriting, !waiting.isEmpty {
      let next = waiting.removeFirst()
      do throws(ProtocolError) {
        if let outcome = try repeated(next.call) {
          next.reply(.success(outcome))
        } else {
          write(try change(for: next.call), next.reply)
        }
      } catch {
        next.reply(.failure(error))
      }
    }
  }

  /// The result of an earlier request with the same key; nil: there was none.
  private func repeated(_ call: PortfolioCall) throws(ProtocolError) -> Outcome? {
    guard let key = call.key, let known = keys[call.owner]?[key], now - known.time < Self.keyLifetime else {
      return nil
    }
    guard known.digest == call.digest else {
      throw ProtocolError(
        .keyReused, "this key was used for another request", hint: "give every new request a key of its own")
    }
    let portfolio = try find(known.portfolio, of: call.owner)
    guard let number = known.number else { return .portfolio(portfolio, isNew: false) }
    guard let entry = portfolio.stored.entries.first(where: { $0.number == number }) else {
      throw PortfolioCall.unknownTransaction(number)
    }
    return .transaction(portfolio, entry, isNew: false)
  }

  private func change(for call: PortfolioCall) throws(ProtocolError) -> Change {
    var batch = PortfolioBatch(now: now)
    var stored: StoredPortfolio
    var entry: StoredPortfolio.Entry?
    var isNew = false
    switch call.action {
    case .create(let form):
      try checkRoom(for: call.owner)
      if let unknown = call.unknownAsset { throw unknown.error }
      stored = StoredPortfolio(
        id: nextID, owner: call.owner, name: form.name ?? "", currency: form.currency ?? "",
        method: form.method ?? .average, positions: form.positions ?? [], revision: 0, created: now)
      isNew = true
    case .change(let id, _), .delete(let id), .add(let id, _), .replace(let id, _, _), .remove(let id, _):
      stored = try find(id, of: call.owner).stored
      if let revision = call.revision, revision != stored.revision {
        throw ProtocolError(
          .changed, "the portfolio is at revision \(stored.revision) and not \(revision)",
          hint: "read it again, and change what is there now")
      }
    }
    // A market may be gone since: what a portfolio has stays writable.
    if let (name, error) = call.unknownAsset, name != stored.currency,
      !stored.entries.contains(where: { $0.transaction.asset == name })
    {
      throw error
    }
    switch call.action {
    case .create: break
    case .delete(let id):
      batch.removed = [id]
      return Change(batch: batch, id: id, portfolio: nil, outcome: .removed(nil))
    case .change(_, let form):
      stored.name = form.name ?? stored.name
      stored.currency = form.currency ?? stored.currency
      stored.method = form.method ?? stored.method
      stored.positions = form.positions ?? stored.positions
    case .add(_, let transaction):
      guard stored.entries.count < limits.transactions, transactions < Self.transactionLimit else {
        throw ProtocolError(
          .tooManyPortfolios, "the portfolio already has \(stored.entries.count) transactions",
          hint: "a portfolio has at most \(limits.transactions); sum old ones up")
      }
      entry = StoredPortfolio.Entry(number: stored.nextNumber, transaction: transaction)
      stored.nextNumber += 1
      isNew = true
    case .replace(_, let number, let transaction):
      try Self.remove(number, from: &stored)
      entry = StoredPortfolio.Entry(number: number, transaction: transaction)
    case .remove(_, let number):
      try Self.remove(number, from: &stored)
      batch.removedEntries = [(stored.id, number)]
    }
    if let entry {
      stored.insert(entry)
      batch.entries = [(stored.id, entry)]
    }
    stored.revision += 1
    let portfolio: KeptPortfolio
    do throws(LedgerError) { portfolio = try KeptPortfolio(stored) } catch {
      throw PortfolioCall.refusal(PortfolioFormError(error))
    }
    guard portfolio.ledger.assets.count <= PortfolioContents.holdingLimit else {
      throw ProtocolError(
        .tooManyPortfolios, "a portfolio has at most \(PortfolioContents.holdingLimit) assets",
        hint: "make a second portfolio")
    }
    batch.heads = [stored]
    var change = Change(batch: batch, id: stored.id, portfolio: portfolio, outcome: .portfolio(portfolio, isNew: isNew))
    if let entry { change.outcome = .transaction(portfolio, entry, isNew: isNew) }
    if case .remove = call.action { change.outcome = .removed(portfolio) }
    if let key = call.key, isNew {
      let made = StoredPortfolioKey(
        owner: call.owner, key: key, digest: call.digest, portfolio: stored.id, number: entry?.number, time: now)
      change.key = made
      change.batch.keys = [made]
    }
    return change
  }

  private static func remove(_ number: Int64, from stored: inout StoredPortfolio) throws(ProtocolError) {
    guard let index = stored.entries.firstIndex(where: { $0.number == number }) else {
      throw PortfolioCall.unknownTransaction(number)
    }
    stored.entries.remove(at: index)
  }

  private func checkRoom(for owner: String) throws(ProtocolError) {
    guard owners[owner]?.count ?? 0 < limits.perOwner else {
      throw ProtocolError(
        .tooManyPortfolios, "you already have \(limits.perOwner) portfolios, the limit", hint: "delete one first")
    }
    guard portfolios.count < limits.total else {
      throw ProtocolError(.tooManyPortfolios, "this gateway already has \(limits.total) portfolios, its limit")
    }
  }

  // MARK: The store

  private func write(_ change: Change, _ reply: @escaping @Sendable (Answer<Outcome>) -> Void) {
    guard let store else {
      apply(change)
      return reply(.success(change.outcome))
    }
    var batch = change.batch
    let setAside = store.file.setAside.count
    if setAside != filesSetAside {
      // The file was damaged and replaced by an empty one: everything must be written again, the change last.
      let others = portfolios.values.map(\.stored).filter { $0.id != change.id }.sorted { $0.id < $1.id }
      batch.heads = others + batch.heads
      batch.entries = others.flatMap { portfolio in portfolio.entries.map { (portfolio.id, $0) } }
      if let whole = change.portfolio?.stored { batch.entries += whole.entries.map { (whole.id, $0) } }
      batch.keys =
        keys.values.flatMap(\.values).sorted { ($0.time, $0.owner, $0.key) < ($1.time, $1.owner, $1.key) }
        + batch.keys
    }
    isWriting = true
    let isTaken = store.submit(batch) { [self] result in
      queue.async { self.written(change, result, setAside, reply) }
    }
    if !isTaken { written(change, .failure(.busy(path: store.file.path)), setAside, reply) }
  }

  private func written(
    _ change: Change, _ result: Result<Void, DataFileError>, _ setAside: Int,
    _ reply: @Sendable (Answer<Outcome>) -> Void
  ) {
    assertOnQueue()
    isWriting = false
    switch result {
    case .success:
      filesSetAside = setAside
      apply(change)
      reply(.success(change.outcome))
    case .failure(let error):
      log.error("a portfolio is not written", metadata: ["reason": "\(error.description)"])
      reply(.failure(Self.unavailable))
    }
    queue.async { self.carryOn() }
  }

  private func apply(_ change: Change) {
    if let portfolio = change.portfolio { put(portfolio, change.id) } else { remove(change.id) }
    if let key = change.key {
      keys[key.owner, default: [:]][key.key] = key
      forgetOldKeys(of: key.owner)
    }
    portfolioChanged(change.id)
  }

  private func put(_ portfolio: KeptPortfolio, _ id: Int64) {
    let owner = portfolio.stored.owner
    transactions += portfolio.stored.entries.count - (portfolios[id]?.stored.entries.count ?? 0)
    if portfolios.updateValue(portfolio, forKey: id) == nil { owners[owner, default: []].append(id) }
    nextID = max(nextID, id + 1)
    known.withLock { $0[id] = owner }
  }

  private func remove(_ id: Int64) {
    guard let old = portfolios.removeValue(forKey: id) else { return }
    transactions -= old.stored.entries.count
    owners[old.stored.owner]?.removeAll { $0 == id }
    if owners[old.stored.owner]?.isEmpty == true { owners[old.stored.owner] = nil }
    known.withLock { $0[id] = nil }
  }

  /// Forgets the oldest key beyond the limit, as the store does.
  private func forgetOldKeys(of owner: String) {
    guard let all = keys[owner], all.count > StoredRequestKey.limitOfOwner,
      let oldest = all.values.min(by: { ($0.time, $0.key) < ($1.time, $1.key) })
    else { return }
    keys[owner]?[oldest.key] = nil
  }

  static var unavailable: ProtocolError {
    var error = ProtocolError(
      .unavailable, "the store could not be written, so it is not certain that this was done",
      hint: "ask again with the same key")
    error.retry = true
    error.retryAfterMilliseconds = 1_000
    return error
  }

  /// Begins to value the portfolios of streams.
  package func start(_ outlet: any PortfolioOutlet) {
    queue.async { [self] in
      guard !hasEnded else { return }
      self.outlet = outlet
      startTimer()
    }
  }

  /// Ends the desk and refuses waiting requests. Calls `completion` after the present write.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    let end = DispatchWorkItem { [self] in
      hasEnded = true
      timer?.cancel()
      timer = nil
      outlet = nil
      for item in waiting { item.reply(.failure(Self.unavailable)) }
      waiting = []
      guard let store, isWriting else { return completion() }
      if !store.submit(PortfolioBatch(now: now), completion: { _ in completion() }) { completion() }
    }
    // Without a file there is nothing to wait for. A gateway on a simulated network must end in simulated time.
    if store == nil { queue.sync(execute: end) } else { queue.async(execute: end) }
  }
}
