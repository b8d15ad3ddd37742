import Bytes
import NATS
import TestSupport

/// The NATS protocol, as an ingest publishes frames and an edge receives them: 300-byte frames on 200 subjects, 64 in a
/// turn.
enum NATSBenchmarks {
  static var all: [MicroBenchmark] {
    [
      MicroBenchmark(name: "nats: publish a 300-byte frame") { publish(headers: nil) },
      MicroBenchmark(name: "nats: publish a 300-byte frame with a header") {
        publish(headers: Array("NATS/1.0\r\nTg: 00000000000000000000\r\n\r\n".utf8))
      },
      MicroBenchmark(name: "nats: parse a 300-byte message") { parse(hasHeaders: false) },
      MicroBenchmark(name: "nats: parse a 300-byte message with a header") { parse(hasHeaders: true) },
    ]
  }

  private static let frame = [UInt8](repeating: 0x61, count: 300)
  /// Messages in one send, and in one read.
  private static let turn = 64

  private static func subjects() -> [NATSSubject] {
    (0..<200).compactMap { try? NATSSubject("tg.main.f.kraken.BTC-USD\($0).book.d25.100") }
  }

  private final class State {
    var connection = NATSConnection(NATSOptions(name: "bench"), now: 0)
    var output = ByteBuffer()
    let wire = Buffer()

    init() {
      Array("INFO {\"headers\":true}\r\nPONG\r\n".utf8).withUnsafeBytes { bytes in
        var input = bytes
        do {
          while try connection.next(&input, now: 0, output: &output) != nil {}
        } catch { preconditionFailure("\(error)") }
      }
      precondition(connection.isConnected)
      output.removeAll()
    }
  }

  private static func publish(headers: [UInt8]?) -> PreparedBenchmark {
    let state = State()
    let subjects = subjects()
    return PreparedBenchmark(bytes: frame.count * MicroBenchmark.batch) {
      var total = 0
      frame.withUnsafeBytes { frame in
        for index in 0..<MicroBenchmark.batch {
          if index % turn == 0 {
            total &+= state.output.count
            state.output.removeAll()
          }
          do {
            if let headers {
              try headers.withUnsafeBytes { block in
                try state.connection.publish(subjects[index % 200], headers: block, payload: frame, to: &state.output)
              }
            } else {
              try state.connection.publish(subjects[index % 200], payload: frame, to: &state.output)
            }
          } catch { preconditionFailure("\(error)") }
        }
      }
      return total &+ state.output.count
    }
  }

  private static func parse(hasHeaders: Bool) -> PreparedBenchmark {
    let state = State()
    let headers = "NATS/1.0\r\nTg: 00000000000000000000\r\n\r\n"
    let count = MicroBenchmark.batch / 50
    for (index, subject) in subjects().prefix(50).enumerated() {
      state.wire.bytes.append(hasHeaders ? "HMSG " : "MSG ")
      state.wire.bytes.append(subject.bytes)
      let sizes = hasHeaders ? "\(headers.utf8.count) \(headers.utf8.count + 300)\r\n\(headers)" : "300\r\n"
      state.wire.bytes.append(" \(index + 1) \(sizes)")
      state.wire.bytes.append(frame)
      state.wire.bytes.append("\r\n")
    }
    return PreparedBenchmark(bytes: frame.count * MicroBenchmark.batch) {
      var total = 0
      for _ in 0..<count {
        var input = state.wire.bytes.unsafeBytes
        do {
          while let event = try state.connection.next(&input, now: 0, output: &state.output) {
            if case .message(let message) = event { total &+= message.payload.count &+ Int(message.subscription & 1) }
          }
        } catch { preconditionFailure("\(error)") }
      }
      precondition(total >= 300 * MicroBenchmark.batch, "a message was not read")
      return total
    }
  }
}
