import Bytes
import HTTP1
import Transport

/// Answers the requests of one port. Called on the connection's loop.
package protocol HTTPResponder: AnyObject {
  /// Answers `request` by calling `reply` once, on the same loop, now or later.
  func respond(to request: HTTPRequestHead, on connection: Connection, reply: @escaping (HTTPResponse) -> Void)
  /// The same with the request's body, which most answers do not depend on.
  func respond(
    to request: HTTPRequestHead, body: [UInt8], on connection: Connection, reply: @escaping (HTTPResponse) -> Void)
  /// Answers `request`, which was answered before with `memo`, by calling `reply` on the same loop. Returns false if
  /// `memo` is no longer valid, and the answer must be computed again.
  func respond(
    to request: HTTPRequestHead, with memo: AnswerMemo, on connection: Connection,
    reply: @escaping (HTTPResponse) -> Void
  ) -> Bool
  /// Whether the answer to `request` depends on its body. Asked only for a client that waits for a status before it
  /// sends the body; false: the head is enough, since the request is refused or has no use for a body.
  func needsBody(_ request: HTTPRequestHead) -> Bool
  /// Takes the connection over if `request` asks for that; `rest` has the bytes after the request. False: `respond`
  /// answers.
  func upgrade(_ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer) -> Bool
  /// A request was answered with this many bytes of body; nil: the request was unreadable, or none arrived in time.
  /// - Parameter nanoseconds: from its head to its answer.
  func answered(
    _ request: HTTPRequestHead?, status: Int, bytes: Int, nanoseconds: UInt64, on connection: Connection)
  /// The connection is gone.
  func ended(_ connection: Connection)
  /// A client spoke TLS to a port without TLS.
  func sawTLS(from peer: SocketAddress)
  /// The date for `Date` fields, renewed once a second.
  var httpDate: String { get }
  /// Whether pages of other origins may read what is answered, where the answer lets them.
  var answersOrigins: Bool { get }
}

extension HTTPResponder {
  package func needsBody(_ request: HTTPRequestHead) -> Bool { false }

  package func respond(
    to request: HTTPRequestHead, body: [UInt8], on connection: Connection, reply: @escaping (HTTPResponse) -> Void
  ) {
    respond(to: request, on: connection, reply: reply)
  }

  package func respond(
    to request: HTTPRequestHead, with memo: AnswerMemo, on connection: Connection,
    reply: @escaping (HTTPResponse) -> Void
  ) -> Bool { false }
}

/// The HTTP/1.1 side of one client connection: one request at a time, in order. Owned by one loop.
///
/// A client may wait for a status before it sends a body (`Expect: 100-continue`, as curl does with larger bodies). If
/// the answer depends on the body, the client gets `100 Continue`. Otherwise it gets the final answer at once (RFC 9110
/// section 10.1.1), and its connection is closed, because the session cannot know whether the body will follow.
///
/// While an answer is pending, or the client does not read its answers, the session reads nothing; further requests
/// wait in the kernel. So a connection holds at most `pipelineLimit` of requests, and `unsentLimit` plus one answer.
package final class HTTPSession: ConnectionHandler {
  /// Unsent bytes of answers above which no further request is read.
  static let unsentLimit = 64 << 10
  /// Bytes of requests that may wait while another one is answered. If a client sends more at once, its connection is
  /// closed after that answer, and the client must repeat the unanswered requests (RFC 9112 section 9.3.2).
  static let pipelineLimit = 64 << 10
  /// Requests answered in one turn. Further ones wait, so that a pipeline delays nobody else.
  static let requestsPerTurn = 4
  /// How long the session reads nothing after a 429: a client that continues is answered four times a second.
  static let restAfterRefusal: Duration = .milliseconds(250)

  private unowned let responder: any HTTPResponder
  private unowned let connection: Connection
  private let limits: HTTPConnectionLimits
  private var parser = HTTPRequestParser()
  /// Bytes read after the present request; reading pauses while there are any.
  private var waiting = ByteBuffer()
  private var isAnswering = false
  private var isFinished = false
  /// No request is read until this timer fires.
  private var rest: LoopTimer?
  /// Whether the connection ends after the answer that is under way.
  private var isDraining = false
  private var requests = 0
  /// The last request, if a repetition may get the same answer.
  private var remembered: RememberedRequest?
  private var watch: HTTPWatch
  /// Bytes the connection had written when its answers began to pile up.
  private var writtenBefore: UInt64 = 0

  package init(connection: Connection, responder: any HTTPResponder, limits: HTTPConnectionLimits = .init()) {
    self.connection = connection
    self.responder = responder
    self.limits = limits
    self.watch = HTTPWatch(limits, now: connection.loop.moment)
  }

  /// Ends the connection if the client is too slow at `moment`, monotonic µs; true if it did. Call about once a
  /// second.
  package func closeIfOverdue(at moment: Int64) -> Bool {
    guard !isFinished else { return false }
    observe(at: moment)
    switch watch.overdue(at: moment) {
    case nil: return false
    case .idle: break
    case .request(let reason): refuse(.error(408, code: "timeout", message: reason, retry: true))
    case .response:
      isFinished = true
      connection.abort()
      return true
    }
    finish()
    return true
  }

  /// Reports the phase of the connection to the watch.
  private func observe(at moment: Int64) {
    let taken = connection.bytesWritten
    if isAnswering {
      watch.enter(.answering, at: moment)
    } else if connection.queuedBytes > 0, !connection.isWritable {
      if case .sending = watch.phase {} else { writtenBefore = taken }
      watch.enter(.sending(Int(clamping: taken - writtenBefore)), at: moment)
    } else {
      switch parser.stage {
      case .idle: watch.enter(.idle, at: moment)
      case .head: watch.enter(.head, at: moment)
      case .body(let received): watch.enter(.body(received), at: moment)
      }
    }
  }

  package func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    guard !isFinished else { return }
    let taken = waiting.isEmpty && canRead ? read(bytes) : 0
    if taken < bytes.count, !isFinished { keep(UnsafeRawBufferPointer(rebasing: bytes[taken...])) }
    settle()
  }

  package func connectionDidDrain(_ connection: Connection) { goOn() }

  package func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    isFinished = true
    remembered = nil
    responder.ended(connection)
  }

  /// Bytes of answers that the client has not taken.
  package var queuedBytes: Int { connection.queuedBytes }

  /// Cuts off a client that does not take its answers.
  package func abort() {
    isFinished = true
    connection.abort()
  }

  /// Closes now, or after the answer that is under way.
  ///
  /// - Parameter atOnce: false lets a connection without a request get its first answer: a probe's request may be on
  ///   its way.
  package func closeForDrain(atOnce: Bool = true) {
    isDraining = true
    if !isFinished, !isAnswering, atOnce || requests > 0 { finish() }
  }

  /// Whether a request is being answered, or the first one may be on its way.
  package var owesAnswer: Bool { !isFinished && (isAnswering || requests == 0) }

  private func keep(_ bytes: UnsafeRawBufferPointer) {
    if waiting.count + bytes.count <= HTTPSession.pipelineLimit { return waiting.append(bytes) }
    waiting.release()
    closeForDrain()
  }

  private func finish() {
    isFinished = true
    remembered = nil
    waiting.release()
    connection.close()
  }

  /// Whether the next request may be read.
  private var canRead: Bool {
    guard !isAnswering, !isFinished, rest == nil else { return false }
    if connection.queuedBytes > HTTPSession.unsentLimit { connection.flush() }
    return connection.isWritable
  }

  /// Continues reading after a delayed answer, or after the client has read the unsent bytes.
  private func goOn() {
    while !waiting.isEmpty, canRead {
      let taken = read(waiting.unsafeMutableBytes)
      guard !isFinished else { return waiting.release() }
      waiting.consume(taken)
    }
    if waiting.isEmpty { waiting.release() }
    settle()
  }

  /// Leaves bytes that cannot be read now in the kernel, and reports the phase to the watch.
  private func settle() {
    guard !isFinished else { return }
    if waiting.isEmpty, !isAnswering, rest == nil, connection.isWritable {
      connection.resumeReading()
    } else {
      connection.pauseReading()
    }
    observe(at: connection.loop.moment)
  }

  /// Reads requests until one is pending; returns how many bytes were taken.
  private func read(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
    var input = UnsafeRawBufferPointer(bytes)
    var served = 0
    do throws(HTTPError) {
      while canRead {
        if let known = remembered, parser.stage == .idle, known.take(&input) {
          answerAgain(known)
        } else {
          let before = input
          let isWhole = parser.stage == .idle
          guard let (head, body) = try parser.next(&input) else { break }
          let octets = UnsafeRawBufferPointer(rebasing: before[..<(before.count - input.count)])
          let behind = UnsafeMutableRawBufferPointer(rebasing: bytes[(bytes.count - input.count)...])
          remembered = nil
          if serve(head, octets: isWhole ? octets : nil, body: body, rest: behind) { return bytes.count }
        }
        served += 1
        if served == HTTPSession.requestsPerTurn, input.count > 0, canRead { rest(for: .zero) }
      }
      if canRead, let head = parser.takeExpectation() {
        if responder.needsBody(head) {
          var out = ByteBuffer(capacity: 32)
          HTTPEncoder.append(HTTPResponseHead(status: 100), bodyLength: nil, keepAlive: true, date: nil, to: &out)
          connection.write(out.bytes)
          return bytes.count - input.count
        }
        isDraining = true
        let nothing = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        if serve(head, octets: nil, body: [], rest: nothing) { return bytes.count }
      }
    } catch {
      var message = error.reason
      // A TLS handshake record (RFC 8446 section 5.1: type 22, version 3.x) instead of a request line.
      if requests == 0, bytes.count >= 2, bytes[0] == 22, bytes[1] == 3 {
        message = "this port does not speak TLS: use http:// or ws://"
        responder.sawTLS(from: connection.peer)
      }
      refuse(.error(error.status, code: "bad_request", message: message, fields: error.fields))
      finish()
      return bytes.count
    }
    return bytes.count - input.count
  }

  /// Answers a request that has been answered before.
  private func answerAgain(_ known: RememberedRequest) {
    watch.enter(.answering, at: connection.loop.moment)
    answer(known.head, []) { [self] reply in
      if responder.respond(to: known.head, with: known.memo, on: connection, reply: reply) { return }
      remembered = nil
      responder.respond(to: known.head, body: [], on: connection) { [self] response in
        if let memo = response.memo { remembered = known.with(memo) }
        reply(response)
      }
    }
  }

  /// Upgrades or answers. True if another handler has the connection now.
  /// - Parameter octets: the request's octets, if they are complete.
  private func serve(
    _ head: HTTPRequestHead, octets: UnsafeRawBufferPointer?, body: [UInt8], rest: UnsafeMutableRawBufferPointer
  ) -> Bool {
    // A handler that takes the connection over decides about its reading.
    connection.resumeReading()
    // The time starts anew for each request, even for requests that arrived in one read.
    watch.enter(.answering, at: connection.loop.moment)
    guard responder.upgrade(head, on: connection, rest: rest) else {
      let octets = octets.flatMap { RememberedRequest.octets($0, head, body: body) }
      answer(head, body) { [self] reply in
        responder.respond(to: head, body: body, on: connection) { [self] response in
          if let octets, let memo = response.memo { remembered = RememberedRequest(octets, head, memo) }
          reply(response)
        }
      }
      return false
    }
    isFinished = true
    return true
  }

  /// Reads nothing for `time`, at least until the next turn.
  private func rest(for time: Duration) {
    rest?.cancel()
    rest = connection.loop.schedule(after: time) { [weak self] in
      self?.rest = nil
      self?.goOn()
    }
  }

  /// - Parameter respond: calls the closure that it is given with the response, now or later.
  private func answer(
    _ head: HTTPRequestHead, _ body: [UInt8], by respond: (@escaping (HTTPResponse) -> Void) -> Void
  ) {
    requests += 1
    isAnswering = true
    // After CONNECT the client may already speak to another server (RFC 9110 section 9.3.6).
    let keepsAlive = head.keepsAlive && requests < limits.requests && head.method != "CONNECT"
    let isHead = head.method == "HEAD"
    let ifNoneMatch = head.fields.values("If-None-Match")
    let begunAt = connection.loop.kernel.uptime()
    var isLate = false
    respond { [self] response in
      guard !isFinished else { return }
      isAnswering = false
      let keepAlive = keepsAlive && !isDraining
      let (status, bytes) = send(response, keepAlive: keepAlive, isHead: isHead, ifNoneMatch: ifNoneMatch)
      responder.answered(
        head, status: status, bytes: bytes, nanoseconds: connection.loop.kernel.uptime() &- begunAt, on: connection)
      guard keepAlive else { return finish() }
      if response.status == 429 { rest(for: HTTPSession.restAfterRefusal) }
      // Inside `read`, its own loop continues.
      if isLate { goOn() }
    }
    isLate = true
  }

  /// Answers a request that was unreadable or did not arrive in time.
  private func refuse(_ response: HTTPResponse) {
    let (status, bytes) = send(response, keepAlive: false)
    responder.answered(nil, status: status, bytes: bytes, nanoseconds: 0, on: connection)
  }

  /// Returns the status and the bytes of body that went out.
  private func send(
    _ response: HTTPResponse, keepAlive: Bool, isHead: Bool = false, ifNoneMatch: [String] = []
  ) -> (status: Int, bytes: Int) {
    var fields = HTTPFields(response.fields)
    if let origin = response.allowedOrigin, responder.answersOrigins {
      fields.append("Access-Control-Allow-Origin", origin)
      fields.append("Access-Control-Expose-Headers", HTTPResponse.exposedFields)
    }
    var status = response.status
    var bodyLength: Int? = response.body.count
    if let tag = response.entityTag {
      fields.append("ETag", tag)
      if status == 200, EntityTag.matches(ifNoneMatch, tag) { status = 304 }
    }
    if status == 204 || status == 304 { bodyLength = nil }
    if bodyLength != nil {
      fields.append("Content-Type", response.contentType)
      response.appendGuards(to: &fields)
    }
    if response.isEndless { bodyLength = nil }
    var out = ByteBuffer(capacity: 512 + response.body.count)
    HTTPEncoder.append(
      HTTPResponseHead(status: status, fields: fields), bodyLength: bodyLength, keepAlive: keepAlive,
      date: responder.httpDate,
      to: &out)
    let hasBody = bodyLength != nil && !isHead
    if hasBody { out.append(response.body) }
    connection.write(out.bytes)
    return (status, hasBody ? response.body.count : 0)
  }
}

extension HTTPResponse {
  /// The refusal of `method` where only `allowed` are served: 405 for one that is registered, 501 for an unknown one
  /// (RFC 9110 sections 15.5.6 and 15.6.2); nil if it is among them.
  package static func refusal(of method: String, allowed: [String]) -> HTTPResponse? {
    guard !allowed.contains(method) else { return nil }
    let allow = HTTPField("Allow", allowed.joined(separator: ", "))
    guard HTTPMethod.isKnown(method) else {
      return .error(
        501, code: "unknown_method", message: "\(method) is not a known HTTP method",
        hint: "use GET; methods are written in capitals", fields: [allow])
    }
    return .error(
      405, code: "method_not_allowed", message: "\(method) is not supported here", hint: "use \(allowed[0])",
      fields: [allow])
  }
}
