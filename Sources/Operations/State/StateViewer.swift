import Bytes
import HTTP1
import Transport

/// A viewer of the gateway's state: an endless answer to a request, with a line of JSON a second. Owned by one loop.
final class StateViewer: ConnectionHandler {
  /// A viewer that takes no document for this long is closed, µs.
  static let patience: Int64 = 30_000_000

  private unowned let connection: Connection
  private var takenAt: Int64
  private let ended: (StateViewer) -> Void

  /// Answers the request at once; documents follow.
  /// - Parameter ended: called once, when the connection is gone.
  init(_ connection: Connection, date: String, ended: @escaping (StateViewer) -> Void) {
    self.connection = connection
    self.ended = ended
    takenAt = connection.loop.moment
    var out = ByteBuffer(capacity: 512)
    // Without a length the body ends with the connection (RFC 9112 section 6.3).
    HTTPEncoder.append(
      HTTPResponseHead(
        status: 200,
        fields: HTTPFields([
          HTTPField("Content-Type", "application/x-ndjson"), HTTPField("Cache-Control", "no-store"),
          HTTPField("X-Content-Type-Options", "nosniff"), HTTPField("X-Accel-Buffering", "no"),
        ])), bodyLength: nil, keepAlive: false, date: date, to: &out)
    connection.write(out.bytes)
  }

  /// Sends a document. Skips it if the previous one is still being sent.
  func show(_ document: SharedBytes) {
    let moment = connection.loop.moment
    if connection.queuedBytes > 0 {
      if moment - takenAt > Self.patience { connection.abort() }
      return
    }
    takenAt = moment
    connection.write(document)
  }

  // Input after the request is ignored.
  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {}
  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) { ended(self) }
}
