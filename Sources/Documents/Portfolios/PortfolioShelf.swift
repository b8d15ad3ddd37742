import History
import PubSub

/// The portfolios of all owners, as the store has them. A value.
struct PortfolioShelf {
  private var portfolios: [Int64: KeptPortfolio] = [:]
  /// The ids of an owner's portfolios, oldest first.
  private var owners: [String: [Int64]] = [:]
  /// Greater than every id so far: none is used twice.
  private(set) var nextID: Int64
  /// Of all portfolios.
  private(set) var transactions = 0

  init(nextID: Int64 = 1) { self.nextID = nextID }

  var count: Int { portfolios.count }

  /// Everything, by id.
  var all: [StoredPortfolio] { portfolios.values.map(\.stored).sorted { $0.id < $1.id } }

  subscript(id: Int64) -> KeptPortfolio? { portfolios[id] }

  /// An owner's portfolios, oldest first.
  func portfolios(of owner: String) -> [KeptPortfolio] { (owners[owner] ?? []).compactMap { portfolios[$0] } }

  func find(_ id: Int64, of owner: String) throws(ProtocolError) -> KeptPortfolio {
    guard let portfolio = portfolios[id], portfolio.stored.owner == owner else {
      throw DocumentKind.portfolio.unknown(String(id))
    }
    return portfolio
  }

  /// Refuses a portfolio beyond the limits of its owner or of the gateway.
  func checkRoom(for owner: String, _ limits: PortfolioDesk.Limits) throws(ProtocolError) {
    guard owners[owner]?.count ?? 0 < limits.perOwner else {
      throw ProtocolError(
        .tooManyPortfolios, "you already have \(limits.perOwner) portfolios, the limit", hint: "delete one first")
    }
    guard count < limits.total else {
      throw ProtocolError(.tooManyPortfolios, "this gateway already has \(limits.total) portfolios, its limit")
    }
  }

  /// Adds a portfolio, or replaces it.
  mutating func put(_ portfolio: KeptPortfolio) {
    let stored = portfolio.stored
    transactions += stored.entries.count - (portfolios[stored.id]?.stored.entries.count ?? 0)
    if portfolios.updateValue(portfolio, forKey: stored.id) == nil {
      owners[stored.owner, default: []].append(stored.id)
    }
    nextID = max(nextID, stored.id + 1)
  }

  mutating func remove(_ id: Int64) {
    guard let old = portfolios.removeValue(forKey: id) else { return }
    transactions -= old.stored.entries.count
    owners[old.stored.owner]?.removeAll { $0 == id }
    if owners[old.stored.owner]?.isEmpty == true { owners[old.stored.owner] = nil }
  }
}
