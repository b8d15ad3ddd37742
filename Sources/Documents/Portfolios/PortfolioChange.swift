import History
import MarketData
import Portfolio
import PubSub

/// The effect of an owner's request, which holds once the store has written it. A value.
struct PortfolioChange: Sendable {
  /// The most transactions of all portfolios: some 100 MB.
  static let transactionLimit = 500_000

  let id: Int64
  /// The portfolio as changed; nil: it was deleted.
  private(set) var portfolio: KeptPortfolio?
  private(set) var outcome: PortfolioDesk.Outcome
  private(set) var key: StoredPortfolioKey?
  private(set) var batch: PortfolioBatch

  /// Computes the effect on the portfolios of `shelf`. O(transactions of the portfolio).
  /// - Throws: why it is refused.
  init(
    _ call: PortfolioCall, on shelf: PortfolioShelf, _ limits: PortfolioDesk.Limits, now: Timestamp
  ) throws(ProtocolError) {
    var stored = try Self.subject(of: call, shelf, limits, now)
    id = stored.id
    batch = PortfolioBatch(now: now)
    guard let edit = try Self.edit(&stored, call.action, shelf, limits) else {
      batch.removed = [id]
      outcome = .removed(nil)
      return
    }
    stored.revision += 1
    let portfolio = try Self.summed(stored)
    self.portfolio = portfolio
    batch.heads = [stored]
    let isNew: Bool
    switch edit {
    case .head:
      isNew = stored.revision == 1
      outcome = .portfolio(portfolio, isNew: isNew)
    case .entry(let entry, let isFresh):
      isNew = isFresh
      batch.entries = [(id, entry)]
      outcome = .transaction(portfolio, entry, isNew: isNew)
    case .removal(let number):
      isNew = false
      batch.removedEntries = [(id, number)]
      outcome = .removed(portfolio)
    }
    guard let key = call.key, isNew else { return }
    var number: Int64?
    if case .entry(let entry, _) = edit { number = entry.number }
    let made = StoredPortfolioKey(
      owner: call.owner, key: key.text, digest: key.digest, portfolio: id, number: number, time: now)
    self.key = made
    batch.keys = [made]
  }

  private enum Edit {
    /// Of the portfolio's own fields, or a new portfolio.
    case head
    case entry(StoredPortfolio.Entry, isNew: Bool)
    case removal(Int64)
  }

  /// The portfolio that a request is about: a new one without a revision, or the owner's at the demanded revision.
  private static func subject(
    of call: PortfolioCall, _ shelf: PortfolioShelf, _ limits: PortfolioDesk.Limits, _ now: Timestamp
  ) throws(ProtocolError) -> StoredPortfolio {
    let stored: StoredPortfolio
    switch call.action {
    case .create(let form):
      try shelf.checkRoom(for: call.owner, limits)
      stored = StoredPortfolio(
        id: shelf.nextID, owner: call.owner, name: form.name ?? "", currency: form.currency ?? "",
        method: form.method ?? .average, positions: form.positions ?? [], revision: 0, created: now)
      if let unknown = call.unknownAsset { throw unknown.error }
    case .change(let id, _), .delete(let id), .add(let id, _), .replace(let id, _, _), .remove(let id, _):
      stored = try shelf.find(id, of: call.owner).stored
      try DocumentKind.portfolio.check(call.revision, isAt: stored.revision)
    }
    // A market may be gone since: what a portfolio has stays writable.
    if let (name, error) = call.unknownAsset, name != stored.currency,
      !stored.entries.contains(where: { $0.transaction.asset == name })
    {
      throw error
    }
    return stored
  }

  /// Changes a portfolio; nil: it is deleted.
  private static func edit(
    _ stored: inout StoredPortfolio, _ action: PortfolioCall.Action, _ shelf: PortfolioShelf,
    _ limits: PortfolioDesk.Limits
  ) throws(ProtocolError) -> Edit? {
    switch action {
    case .create: return .head
    case .delete: return nil
    case .change(_, let form):
      stored.name = form.name ?? stored.name
      stored.currency = form.currency ?? stored.currency
      stored.method = form.method ?? stored.method
      stored.positions = form.positions ?? stored.positions
      return .head
    case .add(_, let transaction):
      guard stored.entries.count < limits.transactions, shelf.transactions < transactionLimit else {
        throw ProtocolError(
          .tooManyPortfolios, "the portfolio already has \(stored.entries.count) transactions",
          hint: "a portfolio has at most \(limits.transactions); sum old ones up")
      }
      let entry = StoredPortfolio.Entry(number: stored.nextNumber, transaction: transaction)
      stored.nextNumber += 1
      stored.insert(entry)
      return .entry(entry, isNew: true)
    case .replace(_, let number, let transaction):
      try remove(number, from: &stored)
      let entry = StoredPortfolio.Entry(number: number, transaction: transaction)
      stored.insert(entry)
      return .entry(entry, isNew: false)
    case .remove(_, let number):
      try remove(number, from: &stored)
      return .removal(number)
    }
  }

  private static func remove(_ number: Int64, from stored: inout StoredPortfolio) throws(ProtocolError) {
    guard let index = stored.entries.firstIndex(where: { $0.number == number }) else {
      throw PortfolioCall.unknownTransaction(number)
    }
    stored.entries.remove(at: index)
  }

  private static func summed(_ stored: StoredPortfolio) throws(ProtocolError) -> KeptPortfolio {
    let portfolio: KeptPortfolio
    do throws(LedgerError) { portfolio = try KeptPortfolio(stored) } catch {
      throw PortfolioCall.refusal(PortfolioFormError(error))
    }
    guard portfolio.ledger.assets.count <= PortfolioContents.holdingLimit else {
      throw ProtocolError(
        .tooManyPortfolios, "a portfolio has at most \(PortfolioContents.holdingLimit) assets",
        hint: "make a second portfolio")
    }
    return portfolio
  }

  /// Adds all that an empty file must have, the change last.
  mutating func addEverything(_ shelf: PortfolioShelf, _ keys: RequestKeys<StoredPortfolioKey>) {
    let others = shelf.all.filter { $0.id != id }
    batch.heads = others + batch.heads
    batch.entries = (others + [portfolio?.stored].compactMap(\.self)).flatMap { portfolio in
      portfolio.entries.map { (portfolio.id, $0) }
    }
    batch.keys = keys.all + batch.keys
    batch.nextID = shelf.nextID
  }
}
