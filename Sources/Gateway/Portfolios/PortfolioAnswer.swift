import Bytes
import HTTP1
import History
import MarketData
import Portfolio
import PubSub
import Transport

/// Answers `/v1/portfolios…`: an owner's portfolios, their transactions, values and curves.
struct PortfolioAnswer {
  let api: PublicAPI
  let route: Route
  let request: HTTPRequestHead
  let body: [UInt8]
  /// The names in the path: the id, or the id and a transaction's number.
  let names: [String]
  let grant: Grant

  /// - Parameter path: the names in the path, with a slash between them.
  init(_ api: PublicAPI, _ route: Route, _ path: String, _ request: HTTPRequestHead, _ body: [UInt8], _ grant: Grant) {
    self.api = api
    self.route = route
    self.request = request
    self.body = body
    self.grant = grant
    names = path.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
  }

  /// The cost of a write, in the unit of `MarketAnswer.pieceCost`: the desk sums the portfolio and stores it.
  private static let writeCost = 4 * MarketAnswer.pieceCost
  /// The most transactions of one answer.
  static let pageLimit = 1_000

  private var desk: PortfolioDesk { api.node.settings.portfolios }

  func answer(
    _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void, _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    guard grant.channels.contains(.portfolio) else {
      throw RequestProblem(response: api.forbidden("the channel portfolio", grant))
    }
    guard let owner = grant.owner else {
      let error = ProtocolError(
        .forbidden, "your token does not say who you are, so you have no portfolios",
        hint: "use a key of your own, or a token with a `sub`")
      throw RequestProblem(response: Self.response(to: error))
    }
    let isReading = request.method == "GET" || request.method == "HEAD"
    guard !isReading else { return try read(owner, query, reply, charge) }
    // A page of another site may send a form, but not this content type without a preflight.
    if request.method != "DELETE" { try AlertRequest.checkType(request) }
    if let refusal = charge(Self.writeCost) { return reply(refusal) }
    let call: PortfolioCall
    do throws(ProtocolError) {
      call = try self.call(owner)
    } catch {
      throw RequestProblem(response: Self.response(to: error))
    }
    let later = later(reply)
    desk.perform(call) { answer in later(answer.map(Self.response)) }
  }

  // MARK: Changing

  private func call(_ owner: String) throws(ProtocolError) -> PortfolioCall {
    let action: PortfolioCall.Action
    let now = api.node.clock.now()
    switch (route, request.method) {
    case (.portfolios, _): action = .create(try PortfolioCall.form(body, isWhole: true))
    case (.portfolio, "DELETE"): action = .delete(try id())
    case (.portfolio, let method):
      action = .change(try id(), try PortfolioCall.form(body, isWhole: method == "PUT"))
    case (.portfolioTransactions, _): action = .add(try id(), try PortfolioCall.transaction(body, now: now))
    case (_, "DELETE"): action = .remove(try id(), try number())
    default: action = .replace(try id(), try number(), try PortfolioCall.transaction(body, now: now))
    }
    var call = PortfolioCall(owner: owner, action: action, revision: try revision())
    if let (field, name) = call.asset, let mistake = api.node.hub.directory.mistake(inAsset: name) {
      let error = ProtocolError(
        .invalidPortfolio, "`\(field)`: there is no asset `\(name.prefix(24))` here", hint: mistake.hint)
      call.unknownAsset = (name, error)
    }
    if let key = request.fields["Idempotency-Key"] {
      guard request.method == "POST", (1...ControlRequest.keyLimit).contains(key.utf8.count) else {
        throw ProtocolError(
          .badRequest, "Idempotency-Key belongs to POST and has 1 to \(ControlRequest.keyLimit) bytes")
      }
      call.key = key
      call.digest = Digest.sha256(Array(request.path.utf8) + [0] + body)
    }
    return call
  }

  private func id() throws(ProtocolError) -> Int64 {
    guard let id = PortfolioCall.id(names[0]) else { throw PortfolioCall.unknown(names[0]) }
    return id
  }

  private func number() throws(ProtocolError) -> Int64 {
    guard names.count > 1, let number = PortfolioCall.id(names[1]) else {
      throw PortfolioCall.unknownTransaction(0)
    }
    return number
  }

  /// The revision that `If-Match` names.
  private func revision() throws(ProtocolError) -> Int64? {
    guard let match = request.fields["If-Match"], match != "*" else { return nil }
    guard match.hasPrefix("\""), match.hasSuffix("\""), let revision = Int64(match.dropFirst().dropLast()) else {
      throw ProtocolError(.changed, "If-Match is not the entity tag of a portfolio", hint: "send its ETag")
    }
    return revision
  }

  // MARK: Reading

  private func read(
    _ owner: String, _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    let later = later(reply)
    switch route {
    case .portfolios: desk.list(owner) { later(.success(.json($0, tag: AlertText.tag(of: $0)))) }
    case .portfolioTransactions:
      let after = try query.number("after", 0...Int.max, default: 0)
      let limit = try query.number("limit", 1...Self.pageLimit, default: 100)
      if let refusal = charge(8 * limit) { return reply(refusal) }
      desk.read(names[0], of: owner) { answer in
        later(answer.map { .json(Self.transactions($0, after: Int64(after), limit: limit), tag: $0.tag) })
      }
    case .portfolioTransaction:
      let number = names.count > 1 ? PortfolioCall.id(names[1]) ?? 0 : 0
      desk.read(names[0], of: owner) { answer in
        later(
          answer.flatMap { portfolio in
            guard let entry = portfolio.stored.entries.first(where: { $0.number == number }) else {
              return .failure(PortfolioCall.unknownTransaction(number))
            }
            return .success(.json(Self.text(entry), tag: portfolio.tag))
          })
      }
    case .portfolioValue: try value(owner, query, reply, charge)
    case .portfolioCurve:
      let range = try query.word("range", default: ChartRange.month) { ChartRange(name: $0) }
      let currency = try currency(query)
      // The curve of each asset is read from the store.
      if let refusal = charge(Self.writeCost + 16 * PortfolioCurve.interval(of: range).limit) { return reply(refusal) }
      PortfolioCurve(node: api.node, range: range, scope: grant.allowsAllSymbols ? [] : grant.symbols)
        .answer(names[0], of: owner, in: currency, now: api.node.clock.now(), later)
    default:
      desk.read(names[0], of: owner) { answer in
        later(
          answer.map { portfolio in
            var out = ByteBuffer(capacity: 1_024)
            portfolio.append(to: &out, isWhole: true)
            return .json(out.takeBytes(), tag: portfolio.tag)
          })
      }
    }
  }

  private func currency(_ query: RequestQuery) throws(RequestProblem) -> String? {
    guard let currency = query.text("currency") else { return nil }
    guard PortfolioContents.isAsset(currency) else {
      throw RequestQuery.problem(
        "currency=\(currency.prefix(24)) is not an asset", hint: "as in symbols: EUR, USD, BTC")
    }
    if let mistake = api.node.hub.directory.misspelling(inAsset: currency) {
      throw RequestQuery.problem("currency=\(currency) is not an asset", hint: mistake.hint)
    }
    return currency
  }

  private func value(
    _ owner: String, _ query: RequestQuery, _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    let currency = try currency(query)
    if let refusal = charge(256 + api.node.hub.directory.entries.count / 4) { return reply(refusal) }
    let (desk, later) = (desk, later(reply))
    let scope = grant.allowsAllSymbols ? [] : grant.symbols
    desk.read(names[0], of: owner) { answer in
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
        let place = "/v1/portfolios/\(changed.stored.id)/transactions/\(entry.number)"
        response.fields.append(HTTPField("Location", place))
      }
    case .removed(let changed):
      portfolio = changed
      response = HTTPResponse(status: 204, contentType: "application/json", body: [])
    }
    if let portfolio { response.fields.append(HTTPField("ETag", portfolio.tag)) }
    return response
  }

  /// Passes an answer of the desk to the connection's loop.
  private func later(
    _ reply: @escaping (HTTPResponse) -> Void
  ) -> @Sendable (Result<HTTPResponse, ProtocolError>) -> Void {
    let reply = UncheckedTransfer(value: reply)
    let loop = api.node.loop
    return { answer in
      loop.execute {
        switch answer {
        case .success(let response): reply.value(response)
        case .failure(let error): reply.value(Self.response(to: error))
        }
      }
    }
  }

  private static func response(to error: ProtocolError) -> HTTPResponse {
    let status =
      switch error.code {
      case .forbidden: 403
      case .unknownPortfolio: 404
      case .invalidPortfolio: 422
      case .tooManyPortfolios, .keyReused: 409
      case .changed: 412
      case .unavailable, .notReady: 503
      default: 400
      }
    return .error(
      status, code: error.code.rawValue, message: error.message, hint: error.hint, retry: error.retry,
      retryAfterMilliseconds: error.retryAfterMilliseconds)
  }
}
