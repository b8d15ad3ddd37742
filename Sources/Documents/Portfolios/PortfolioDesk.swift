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

  /// The outcome of a request.
  package enum Outcome: Sendable {
    case portfolio(KeptPortfolio, isNew: Bool)
    case transaction(KeptPortfolio, StoredPortfolio.Entry, isNew: Bool)
    case removed(KeptPortfolio?)
  }

  package typealias Answer<Value> = Result<Value, ProtocolError>

  private struct Waiting: Sendable {
    var call: PortfolioCall
    var reply: @Sendable (Answer<Outcome>) -> Void
  }

  /// One change at a time is written: the next request begins with what it made.
  private struct Draft: WriteDraft {
    var change: PortfolioChange?
    var isEmpty: Bool { change == nil }
  }

  let limits: Limits
  let context: DeskContext
  /// The owner of every portfolio.
  private let known = Mutex<[Int64: String]>([:])

  private(set) var shelf: PortfolioShelf
  private var keys: RequestKeys<StoredPortfolioKey>
  /// Requests that wait for the one before; at most `DataFile.submissionLimit`.
  private var waiting: [Waiting] = []
  private var writes: DocumentQueue<Draft>

  var board = PortfolioBoard()
  var prices = PriceRequests()
  var timer = DeskTimer()
  /// The gateway's loops; nil before `start` and after the end.
  private(set) var outlet: (any PortfolioOutlet)?

  /// Loads the portfolios of a file. If the file cannot be read, only portfolios suffer: they are in memory for this
  /// run, and the log says so.
  package static func open(
    _ file: DataFile?, limits: Limits = Limits(), log: Logger, kernel: any Kernel = SystemKernel.shared
  ) -> PortfolioDesk {
    let (context, contents) = DeskContext.open("tidegate.portfolios", file, log: log, kernel: kernel) {
      (file: DataFile) throws(DataFileError) in
      try PortfolioStore(file: file).load()
    } report: {
      log.error("portfolios are not kept in this run", metadata: ["reason": "\($0)"])
    }
    return PortfolioDesk(context, contents ?? .init(), limits: limits)
  }

  private init(_ context: DeskContext, _ contents: PortfolioStore.Contents, limits: Limits) {
    self.context = context
    self.limits = limits
    shelf = PortfolioShelf(nextID: contents.nextID)
    keys = RequestKeys(contents.keys)
    writes = DocumentQueue(context.file)
    let log = context.log
    for (id, reason) in contents.unreadable {
      log.error("stored portfolio cannot be read: it is not served", metadata: ["id": "\(id)", "reason": "\(reason)"])
    }
    for stored in contents.portfolios {
      do throws(LedgerError) {
        put(try KeptPortfolio(stored))
      } catch {
        log.error("stored portfolio cannot be served", metadata: ["id": "\(stored.id)", "reason": "\(error)"])
      }
    }
  }

  var queue: DispatchQueue { context.queue }

  /// Whether portfolios survive a restart.
  package var isKept: Bool { context.file != nil }

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
      for (index, portfolio) in shelf.portfolios(of: owner).enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        portfolio.append(to: &out, isWhole: false)
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
        guard let id = PortfolioCall.id(text) else { throw DocumentKind.portfolio.unknown(text) }
        body(.success(try shelf.find(id, of: owner)))
      } catch {
        body(.failure(error))
      }
    }
  }

  // MARK: Changing

  /// Performs a request, and answers when it is in the store. Calls `reply` on the desk's queue.
  package func perform(_ call: PortfolioCall, reply: @escaping @Sendable (Answer<Outcome>) -> Void) {
    queue.async { [self] in
      guard waiting.count < DataFile.submissionLimit, !writes.hasEnded else { return reply(.failure(.unwritten)) }
      waiting.append(Waiting(call: call, reply: reply))
      takeWaiting()
    }
  }

  private func takeWaiting() {
    context.assertOnQueue()
    while writes.isReady, !waiting.isEmpty {
      let next = waiting.removeFirst()
      do throws(ProtocolError) {
        if let outcome = try repeated(next.call) {
          next.reply(.success(outcome))
          continue
        }
        let change = try PortfolioChange(next.call, on: shelf, limits, now: context.now)
        writes.draft.change = change
        writes.wait { result in next.reply(result.map { change.outcome }) }
        commit()
      } catch {
        next.reply(.failure(error))
      }
    }
  }

  /// The result of an earlier request with the same key; nil: there was none.
  private func repeated(_ call: PortfolioCall) throws(ProtocolError) -> Outcome? {
    guard let known = try keys.made(by: call.key, of: call.owner, now: context.now) else { return nil }
    let portfolio = try shelf.find(known.portfolio, of: call.owner)
    guard let number = known.number else { return .portfolio(portfolio, isNew: false) }
    guard let entry = portfolio.stored.entries.first(where: { $0.number == number }) else {
      throw PortfolioCall.unknownTransaction(number)
    }
    return .transaction(portfolio, entry, isNew: false)
  }

  private func commit() {
    let transaction = writes.begin(context.file) { $0.change?.addEverything(shelf, keys) }
    guard let batch = transaction?.draft.change?.batch else { return }
    guard let file = context.file else { return written(.success(())) }
    context.submit {
      PortfolioStore(file: file).submit(batch, completion: $0)
    } ended: { [self] in
      written($0)
    }
  }

  private func written(_ result: Result<Void, DataFileError>) {
    context.assertOnQueue()
    guard let transaction = writes.end(isWritten: (try? result.get()) != nil) else { return }
    switch result {
    case .success:
      if let change = transaction.draft.change { apply(change) }
      transaction.answer(.success(()))
    case .failure(let error):
      context.log.error("a portfolio is not written", metadata: ["reason": "\(error.description)"])
      transaction.answer(.failure(.unwritten))
    }
    if writes.hasEnded { return writes.abandon().answer(.failure(.unwritten)) }
    queue.async { self.takeWaiting() }
  }

  private func apply(_ change: PortfolioChange) {
    if let portfolio = change.portfolio {
      put(portfolio)
    } else {
      shelf.remove(change.id)
      known.withLock { $0[change.id] = nil }
    }
    if let key = change.key { keys.keep(key) }
    portfolioChanged(change.id)
  }

  private func put(_ portfolio: KeptPortfolio) {
    shelf.put(portfolio)
    known.withLock { $0[portfolio.stored.id] = portfolio.stored.owner }
  }

  /// Begins to value the portfolios of streams.
  package func start(_ outlet: any PortfolioOutlet) {
    queue.async { [self] in
      guard !writes.hasEnded else { return }
      self.outlet = outlet
      startTimer()
    }
  }

  /// Ends the desk and refuses waiting requests. Calls `completion` after the present write.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    context.end { [self] in
      timer.cancel()
      outlet = nil
      writes.finish()
      for item in waiting { item.reply(.failure(.unwritten)) }
      waiting = []
      writes.wait { _ in completion() }
      if !writes.isWriting { writes.abandon().answer(.success(())) }
    }
  }
}
