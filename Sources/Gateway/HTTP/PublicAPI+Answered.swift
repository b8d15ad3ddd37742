import HTTP1
import Transport

/// What becomes of an answer beside its way to the client: it is counted.
extension PublicAPI {
  func answered(
    _ request: HTTPRequestHead?, status: Int, bytes: Int, nanoseconds: UInt64, on connection: Connection
  ) {
    node.metrics.http.record(request?.path, status: status, nanoseconds: request == nil ? nil : nanoseconds)
  }
}
