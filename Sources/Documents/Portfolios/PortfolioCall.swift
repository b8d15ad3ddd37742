import Bytes
import History
import MarketData
import Portfolio
import PubSub
import Transport

/// An owner's request about its portfolios, parsed and checked as far as a loop can; the desk checks the rest.
package struct PortfolioCall: Sendable {
  package enum Action: Sendable {
    case create(Form)
    case change(Int64, Form)
    case delete(Int64)
    case add(Int64, PortfolioTransaction)
    case replace(Int64, Int64, PortfolioTransaction)
    case remove(Int64, Int64)
  }

  /// The fields of a portfolio in a body; nil: unchanged.
  package struct Form: Sendable {
    var name: String?
    var currency: String?
    var method: CostMethod?
    var positions: [PortfolioContents.Position]?
  }

  package var owner: String
  package var action: Action
  /// The revision that the portfolio must be at; nil: any.
  package var revision: Int64?
  /// An idempotency key: a repeated request makes no second portfolio or transaction.
  package var key: RequestKey?
  /// Why an asset that the request names is refused, unless the portfolio already has it.
  package var unknownAsset: (name: String, error: ProtocolError)?

  package init(owner: String, action: Action, revision: Int64?, key: RequestKey? = nil) {
    (self.owner, self.action, self.revision, self.key) = (owner, action, revision, key)
  }

  /// The asset or currency that the request writes into a portfolio.
  package var asset: (field: String, name: String)? {
    switch action {
    case .create(let form), .change(_, let form): form.currency.map { ("currency", $0) }
    case .add(_, let transaction), .replace(_, _, let transaction): ("asset", transaction.asset)
    case .delete, .remove: nil
    }
  }

  /// The id that a text names; nil if it names nothing.
  package static func id(_ text: some StringProtocol) -> Int64? {
    guard let id = Int64(text), id > 0, String(id) == text else { return nil }
    return id
  }

  package static func unknownTransaction(_ number: Int64) -> ProtocolError {
    ProtocolError(
      .unknownPortfolio, "the portfolio has no transaction \(number)",
      hint: "GET /v1/portfolios/{id}/transactions lists them")
  }

  /// Reads the body of a portfolio.
  /// - Parameter isWhole: whether the body describes a whole portfolio, which needs a name and a currency.
  package static func form(_ body: [UInt8], isWhole: Bool) throws(ProtocolError) -> Form {
    let known = ["name", "currency", "method", "positions"]
    var form = Form()
    do {
      var json = JSONScanner(body.span.bytes)
      try json.objectStart()
      while let key = try json.nextKey() {
        let field = try json.decoded(key)
        guard known.contains(field) else {
          throw ProtocolError(
            .invalidPortfolio, "`\(field.prefix(40))` is not a field",
            hint: "fields: \(known.joined(separator: ", "))")
        }
        if field == "positions" {
          let slice = try json.rawValue()
          form.positions = try positions(json.text(slice))
          continue
        }
        guard json.peek() == .string else { throw ProtocolError(.invalidPortfolio, "`\(field)` must be a string") }
        let slice = try json.string()
        let text = try json.decoded(slice)
        switch field {
        case "name": form.name = text
        case "currency": form.currency = text
        default:
          guard let method = CostMethod(rawValue: text) else {
            throw ProtocolError(.invalidPortfolio, "`method` is \(text.prefix(20))", hint: "average or fifo")
          }
          form.method = method
        }
      }
      try json.end()
    } catch let error as ProtocolError {
      throw error
    } catch {
      throw ProtocolError(
        .badRequest, "the body is not the JSON object that is expected",
        hint: "{\"name\":\"Savings\",\"currency\":\"EUR\",\"method\":\"fifo\"}")
    }
    try DocumentKind.portfolio.check(name: form.name)
    if let currency = form.currency, !PortfolioContents.isAsset(currency) {
      throw ProtocolError(.invalidPortfolio, "`currency` is not an asset", hint: "as in symbols: EUR, USD, BTC")
    }
    guard !isWhole || (form.name != nil && form.currency != nil) else {
      throw ProtocolError(
        .invalidPortfolio, "`name` and `currency` are both needed",
        hint: "{\"name\":\"Savings\",\"currency\":\"EUR\",\"method\":\"fifo\"}")
    }
    if isWhole {
      form.method = form.method ?? .average
      form.positions = form.positions ?? []
    }
    return form
  }

  private static func positions(_ text: RawSpan) throws(ProtocolError) -> [PortfolioContents.Position] {
    do throws(PortfolioFormError) { return try PortfolioForm.positions(text) } catch { throw refusal(error) }
  }

  package static func transaction(_ body: [UInt8], now: Timestamp) throws(ProtocolError) -> PortfolioTransaction {
    do throws(PortfolioFormError) {
      let transaction = try PortfolioForm.transaction(body.span.bytes, now: now)
      do throws(LedgerError) { try AssetLedger.validate(transaction) } catch { throw PortfolioFormError(error) }
      return transaction
    } catch {
      throw refusal(error)
    }
  }

  static func refusal(_ error: PortfolioFormError) -> ProtocolError {
    ProtocolError(.invalidPortfolio, "`\(error.field)`: \(error.reason)")
  }
}

extension PortfolioFormError {
  init(_ error: LedgerError) {
    switch error {
    case .invalid(let field, let reason): self.init(field, reason)
    case .oversold(let asset): self.init("quantity", "more \(asset) leaves the portfolio than it held at that time")
    case .overflow: self.init("quantity", "the portfolio would have numbers of more than 77 digits")
    }
  }
}

/// A portfolio with the sums of its transactions.
package struct KeptPortfolio: Sendable {
  package var stored: StoredPortfolio
  package var ledger: PortfolioLedger

  /// Sums the transactions. O(transactions).
  init(_ stored: StoredPortfolio) throws(LedgerError) {
    self.stored = stored
    ledger = try PortfolioLedger(
      currency: stored.currency, method: stored.method, stored.entries.lazy.map(\.transaction))
  }

  /// The entity tag, quotes included.
  package var tag: String { RevisionTag.text(stored.revision) }

  package var contents: PortfolioContents {
    PortfolioContents(currency: stored.currency, positions: stored.positions)
  }

  /// The beginning of the portfolio's value as JSON.
  package var head: String {
    var out = ByteBuffer()
    appendName(to: &out)
    return out.description
  }

  private func appendName(to out: inout ByteBuffer) {
    out.append("\"portfolio\":\"")
    out.append(integer: stored.id)
    out.append("\",\"name\":")
    out.append(json: stored.name)
    out.append(",\"revision\":")
    out.append(integer: stored.revision)
    out.append(UInt8(ascii: ","))
  }

  /// Appends `{"id":…,"name":…,…}`.
  /// - Parameter isWhole: whether to include positions and holdings.
  package func append(to out: inout ByteBuffer, isWhole: Bool) {
    out.appendObject { writer in
      writer.field("id", String(stored.id))
      writer.field("name", stored.name)
      writer.field("currency", stored.currency)
      writer.field("method", stored.method.rawValue)
      writer.field("created", stored.created.microseconds)
      writer.field("revision", stored.revision)
      writer.field("transactions", Int64(stored.entries.count))
      guard isWhole else { return }
      writer.value("positions") { stored.positions.append(to: &$0) }
      writer.array("holdings") { writer in
        for asset in ledger.assets {
          writer.object { writer in
            writer.field("asset", asset.asset)
            writer.field("quantity", quoted: { asset.quantity.append(to: &$0) })
            if asset.isCostKnown {
              writer.field("cost", quoted: { asset.cost.rounded(Valuation.digits).append(to: &$0) })
            }
            if asset.isRealisedKnown {
              writer.field("realised", quoted: { asset.realised.rounded(Valuation.digits).append(to: &$0) })
            }
            writer.field("fees", quoted: { asset.fees.append(to: &$0) })
          }
        }
      }
    }
  }
}
