import Bytes
import HTTP1
import Transport

/// Refuses a connection: answers its first bytes, whatever they are, and closes.
///
/// A peer over its limit gets its answer after a delay, and is not read until then. So a peer that always reconnects at
/// once with 200 connections connects 200 times a second. Without the delay it connected 4,000 times a second, and
/// other clients waited for 17 ms.
package final class RefusalSession: ConnectionHandler {
  /// A connection that sends nothing is answered after this long.
  private static let patience: Duration = .seconds(2)
  /// How long a peer over its limit (429) waits for its answer; not longer than `Retry-After` says.
  static let pause: Duration = .seconds(1)

  private let response: HTTPResponse
  private let date: String
  private var timer: LoopTimer?
  private var isAnswered = false

  package init(_ connection: Connection, _ response: HTTPResponse, date: String) {
    self.response = response
    self.date = date
    if response.status == 429 { pause(connection) } else { waitForRequest(connection) }
  }

  private func pause(_ connection: Connection) {
    connection.pauseReading()
    timer = connection.loop.schedule(after: Self.pause) { [weak self, weak connection] in
      guard let self, let connection else { return }
      connection.resumeReading()
      waitForRequest(connection)
    }
  }

  private func waitForRequest(_ connection: Connection) {
    timer = connection.loop.schedule(after: Self.patience) { [weak self, weak connection] in
      guard let self, let connection else { return }
      answer(connection)
    }
  }

  private func answer(_ connection: Connection) {
    guard !isAnswered else { return }
    isAnswered = true
    timer?.cancel()
    timer = nil
    var fields = HTTPFields(response.fields)
    if let origin = response.allowedOrigin { fields.append("Access-Control-Allow-Origin", origin) }
    fields.append("Content-Type", response.contentType)
    response.appendGuards(to: &fields)
    var out = ByteBuffer(capacity: 512 + response.body.count)
    HTTPEncoder.append(
      HTTPResponseHead(status: response.status, fields: fields), bodyLength: response.body.count, keepAlive: false,
      date: date, to: &out)
    out.append(response.body)
    connection.write(out.bytes)
    connection.close()
  }

  package func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    answer(connection)
  }
  package func connectionDidDrain(_ connection: Connection) {}
  package func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    timer?.cancel()
    timer = nil
  }
}
