import Bytes
import MarketData

/// One client's unanswered requests, and its remaining request and work allowance.
struct ClientRequests {
  /// A message that waits until the request before it is answered.
  enum Waiting {
    case message([UInt8])
    case refused(ParsedRequest)
  }

  /// The request that is being answered; messages arriving in the meantime wait.
  private enum Present {
    case none
    /// Publishers are being asked about it.
    case pending(PendingRequest)
    /// Its token is being looked at.
    case greeting(Greeting)
    /// It is about alerts and is being executed.
    case control(Control)
  }

  /// A `hello` with a token.
  final class Greeting {
    let hello: ClientRequest.Hello
    let id: String?
    init(_ hello: ClientRequest.Hello, id: String?) {
      self.hello = hello
      self.id = id
    }
  }

  /// A request that others carry out.
  final class Control {
    let number: UInt32
    let id: String?
    init(number: UInt32, id: String?) {
      self.number = number
      self.id = id
    }
  }

  var allowance = ClientAllowance()
  private var present = Present.none
  fileprivate var waiting: [Waiting] = []
  /// The number of the last request that needs others.
  private var number: UInt32 = 0
  /// The index of its address in the ledger; -1: it has none.
  var address: Int32 = -1
  var errorsInRow: UInt16 = 0

  /// Whether messages wait for an answer.
  var isBusy: Bool { if case .none = present { false } else { true } }
  var pending: PendingRequest? { if case .pending(let request) = present { request } else { nil } }
  var greeting: Greeting? { if case .greeting(let greeting) = present { greeting } else { nil } }
  var control: Control? { if case .control(let control) = present { control } else { nil } }

  /// Bytes of the messages that wait. O(waiting).
  fileprivate var waitingBytes: Int {
    waiting.reduce(0) { if case .message(let bytes) = $1 { $0 + bytes.count } else { $0 } }
  }

  mutating func begin(_ greeting: Greeting) { present = .greeting(greeting) }

  /// Makes a request that others carry out the present one; answers its number.
  mutating func beginControl(id: String?) -> UInt32 {
    number &+= 1
    present = .control(Control(number: number, id: id))
    return number
  }

  /// Makes a request that publishers are asked about the present one.
  mutating func begin(_ kind: PendingRequest.Kind, id: String?) -> PendingRequest {
    number &+= 1
    let request = PendingRequest(kind: kind, id: id, number: number)
    present = .pending(request)
    return request
  }

  /// The present request is answered.
  mutating func end() { present = .none }
}

/// Takes clients' messages, one request at a time from each, within its rate. One for all clients of a loop.
struct RequestAdmission {
  /// Protocol errors in a row that close the connection.
  static let errorLimit = 50
  /// The limits of a client before it has sent a required token: requests a second, bytes of one, and work at once.
  static let strangerRequestsPerSecond = 5
  static let strangerMessageBytes = 16 << 10
  static let strangerWorkBurst = 64 << 10
  /// How long a client may send over the rate before it is closed, µs.
  static let abuseLimit = 5 * Microseconds.second
  /// Messages that may wait for the request before them, and their bytes.
  static let waitingLimit = 64
  static let waitingBytesLimit = 256 << 10
  /// Bytes of replies that may wait for a client while it asks for more.
  static let replyLimit = 16 << 10

  enum Verdict {
    case handle(ParsedRequest)
    /// It was put behind the request that is being answered.
    case wait
    case disconnect(code: UInt16, reason: String)
  }

  private(set) var limits: ClientLimits
  /// Work done for clients since the start, in the unit of `ClientAllowance`.
  private(set) var workDone: UInt64 = 0
  var addresses: AddressLedger

  init(limits: ClientLimits) {
    self.limits = limits
    addresses = AddressLedger(
      clientsAtFullRate: limits.clientsAtFullRate, workPerClient: Self.workPerClient(limits))
  }

  private static func workPerClient(_ limits: ClientLimits) -> Int {
    limits.requestsPerSecond * ClientAllowance.workPerRequest
  }

  // MARK: Limits

  /// Applies these limits from now on, also to clients that are connected and to their addresses.
  mutating func apply(_ limits: ClientLimits) {
    self.limits = limits
    addresses.apply(clientsAtFullRate: limits.clientsAtFullRate, workPerClient: Self.workPerClient(limits))
  }

  func subscriptionLimit(_ grant: Grant?) -> Int { min(limits.subscriptions, grant?.subscriptions ?? .max) }

  func requestLimit(_ grant: Grant?) -> Int {
    guard let grant else { return min(limits.requestsPerSecond, Self.strangerRequestsPerSecond) }
    return min(limits.requestsPerSecond, grant.requestsPerSecond ?? .max)
  }

  private func workLimit(_ grant: Grant?) -> Int { requestLimit(grant) * ClientAllowance.workPerRequest }

  private func workBurst(_ grant: Grant?) -> Int {
    grant == nil ? Self.strangerWorkBurst : ClientAllowance.workBurst(messageBytes: limits.messageBytes)
  }

  private func messageLimit(_ grant: Grant?) -> Int {
    grant == nil ? min(limits.messageBytes, Self.strangerMessageBytes) : limits.messageBytes
  }

  /// Symbols that one request may name, wildcards and items without any counted as one each.
  var nameLimit: Int { max(1_000, limits.subscriptions) }

  // MARK: Messages

  /// Takes a text message.
  mutating func receive(
    _ message: RawSpan, from client: inout ClientRequests, _ grant: Grant?, now: Timestamp
  ) -> Verdict {
    charge(ClientAllowance.requestWork, to: &client, grant, now: now)
    var refusal: ParsedRequest?
    let wait = client.allowance.takeRequest(perSecond: requestLimit(grant), now: now)
    if wait > 0 {
      if let end = disconnection(of: client, grant, now: now) { return end }
      var error = ProtocolError(
        .rateLimited, "more than \(requestLimit(grant)) requests in 1 s", hint: "retry after the time given")
      error.retry = true
      error.retryAfterMilliseconds = (wait + 999) / 1000
      // The id is worth reading, to answer to; a large message is not worth it.
      refusal = ParsedRequest(id: message.byteCount <= 4096 ? RequestParser.parse(message).id : nil, error: error)
    } else if message.byteCount > messageLimit(grant) {
      refusal = ParsedRequest(
        error: ProtocolError(
          .messageTooLarge, "\(message.byteCount) bytes; the limit is \(messageLimit(grant))",
          hint: grant == nil ? "say hello with a token first" : "split the request"))
    }
    guard client.isBusy else { return .handle(refusal ?? RequestParser.parse(message)) }
    let isTaken = putBehind(message, refusal, of: &client)
    return isTaken
      ? .wait : .disconnect(code: CloseCode.rateLimited, reason: "too many requests wait for the one before them")
  }

  /// Puts a message behind the request that is being answered; false if too much waits there.
  func putBehind(_ message: RawSpan, _ refusal: ParsedRequest? = nil, of client: inout ClientRequests) -> Bool {
    guard client.waiting.count < Self.waitingLimit,
      client.waitingBytes + message.byteCount <= Self.waitingBytesLimit
    else { return false }
    client.waiting.append(refusal.map { .refused($0) } ?? .message(message.withUnsafeBytes { Array($0) }))
    return true
  }

  /// The bytes of the next message that waited for the request before it, as `next` returns it parsed.
  func nextMessage(of client: inout ClientRequests) -> [UInt8]? {
    guard !client.isBusy, !client.waiting.isEmpty, case .message(let bytes) = client.waiting.removeFirst() else {
      return nil
    }
    if client.waiting.isEmpty { client.waiting = [] }
    return bytes
  }

  /// The next message that waited for the request before it; nil if there is none, or the client is waited for again.
  func next(of client: inout ClientRequests) -> ParsedRequest? {
    guard !client.isBusy, !client.waiting.isEmpty else { return nil }
    let first = client.waiting.removeFirst()
    if client.waiting.isEmpty { client.waiting = [] }
    switch first {
    case .refused(let request): return request
    case .message(let bytes): return RequestParser.parse(bytes.span.bytes)
    }
  }

  /// Takes a ping or a pong: counted like a request. One over the rate is answered, and the client waits for it.
  /// - Returns: nil, or the end of a client that was over its rate for too long.
  mutating func receiveControlFrame(
    from client: inout ClientRequests, _ grant: Grant?, now: Timestamp
  ) -> Verdict? {
    charge(ClientAllowance.requestWork / 4, to: &client, grant, now: now)
    client.allowance.takeControlFrame(perSecond: requestLimit(grant), now: now)
    return disconnection(of: client, grant, now: now)
  }

  /// Books work that was done for a client.
  mutating func charge(_ work: Int, to client: inout ClientRequests, _ grant: Grant?, now: Timestamp) {
    workDone &+= UInt64(work)
    let price = client.address < 0 ? work : addresses.charge(work, at: client.address, now: now)
    client.allowance.charge(price, perSecond: workLimit(grant), now: now)
  }

  /// Books an error of a client's.
  /// - Returns: the end of a client that made too many in a row.
  func noteError(_ code: ProtocolError.Code, of client: inout ClientRequests) -> Verdict? {
    client.errorsInRow += 1
    guard client.errorsInRow >= Self.errorLimit else { return nil }
    return .disconnect(
      code: CloseCode.protocolErrors, reason: "\(Self.errorLimit) bad requests in a row; the last: \(code.rawValue)")
  }

  /// How long the client's next bytes have to wait, µs; 0 if they may be taken. `max`: until something of it is written
  /// or answered.
  /// - Parameter replyBytes: of replies that wait for it.
  func inputDelay(of client: ClientRequests, _ grant: Grant?, replyBytes: Int, now: Timestamp) -> Int64 {
    if client.isBusy || replyBytes > Self.replyLimit { return .max }
    let burst = isInDebt(client, now: now) ? 0 : workBurst(grant)
    return client.allowance.delay(burst: burst, perSecond: workLimit(grant), at: now)
  }

  /// Whether a client comes after those that are within their rates: it lives on its burst, or on its address's debt.
  func isAheadOfRate(_ client: ClientRequests, now: Timestamp) -> Bool {
    client.allowance.isAhead(at: now, inDebt: isInDebt(client, now: now))
  }

  private func isInDebt(_ client: ClientRequests, now: Timestamp) -> Bool {
    client.address >= 0 && addresses.isInDebt(client.address, at: now)
  }

  private func disconnection(of client: ClientRequests, _ grant: Grant?, now: Timestamp) -> Verdict? {
    guard client.allowance.overRate(at: now) >= Self.abuseLimit else { return nil }
    return .disconnect(
      code: CloseCode.rateLimited,
      reason: "over \(requestLimit(grant)) requests/s for \(Self.abuseLimit / Microseconds.second) s")
  }
}
