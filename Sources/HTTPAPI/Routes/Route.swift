import HTTP1
import PubSub

/// A route of the client port, as one value: everything that the gateway and its documents know about it.
///
/// A `RouteTable` is made of them. Dispatch, the answers to other paths and methods, access, caching, costs, the labels
/// of metrics and `/openapi.json` follow from these values. `HTTPAPI.md` describes each with its parameters; a test
/// compares the two.
package struct Route: Sendable {
  /// Answers a request, now or later.
  package typealias Handler = @Sendable (APIRequest) throws(RequestProblem) -> Void
  /// The method of an answer that does it: `SymbolAnswer.ticker`.
  package typealias Method<Answer> = @Sendable (Answer) -> () throws(RequestProblem) -> Void

  /// The name of its operations in generated clients: `candles`.
  package let name: String
  /// The path, with `{symbol}` for what changes.
  package let path: String
  /// The part of a generated client that its operations belong to.
  let group: Group
  /// Its purpose, in a line.
  let summary: String
  package let access: Access
  /// The channels that a token must allow.
  package let channels: [ChannelName]
  /// The answer that needs these channels, for the refusal: `a quote`.
  let whole: String?
  /// The parameters of the query.
  package let parameters: [Parameter]
  /// Other statuses than that of success which a valid request may get, beside those that any request may get.
  let statuses: [Int]
  /// `Cache-Control` of an answer that has an entity tag. Nil: `no-cache`, so a client asks each time, and gets a 304
  /// if nothing has changed.
  ///
  /// Many clients draw pictures and lines at the same time, and these change little in 10 s. A price that somebody may
  /// act on never comes from a cache.
  let freshness: String?
  /// The answer to `GET` and `HEAD`; nil: the route has neither.
  package let reading: Reading?
  /// The answers to the methods that change something.
  package let changes: [Change]

  /// The methods that the route serves beside `OPTIONS`.
  package let methods: [String]
  /// The methods that it answers.
  let allowedMethods: [String]
  /// The methods that a path without a route answers.
  static let otherMethods = ["GET", "HEAD", "OPTIONS"]

  package init(
    _ name: String, _ path: String, _ group: Group, _ summary: String, access: Access = .granted,
    channels: [ChannelName] = [], partsOf whole: String? = nil, parameters: [Parameter] = [], statuses: [Int] = [503],
    freshness: String? = nil, get reading: Reading?, changes: [Change] = []
  ) {
    self.name = name
    self.path = path
    self.group = group
    self.summary = summary
    self.access = access
    self.channels = channels
    self.whole = whole
    self.parameters = parameters
    self.statuses = statuses
    self.freshness = freshness
    self.reading = reading
    self.changes = changes
    methods = (reading == nil ? [] : ["GET", "HEAD"]) + changes.map(\.method)
    allowedMethods = methods + ["OPTIONS"]
  }

  /// The parts of a generated client.
  package enum Group: String, Sendable {
    case gateway, market, decks, topics, alerts, webhooks, portfolios
  }

  /// Who may use a route.
  package enum Access: Sendable, Equatable {
    /// Everybody, also without a token.
    case open
    /// Callers with a grant.
    case granted
    /// Callers with a name, each of whom sees only what it owns: `alerts`.
    case owner(of: String)
  }

  /// The answer to `GET`; `HEAD` gets its head.
  package struct Reading: Sendable {
    package enum Content: Sendable, Equatable {
      /// JSON; the name of its schema. Nil: any object.
      case json(String?)
      case text, picture, events, lines
      /// No content: the connection becomes a WebSocket.
      case upgrade
    }

    let content: Content
    /// Whether the answer has an `ETag`.
    let isTagged: Bool
    /// The cost of each answer, in points of a sparkline; 0: none, or one that depends on the query.
    package let cost: Int
    package let handler: Handler

    package init<Answer: RouteAnswer>(
      _ content: Content, _ method: @escaping Method<Answer>, isTagged: Bool = true, cost: Int = 0
    ) {
      self.content = content
      self.isTagged = isTagged
      self.cost = cost
      handler = Route.handler(method)
    }
  }

  /// What another method than `GET` takes and answers.
  package struct Change: Sendable {
    /// An answer's status, and the schema of its body; nil: it has no body.
    package typealias Answer = (status: Int, schema: String?)

    /// The cost of a write, in points of a sparkline: a desk checks it, computes what follows and stores it.
    package static let usualCost = 4 * MarketAnswer.pieceCost

    let method: String
    /// The schema of the body; nil: none is needed.
    package let body: String?
    let needsBody: Bool
    let answers: [Answer]
    /// Whether the answers have an `ETag`, for a later `If-Match`.
    let isTagged: Bool
    /// Whether it takes an `Idempotency-Key`.
    let takesKey: Bool
    /// Whether it takes an `If-Match`.
    let takesCondition: Bool
    /// As in `Reading`.
    package let cost: Int
    package let handler: Handler

    package init<Maker: RouteAnswer>(
      _ name: String, _ method: @escaping Method<Maker>, body: String? = nil, needsBody: Bool = true,
      answers: [Answer], isTagged: Bool = false, takesKey: Bool = false, takesCondition: Bool = false,
      cost: Int = Change.usualCost
    ) {
      self.method = name
      self.body = body
      self.needsBody = needsBody
      self.answers = answers
      self.isTagged = isTagged
      self.takesKey = takesKey
      self.takesCondition = takesCondition
      self.cost = cost
      handler = Route.handler(method)
    }
  }

  private static func handler<Answer: RouteAnswer>(_ method: @escaping Method<Answer>) -> Handler {
    { (request) throws(RequestProblem) in try method(Answer(request))() }
  }

  /// A parameter of a route's query.
  package struct Parameter: Sendable {
    package let name: String
    package let form: Form
    /// Whether it may be given more than once.
    package let repeats: Bool
    /// Whether the parameter is required.
    package let isNeeded: Bool

    package init(_ name: String, _ form: Form, repeats: Bool = false, isNeeded: Bool = false) {
      self.name = name
      self.form = form
      self.repeats = repeats
      self.isNeeded = isNeeded
    }

    /// The allowed values, for error messages.
    var allowed: String { form.words }
  }

  /// The allowed values of a parameter: in words, and as a schema of the OpenAPI document.
  package enum Form: Sendable {
    /// Any text without control characters; the words say what it means.
    case text(String)
    case number(ClosedRange<Int>)
    /// Such a number, or a word.
    case numberOr(ClosedRange<Int>, String)
    case oneOf([String])
    /// `true` or `false`.
    case flag
    /// A whole number from 0; the words say what it means.
    case ordinal(String, upTo: Int = .max)

    var words: String {
      switch self {
      case .text(let words), .ordinal(let words, _): words
      case .number(let range): "\(range.lowerBound) to \(range.upperBound)"
      case .numberOr(let range, let word): "\(range.lowerBound) to \(range.upperBound) or \(word)"
      case .oneOf(let names): names.joined(separator: ", ")
      case .flag: "true, false"
      }
    }
  }

  /// The path with the parameters that a request needs: `/v1/rates?base={base}&quote={quote}`.
  var address: String {
    let needed = parameters.filter(\.isNeeded).map { "\($0.name)={\($0.name)}" }
    return needed.isEmpty ? path : "\(path)?\(needed.joined(separator: "&"))"
  }

  /// What it does on a request with that method, beside `GET` and `HEAD`; nil: nothing.
  package func change(_ method: String) -> Change? { changes.first { $0.method == method } }

  /// The handler of a method that it serves; nil for any other.
  func handler(_ method: String) -> Handler? {
    method == "GET" || method == "HEAD" ? reading?.handler : change(method)?.handler
  }

  /// Whether a request with that method reads or changes what an owner keeps.
  func isOwned(_ method: String) -> Bool {
    if case .owner = access { return method != "OPTIONS" }
    return change(method) != nil
  }

  /// Replaces `no-cache` by the route's freshness.
  func addFreshness(to response: inout HTTPResponse) {
    guard let freshness, response.status == 200 || response.status == 304, response.entityTag != nil else { return }
    response.fields = response.fields.map { field in
      field.name == "Cache-Control" && field.value == "no-cache" ? HTTPField("Cache-Control", freshness) : field
    }
  }
}

/// Answers requests to a route, or to several that are alike. Made for one request.
package protocol RouteAnswer: SendableMetatype {
  init(_ request: APIRequest)
}
