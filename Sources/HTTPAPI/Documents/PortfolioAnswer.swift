import Bytes
import Documents
import HTTP1
import History
import MarketData
import Portfolio
import PubSub
import Transport

/// Answers `/v1/portfolios…`: an owner's portfolios, their transactions, values and curves.
struct PortfolioAnswer: RouteAnswer {
  /// The most transactions of one answer.
  static let pageLimit = 1_000

  let request: APIRequest
  /// The names in the path: the id, or the id and a transaction's number.
  private let names: [String]
  private var loops: any AnswerLoops { request.loops }
  private var desk: PortfolioDesk { request.documents.portfolios }

  init(_ request: APIRequest) {
    self.request = request
    names = request.names
  }

  // MARK: Changing

  func create() throws(RequestProblem) {
    try perform { () throws(ProtocolError) in .create(try PortfolioCall.form(request.body, isWhole: true)) }
  }

  func replace() throws(RequestProblem) {
    try perform { () throws(ProtocolError) in
      .change(try id(), try PortfolioCall.form(request.body, isWhole: true))
    }
  }

  func change() throws(RequestProblem) {
    try perform { () throws(ProtocolError) in
      .change(try id(), try PortfolioCall.form(request.body, isWhole: false))
    }
  }

  func delete() throws(RequestProblem) {
    try perform { () throws(ProtocolError) in .delete(try id()) }
  }

  func addTransaction() throws(RequestProblem) {
    try perform { () throws(ProtocolError) in .add(try id(), try sentTransaction()) }
  }

  func replaceTransaction() throws(RequestProblem) {
    try perform { () throws(ProtocolError) in .replace(try id(), try number(), try sentTransaction()) }
  }

  func removeTransaction() throws(RequestProblem) {
    try perform { () throws(ProtocolError) in .remove(try id(), try number()) }
  }

  private func perform(
    _ action: () throws(ProtocolError) -> PortfolioCall.Action
  ) throws(RequestProblem) {
    if request.route.change(request.head.method)?.body != nil { try request.checkType() }
    try request.pay()
    let call: PortfolioCall
    do throws(ProtocolError) {
      call = try self.call(try action())
    } catch {
      throw RequestProblem(error)
    }
    let later = request.later()
    desk.perform(call) { answer in later(answer.map(Self.response)) }
  }

  private func call(_ action: PortfolioCall.Action) throws(ProtocolError) -> PortfolioCall {
    var call = PortfolioCall(owner: request.owner, action: action, revision: try request.revision(of: .portfolio))
    if let (field, name) = call.asset, let mistake = loops.hub.directory.mistake(inAsset: name) {
      let error = ProtocolError(
        .invalidPortfolio, "`\(field)`: there is no asset `\(name.prefix(24))` here", hint: mistake.hint)
      call.unknownAsset = (name, error)
    }
    call.key = try request.key().map {
      RequestKey($0, digest: Digest.sha256(Array(request.head.path.utf8) + [0] + request.body))
    }
    return call
  }

  private func sentTransaction() throws(ProtocolError) -> PortfolioTransaction {
    try PortfolioCall.transaction(request.body, now: loops.now())
  }

  private func id() throws(ProtocolError) -> Int64 {
    guard let id = PortfolioCall.id(names[0]) else { throw DocumentKind.portfolio.unknown(names[0]) }
    return id
  }

  private func number() throws(ProtocolError) -> Int64 {
    guard names.count > 1, let number = PortfolioCall.id(names[1]) else {
      throw PortfolioCall.unknownTransaction(0)
    }
    return number
  }

  // MARK: Reading

  func list() {
    let later = request.later()
    desk.list(request.owner) { later(.success(.json($0, tag: RevisionTag.text(ofList: $0)))) }
  }

  func read() {
    let later = request.later()
    desk.read(names[0], of: request.owner) { answer in
      later(
        answer.map { portfolio in
          var out = ByteBuffer(capacity: 1_024)
          portfolio.append(to: &out, isWhole: true)
          return .json(out.takeBytes(), tag: portfolio.tag)
        })
    }
  }

  func transactions() throws(RequestProblem) {
    let after = try request.query.number("after", default: 0)
    let limit = try request.query.number("limit", default: 100)
    try request.pay(8 * limit)
    let later = request.later()
    desk.read(names[0], of: request.owner) { answer in
      later(answer.map { .json(Self.transactions($0, after: Int64(after), limit: limit), tag: $0.tag) })
    }
  }

  func transaction() {
    let number = names.count > 1 ? PortfolioCall.id(names[1]) ?? 0 : 0
    let later = request.later()
    desk.read(names[0], of: request.owner) { answer in
      later(
        answer.flatMap { portfolio in
          guard let entry = portfolio.stored.entries.first(where: { $0.number == number }) else {
            return .failure(PortfolioCall.unknownTransaction(number))
          }
          return .success(.json(Self.text(entry), tag: portfolio.tag))
        })
    }
  }

  func curve() throws(RequestProblem) {
    let range = try request.query.word("range", default: ChartRange.month) { ChartRange(name: $0) }
    let currency = try currency()
    // The curve of each asset is read from the store.
    try request.pay(Route.Change.usualCost + 16 * PortfolioCurve.interval(of: range).limit)
    PortfolioCurveGathering(loops: loops, desk: desk, curve: PortfolioCurve(range: range, scope: scope))
      .answer(names[0], of: request.owner, in: currency, now: loops.now(), request.later())
  }

  /// The symbols whose prices the caller may see; empty: all.
  private var scope: [SymbolRules] { request.grant.allowsAllSymbols ? [] : request.grant.symbols }

  private func currency() throws(RequestProblem) -> String? {
    guard let currency = request.query.text("currency") else { return nil }
    guard PortfolioContents.isAsset(currency) else {
      throw RequestQuery.problem(
        "currency=\(currency.prefix(24)) is not an asset", hint: "as in symbols: EUR, USD, BTC")
    }
    if let mistake = loops.hub.directory.misspelling(inAsset: currency) {
      throw RequestQuery.problem("currency=\(currency) is not an asset", hint: mistake.hint)
    }
    return currency
  }

  func value() throws(RequestProblem) {
    let currency = try currency()
    try request.pay(256 + loops.hub.directory.entries.count / 4)
    let (desk, later, scope) = (desk, request.later(), scope)
    desk.read(names[0], of: request.owner) { answer in
      guard case .success(let portfolio) = answer else { return later(answer.map { _ in .json([]) }) }
      desk.withPrices(portfolio.stored.positions.map(\.symbol)) { board in
        let (priced, source) = board.value(
          portfolio.contents, portfolio.ledger, in: currency ?? portfolio.stored.currency, scope: scope)
        var out = ByteBuffer(capacity: 4_096)
        PortfolioChannel.append(priced, head: portfolio.head, source: source, to: &out)
        later(.success(.json(out.takeBytes())))
      }
    }
  }

  /// `{"portfolio":"3","revision":7,"transactions":[…]}` in the order of their numbers, after the number `after`.
  private static func transactions(_ portfolio: KeptPortfolio, after: Int64, limit: Int) -> [UInt8] {
    let entries = portfolio.stored.entries.filter { $0.number > after }.sorted { $0.number < $1.number }
    var writer = JSONObjectWriter(capacity: 4_096)
    writer.object { writer in
      writer.field("portfolio", String(portfolio.stored.id))
      writer.field("revision", portfolio.stored.revision)
      writer.array("transactions") { writer in
        for entry in entries.prefix(limit) { writer.object { append(entry, to: &$0) } }
      }
      if entries.count > limit { writer.field("next", entries[limit - 1].number) }
    }
    return writer.takeBytes()
  }

  private static func text(_ entry: StoredPortfolio.Entry) -> [UInt8] {
    var writer = JSONObjectWriter(capacity: 256)
    writer.object { append(entry, to: &$0) }
    return writer.takeBytes()
  }

  private static func append(_ entry: StoredPortfolio.Entry, to writer: inout JSONObjectWriter) {
    writer.field("number", entry.number)
    entry.transaction.appendFields(to: &writer)
  }

  // MARK: Answers

  @Sendable
  private static func response(_ outcome: PortfolioDesk.Outcome) -> HTTPResponse {
    var response: HTTPResponse
    let portfolio: KeptPortfolio?
    switch outcome {
    case .portfolio(let changed, let isNew):
      portfolio = changed
      var out = ByteBuffer(capacity: 1_024)
      changed.append(to: &out, isWhole: true)
      response = .json(out.takeBytes(), status: isNew ? 201 : 200)
      if isNew { response.fields.append(HTTPField("Location", "/v1/portfolios/\(changed.stored.id)")) }
    case .transaction(let changed, let entry, let isNew):
      portfolio = changed
      response = .json(text(entry), status: isNew ? 201 : 200)
      if isNew {
        let location = "/v1/portfolios/\(changed.stored.id)/transactions/\(entry.number)"
        response.fields.append(HTTPField("Location", location))
      }
    case .removed(let changed):
      portfolio = changed
      response = HTTPResponse(status: 204, contentType: "application/json", body: [])
    }
    if let portfolio { response.fields.append(HTTPField("ETag", portfolio.tag)) }
    return response
  }
}
