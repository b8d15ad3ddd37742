import Bytes
import HTTP1
import Transport

/// What answers the requests of one port. Called on the connection's loop.
protocol HTTPResponder: AnyObject {
  /// Answers `request` by calling `reply` once, on the same loop, now or later.
  func respond(to request: HTTPRequestHead, reply: @escaping (HTTPResponse) -> Void)
  /// Takes the connection over if `request` asks for that; bytes that came after the request are in `rest`. False: not its business.
  func upgrade(_ request: HTTPRequestHead, on connection: Connection, rest: UnsafeMutableRawBufferPointer) -> Bool
  /// The connection is gone.
  func ended(_ connection: Connection)
  /// The date for `Date` fields, renewed once a second.
  var httpDate: String { get }
}

/// The HTTP/1.1 side of one client connection: one request at a time, in order; what comes early waits. Owned by one loop.
final class HTTPSession: ConnectionHandler {
  /// Requests on one connection, so that balancers see fresh ones now and then.
  private static let requestLimit = 10_000
  /// Bytes that may wait behind a request that is being answered.
  private static let pipelineLimit = 64 << 10
  /// A head and body must be complete within this time of its first byte, and the next request begin within it, µs.
  static let timeLimit: Int64 = 30_000_000

  private unowned let responder: any HTTPResponder
  private unowned let connection: Connection
  private var parser = HTTPRequestParser()
  private var waiting = ByteBuffer()
  private var isAnswering = false
  private var isFinished = false
  /// The gateway goes: no other request is answered.
  private var isLast = false
  private var requests = 0
  /// When the connection last made progress, monotonic µs; set by whoever watches time-outs.
  var progressAt: Int64

  init(connection: Connection, responder: any HTTPResponder) {
    self.connection = connection
    self.responder = responder
    self.progressAt = connection.loop.moment
  }

  /// Closes the connection if a request has been under way, or none has come, for too long.
  func closeIfIdle(at moment: Int64) {
    guard !isAnswering, !isFinished, moment - progressAt > HTTPSession.timeLimit else { return }
    if parser.pendingBytes > 0 {
      send(
        .error(
          408, code: "timeout", message: "the request was not complete after \(HTTPSession.timeLimit / 1_000_000) s"),
        keepAlive: false)
    }
    isFinished = true
    connection.close()
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    guard !isFinished else { return }
    if isAnswering || !waiting.isEmpty {
      guard waiting.count + bytes.count <= HTTPSession.pipelineLimit else { return connection.abort() }
      waiting.append(UnsafeRawBufferPointer(bytes))
      if !isAnswering { readWaiting() }
      return
    }
    let taken = read(bytes)
    if taken < bytes.count, !isFinished {
      waiting.append(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
    }
  }

  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    isFinished = true
    responder.ended(connection)
  }

  /// Closes after the answer that is under way, if there is one, and says so in it.
  func closeForDrain() {
    isLast = true
    guard !isFinished, !isAnswering else { return }
    isFinished = true
    connection.close()
  }

  private func readWaiting() {
    while !isAnswering, !isFinished, !waiting.isEmpty {
      let taken = read(waiting.unsafeMutableBytes)
      guard !isFinished else { return waiting.release() }
      waiting.consume(taken)
    }
    if waiting.isEmpty { waiting.release() }
  }

  /// Reads requests until one must be waited for; answers how many bytes were taken.
  private func read(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
    var input = UnsafeRawBufferPointer(bytes)
    do throws(HTTPError) {
      while !isAnswering, !isFinished, let (head, _) = try parser.next(&input) {
        progressAt = connection.loop.moment
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[(bytes.count - input.count)...])
        if responder.upgrade(head, on: connection, rest: rest) {
          isFinished = true
          return bytes.count
        }
        answer(head)
      }
      if !isAnswering, !isFinished, parser.takeExpectation() { sendContinue() }
    } catch {
      send(.error(error.status, code: "bad_request", message: error.reason, fields: error.fields), keepAlive: false)
      isFinished = true
      connection.close()
      return bytes.count
    }
    return bytes.count - input.count
  }

  private func answer(_ head: HTTPRequestHead) {
    requests += 1
    isAnswering = true
    let keepAlive = head.keepsAlive && requests < HTTPSession.requestLimit
    let isHead = head.method == "HEAD"
    let ifNoneMatch = head.fields["If-None-Match"]
    responder.respond(to: head) { [self] response in
      guard !isFinished else { return }
      let keepAlive = keepAlive && !isLast
      isAnswering = false
      progressAt = connection.loop.moment
      send(response, keepAlive: keepAlive, isHead: isHead, ifNoneMatch: ifNoneMatch)
      if keepAlive {
        // Inside `read` the loop there goes on; after an answer that came later, what has waited is read now.
        if !waiting.isEmpty { readWaiting() }
      } else {
        isFinished = true
        connection.close()
      }
    }
  }

  private func sendContinue() {
    var out = ByteBuffer(capacity: 32)
    out.append("HTTP/1.1 100 Continue\r\n\r\n")
    connection.write(out.bytes)
  }

  private func send(_ response: HTTPResponse, keepAlive: Bool, isHead: Bool = false, ifNoneMatch: String? = nil) {
    var fields = HTTPFields(response.fields)
    fields.append("Access-Control-Allow-Origin", "*")
    var status = response.status
    var bodyLength: Int? = response.body.count
    if status == 200 {
      let tag = response.entityTag
      fields.append("ETag", tag)
      if let ifNoneMatch, HTTPSession.matches(ifNoneMatch, tag) {
        status = 304
        bodyLength = nil
      }
    }
    if bodyLength != nil { fields.append("Content-Type", response.contentType) }
    var out = ByteBuffer(capacity: 512 + response.body.count)
    HTTPEncoder.append(
      HTTPResponseHead(status: status, fields: fields), bodyLength: bodyLength, keepAlive: keepAlive,
      date: responder.httpDate,
      to: &out)
    if bodyLength != nil, !isHead { out.append(response.body) }
    connection.write(out.bytes)
  }

  /// Whether a list of entity tags holds `tag` (RFC 9110 section 13.1.2, weak comparison).
  static func matches(_ list: String, _ tag: String) -> Bool {
    list.split(separator: ",").contains { item in
      var item = item.drop { $0 == " " }
      while item.last == " " { item = item.dropLast() }
      if item.hasPrefix("W/") { item = item.dropFirst(2) }
      return item == "*" || item == tag
    }
  }
}
