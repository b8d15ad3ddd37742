import Bytes
import Testing

@testable import NATS

/// An operation as text, so that lists of them can be compared.
func text(_ operation: NATSOperation) -> String {
  switch operation {
  case .info(let json): "INFO \(text(json))"
  case .message(let message): text(message)
  case .ping: "PING"
  case .pong: "PONG"
  case .ok: "+OK"
  case .error(let line): "-ERR \(text(line))"
  }
}

func text(_ message: NATSMessage) -> String {
  "\(text(message.subject)) \(message.subscription) [\(text(message.reply))] \(text(message.headers))|"
    + text(message.payload)
}

func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

/// What a parser makes of the pieces; an error is the last entry.
func operations(_ pieces: [[UInt8]], limits: NATSLimits = .init()) -> [String] {
  var parser = NATSParser(limits: limits)
  var said: [String] = []
  for piece in pieces {
    let goesOn = piece.withUnsafeBytes { bytes in
      var input = bytes
      do throws(NATSError) {
        while let operation = try parser.next(&input) { said.append(text(operation)) }
        if !input.isEmpty { Issue.record("next returned nil and left \(input.count) bytes") }
        return true
      } catch {
        said.append("error: \(error)")
        return false
      }
    }
    if !goesOn { break }
  }
  return said
}

func operations(_ text: String, limits: NATSLimits = .init()) -> [String] {
  operations([Array(text.utf8)], limits: limits)
}

func subject(_ text: String) -> NATSSubject {
  do throws(NATSSubjectError) { return try NATSSubject(text) } catch { preconditionFailure("\(text): \(error)") }
}

func pattern(_ text: String) -> NATSSubjectPattern {
  do throws(NATSSubjectError) { return try NATSSubjectPattern(text) } catch { preconditionFailure("\(text): \(error)") }
}

func written(_ body: (inout ByteBuffer) -> Void) -> String {
  var out = ByteBuffer()
  body(&out)
  return out.description
}

/// The seed of a key that no server has: its bytes are 0 to 31.
let userSeed = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y"
