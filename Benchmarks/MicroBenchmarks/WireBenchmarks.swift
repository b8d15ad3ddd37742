import Bytes
import TestSupport
import WebSocket

/// WebSocket frames, as the server sends and receives them and as a feed receives them.
enum WireBenchmarks {
  static var all: [MicroBenchmark] {
    [
      MicroBenchmark(name: "websocket: encode a 300-byte frame") {
        let sink = Buffer()
        let payload = [UInt8](repeating: 0x61, count: 300)
        return PreparedBenchmark(bytes: 300 * MicroBenchmark.batch) {
          sink.bytes.removeAll()
          for _ in 0..<MicroBenchmark.batch {
            payload.withUnsafeBytes { WebSocketFrame.append(.text, payload: $0, mask: nil, to: &sink.bytes) }
          }
          return sink.bytes.count
        }
      },
      MicroBenchmark(name: "websocket: decode a 100-byte masked frame") {
        decode(size: 100, role: .server, perRead: 1)
      },
      MicroBenchmark(name: "websocket: decode a 2,000-byte unmasked frame") {
        decode(size: 2_000, role: .client, perRead: 8)
      },
    ]
  }

  /// `perRead` frames stand in each read, as they come from a socket.
  private static func decode(size: Int, role: WebSocketRole, perRead: Int) -> PreparedBenchmark {
    var random = SeededGenerator(seed: 12)
    let wire = Buffer()
    for _ in 0..<perRead {
      let payload = (0..<size).map { _ in UInt8.random(in: 0x20...0x7E, using: &random) }
      let mask = role == .server ? UInt32.random(in: 1...UInt32.max, using: &random) : nil
      payload.withUnsafeBytes { WebSocketFrame.append(.text, payload: $0, mask: mask, to: &wire.bytes) }
    }
    let reading = Buffer()
    let connection = Connection(role)
    return PreparedBenchmark(bytes: size * MicroBenchmark.batch) {
      var total = 0
      for _ in 0..<(MicroBenchmark.batch / perRead) {
        // A read fills the buffer anew: unmasking is done in place.
        reading.bytes.removeAll()
        reading.bytes.append(wire.bytes.unsafeBytes)
        var input = reading.bytes.unsafeMutableBytes
        do {
          while let event = try connection.state.next(&input) {
            if case .text(let payload) = event { total &+= payload.count }
          }
        } catch { total = -1 }
      }
      precondition(total == size * MicroBenchmark.batch, "a frame was not read")
      return total
    }
  }

  private final class Connection {
    var state: WebSocketConnection
    init(_ role: WebSocketRole) { state = WebSocketConnection(role: role) }
  }
}
