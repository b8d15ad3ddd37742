import Bytes
import MarketData

/// A transaction with one asset of a portfolio. Sums of money are in the portfolio's currency.
package struct PortfolioTransaction: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    case buy, sell, deposit, withdrawal
    /// A quantity of the asset that was paid as a fee.
    case fee
  }

  package var kind: Kind
  package var asset: String
  /// Above 0.
  package var quantity: Decimal64
  /// The price of one unit. Required for buys and sells; for a deposit, the cost of a unit if it is known.
  package var price: Decimal64?
  /// The additional fee in money, 0 or more.
  package var fee: Decimal64?
  package var time: Timestamp

  package init(
    _ kind: Kind, _ asset: String, quantity: Decimal64, price: Decimal64? = nil, fee: Decimal64? = nil, time: Timestamp
  ) {
    self.kind = kind
    self.asset = asset
    self.quantity = quantity
    self.price = price
    self.fee = fee
    self.time = time
  }
}

/// Which of the bought units are sold first.
package enum CostMethod: String, Sendable, Hashable, CaseIterable {
  /// All units have the mean cost.
  case average
  /// The oldest.
  case fifo
}

/// Why a transaction was refused.
package enum LedgerError: Error, Sendable, Equatable {
  /// The quantity is not above 0, the price or a fee is below 0, or a buy or sell has no price.
  case invalid(field: String, reason: String)
  /// The transaction removes more than there is.
  case oversold(asset: String)
  /// A result has more than 77 digits.
  case overflow
}

/// A portfolio's quantity, cost and realised profit of one asset: the sum of its transactions in their order.
///
/// The sums are exact, except the cost of a part of a purchase, which is rounded half to even to 18 digits after the
/// point. The remainder stays with the other part, so nothing is lost over a series of sales.
package struct AssetLedger: Sendable, Hashable {
  struct Lot: Sendable, Hashable {
    var quantity: WideDecimal
    var cost: WideDecimal
  }

  /// The digits after the point of a partial cost.
  package static let costDigits = 18

  package let asset: String
  package let method: CostMethod
  /// The asset is the portfolio's currency: a unit costs 1.
  package let isCurrency: Bool
  package private(set) var quantity = WideDecimal.zero
  /// The cost of the quantity, fees included.
  package private(set) var cost = WideDecimal.zero
  /// The proceeds of sales minus fees and minus the cost of the sold units.
  package private(set) var realised = WideDecimal.zero
  /// Fees in money.
  package private(set) var fees = WideDecimal.zero
  /// Units of a deposit without a price remain, so `cost` is too low.
  package private(set) var isCostKnown = true
  /// Units of unknown cost were sold.
  package private(set) var isRealisedKnown = true
  /// The oldest first.
  private var lots: [Lot] = []
  private var firstLot = 0

  package init(asset: String, currency: String, method: CostMethod) {
    self.asset = asset
    self.method = method
    isCurrency = asset == currency
  }

  /// - Throws: an error; then nothing has changed.
  package mutating func apply(_ transaction: PortfolioTransaction) throws(LedgerError) {
    try Self.validate(transaction)
    var new = self
    do {
      try new.add(transaction)
    } catch .ledger(let error) {
      throw error
    } catch {
      throw .overflow
    }
    self = new
  }

  /// Applies a transaction without a backup copy: after an error the ledger is invalid. Amortised O(1).
  fileprivate mutating func applyInPlace(_ transaction: PortfolioTransaction) throws(LedgerError) {
    try Self.validate(transaction)
    do {
      try add(transaction)
    } catch .ledger(let error) {
      throw error
    } catch {
      throw .overflow
    }
  }

  /// - Throws: `.invalid`.
  package static func validate(_ transaction: PortfolioTransaction) throws(LedgerError) {
    guard transaction.quantity.mantissa > 0 else { throw .invalid(field: "quantity", reason: "above 0") }
    guard transaction.price?.mantissa ?? 0 >= 0 else { throw .invalid(field: "price", reason: "0 or more") }
    guard transaction.fee?.mantissa ?? 0 >= 0 else { throw .invalid(field: "fee", reason: "0 or more") }
    if transaction.kind == .buy || transaction.kind == .sell, transaction.price == nil {
      throw .invalid(field: "price", reason: "a \(transaction.kind.rawValue) needs the price of one unit")
    }
  }

  private enum Failure: Error {
    case ledger(LedgerError)
    case decimal
  }

  private mutating func add(_ transaction: PortfolioTransaction) throws(Failure) {
    let amount = WideDecimal(transaction.quantity)
    let fee = transaction.fee.map { WideDecimal($0) } ?? .zero
    fees = try Self.exact { () throws(WideDecimal.Failure) in try fees.plus(fee) }
    switch transaction.kind {
    case .buy, .deposit:
      let price = transaction.price.map { WideDecimal($0) } ?? (isCurrency ? WideDecimal(1) : nil)
      if price == nil { isCostKnown = false }
      try Self.exact { () throws(WideDecimal.Failure) in
        let paid = try (price ?? .zero).times(amount).plus(fee)
        quantity = try quantity.plus(amount)
        cost = try cost.plus(paid)
        if method == .fifo { lots.append(Lot(quantity: amount, cost: paid)) }
      }
    case .sell, .withdrawal, .fee:
      let hadKnownCost = isCostKnown
      let removed = try remove(amount)
      try Self.exact { () throws(WideDecimal.Failure) in
        realised = try realised.minus(fee)
        switch transaction.kind {
        case .sell:
          let proceeds = try (transaction.price.map { WideDecimal($0) } ?? .zero).times(amount)
          realised = try realised.plus(proceeds).minus(removed)
        case .fee: realised = try realised.minus(removed)
        default: break
        }
      }
      if !hadKnownCost, transaction.kind != .withdrawal { isRealisedKnown = false }
    }
  }

  /// Removes units; returns their cost.
  private mutating func remove(_ amount: WideDecimal) throws(Failure) -> WideDecimal {
    let rest = try Self.exact { () throws(WideDecimal.Failure) in try quantity.minus(amount) }
    guard !rest.isBelowZero else { throw .ledger(.oversold(asset: asset)) }
    let removed: WideDecimal
    if rest.isZero {
      removed = cost
      lots = []
      firstLot = 0
      isCostKnown = true
    } else if method == .average {
      removed = try Self.part(of: cost, amount, quantity)
    } else {
      removed = try removeOldest(amount)
    }
    cost = try Self.exact { () throws(WideDecimal.Failure) in try cost.minus(removed) }
    quantity = rest
    return removed
  }

  private mutating func removeOldest(_ amount: WideDecimal) throws(Failure) -> WideDecimal {
    var wanted = amount
    var removed = WideDecimal.zero
    while !wanted.isZero {
      let lot = lots[firstLot]
      let left = try Self.exact { () throws(WideDecimal.Failure) in try lot.quantity.minus(wanted) }
      let isWhole = left.isBelowZero || left.isZero
      let taken = isWhole ? lot.cost : try Self.part(of: lot.cost, wanted, lot.quantity)
      try Self.exact { () throws(WideDecimal.Failure) in
        removed = try removed.plus(taken)
        lots[firstLot].quantity = left
        lots[firstLot].cost = try lot.cost.minus(taken)
        wanted = isWhole ? try wanted.minus(lot.quantity) : .zero
      }
      if isWhole { firstLot += 1 }
    }
    if firstLot > 64, firstLot > lots.count / 2 {
      lots.removeFirst(firstLot)
      firstLot = 0
    }
    return removed
  }

  private static func part(
    of cost: WideDecimal, _ amount: WideDecimal, _ whole: WideDecimal
  ) throws(Failure) -> WideDecimal {
    try exact { () throws(WideDecimal.Failure) in try cost.times(amount).divided(by: whole, digits: costDigits) }
  }

  private static func exact<T>(_ body: () throws(WideDecimal.Failure) -> T) throws(Failure) -> T {
    do { return try body() } catch { throw .decimal }
  }
}

/// The transactions of a portfolio, summed by asset.
package struct PortfolioLedger: Sendable, Hashable {
  package let currency: String
  package let method: CostMethod
  /// In the order of each asset's first transaction.
  package private(set) var assets: [AssetLedger] = []
  private var indices: [String: Int] = [:]

  package init(currency: String, method: CostMethod) {
    self.currency = currency
    self.method = method
  }

  /// Sums all transactions of a portfolio. O(transactions).
  /// - Parameter transactions: in the order of time.
  package init(
    currency: String, method: CostMethod, _ transactions: some Sequence<PortfolioTransaction>
  ) throws(LedgerError) {
    self.init(currency: currency, method: method)
    for transaction in transactions {
      let index: Int
      if let known = indices[transaction.asset] {
        index = known
      } else {
        index = assets.count
        indices[transaction.asset] = index
        assets.append(AssetLedger(asset: transaction.asset, currency: currency, method: method))
      }
      try assets[index].applyInPlace(transaction)
    }
  }

  /// Transactions are applied in order: the caller sorts them by time.
  /// - Throws: an error; then nothing has changed.
  package mutating func apply(_ transaction: PortfolioTransaction) throws(LedgerError) {
    if let index = indices[transaction.asset] { return try assets[index].apply(transaction) }
    var ledger = AssetLedger(asset: transaction.asset, currency: currency, method: method)
    try ledger.apply(transaction)
    indices[transaction.asset] = assets.count
    assets.append(ledger)
  }
}
