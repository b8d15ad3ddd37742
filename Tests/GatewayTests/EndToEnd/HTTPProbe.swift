import Bytes
import Foundation
import HTTP1
import Transport

/// What a server answered, as the tests look at it.
struct Answer: @unchecked Sendable {
  // `@unchecked`: made once from the response and only read afterwards.
  let status: Int
  let fields: HTTPFields
  let body: [UInt8]
  let text: String
  let json: [String: Any]
}

/// One request on a connection of its own.
final class HTTPProbe: ConnectionHandler {
  private var parser: HTTPResponseParser
  private var completion: ((Result<Answer, ProbeError>) -> Void)?

  private init(isHead: Bool, _ completion: @escaping (Result<Answer, ProbeError>) -> Void) {
    parser = HTTPResponseParser(limits: HTTPLimits(bodyBytes: 16 << 20), isHead: isHead)
    self.completion = completion
  }

  /// - Parameters:
  ///   - host: what it calls the server; its address if nil.
  ///   - closes: whether it says `Connection: close`.
  static func send(
    _ method: String, _ target: String, to address: SocketAddress, host: String? = nil, fields: [HTTPField] = [],
    body: [UInt8] = [], tls: TLSClientContext? = nil, closes: Bool = true, loop: EventLoop
  ) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
      loop.execute {
        let probe = HTTPProbe(isHead: method == "HEAD") { result in continuation.resume(with: result.mapError { $0 }) }
        Connector.connect(host: address.host, port: address.port, tls: tls, loop: loop, handler: probe) { result in
          switch result {
          case .success(let connection):
            var out = ByteBuffer()
            let all =
              [HTTPField("Host", host ?? address.description)] + (closes ? [HTTPField("Connection", "close")] : [])
              + fields
            HTTPEncoder.append(
              HTTPRequestHead(method: method, target: target, fields: HTTPFields(all)), bodyLength: body.count, to: &out
            )
            out.append(body)
            connection.write(out.bytes)
          case .failure(let error): probe.finish(.failure(ProbeError(description: error.description)))
          }
        }
      }
    }
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    do {
      guard let (head, body) = try parser.next(&input) else { return }
      let json = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
      finish(
        .success(
          Answer(
            status: head.status, fields: head.fields, body: body, text: String(decoding: body, as: UTF8.self),
            json: json)))
      connection.abort()
    } catch {
      finish(.failure(ProbeError(description: "\(error)")))
    }
  }

  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    finish(.failure(ProbeError(description: "closed: \(reason)")))
  }

  private func finish(_ result: Result<Answer, ProbeError>) {
    completion?(result)
    completion = nil
  }
}
