import MarketData
import Portfolio

/// A portfolio as it is stored.
package struct StoredPortfolio: Sendable, Hashable {
  /// A transaction under its number.
  package struct Entry: Sendable, Hashable {
    /// Never used twice within the portfolio.
    package var number: Int64
    package var transaction: PortfolioTransaction

    package init(number: Int64, transaction: PortfolioTransaction) {
      self.number = number
      self.transaction = transaction
    }
  }

  /// Never used twice.
  package var id: Int64
  package var owner: String
  /// The name that its owner gave it.
  package var name: String
  package var currency: String
  package var method: CostMethod
  package var positions: [PortfolioContents.Position]
  /// In order of time; equal times by number.
  package var entries: [Entry]
  package var nextNumber: Int64
  /// Raised by every change, including changes of its transactions.
  package var revision: Int64
  package var created: Timestamp

  package init(
    id: Int64, owner: String, name: String, currency: String, method: CostMethod,
    positions: [PortfolioContents.Position] = [], entries: [Entry] = [], nextNumber: Int64 = 1, revision: Int64 = 1,
    created: Timestamp
  ) {
    self.id = id
    self.owner = owner
    self.name = name
    self.currency = currency
    self.method = method
    self.positions = positions
    self.entries = entries
    self.nextNumber = nextNumber
    self.revision = revision
    self.created = created
  }

  /// Inserts a transaction in its order. O(transactions).
  package mutating func insert(_ entry: Entry) {
    let time = entry.transaction.time
    let index = entries.firstIndex { ($0.transaction.time, $0.number) > (time, entry.number) } ?? entries.count
    entries.insert(entry, at: index)
  }
}

/// An idempotency key of a request that makes a portfolio or a transaction, and what it made.
package struct StoredPortfolioKey: Sendable, Hashable {
  package var owner: String
  package var key: String
  /// The digest of the request: another request with the same key is a mistake.
  package var digest: [UInt8]
  package var portfolio: Int64
  /// The number of the transaction; nil: the request made the portfolio.
  package var number: Int64?
  package var time: Timestamp

  package init(owner: String, key: String, digest: [UInt8], portfolio: Int64, number: Int64?, time: Timestamp) {
    self.owner = owner
    self.key = key
    self.digest = digest
    self.portfolio = portfolio
    self.number = number
    self.time = time
  }
}
