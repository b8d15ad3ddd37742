import Bytes
import Testing

@testable import WebSocket

/// An event with its payload copied out, to be compared.
enum Event: Equatable, CustomStringConvertible {
  case text([UInt8])
  case binary([UInt8])
  case ping([UInt8])
  case pong([UInt8])
  case close(UInt16, String, mustReply: Bool)
  case refused(UInt16)

  init(_ event: WebSocketEvent) {
    switch event {
    case .text(let bytes): self = .text(Array(bytes))
    case .binary(let bytes): self = .binary(Array(bytes))
    case .ping(let bytes): self = .ping(Array(bytes))
    case .pong(let bytes): self = .pong(Array(bytes))
    case .close(let code, let reason, let mustReply): self = .close(code, reason, mustReply: mustReply)
    }
  }

  static func text(_ text: String) -> Event { .text(Array(text.utf8)) }

  var description: String {
    switch self {
    case .text(let bytes): "text(\(bytes.count): \(bytes.prefix(8)))"
    case .binary(let bytes): "binary(\(bytes.count): \(bytes.prefix(8)))"
    case .ping(let bytes): "ping(\(bytes.count))"
    case .pong(let bytes): "pong(\(bytes.count))"
    case .close(let code, let reason, let mustReply): "close(\(code), \(reason), \(mustReply))"
    case .refused(let code): "refused(\(code))"
    }
  }
}

/// All events of `reads`, each given to the connection as one read; what is wrong ends them as `.refused`.
func events(
  _ reads: [[UInt8]], role: WebSocketRole = .server, limits: WebSocketLimits = .init()
) -> [Event] {
  var connection = WebSocketConnection(role: role, limits: limits)
  var events: [Event] = []
  for read in reads { feed(read, to: &connection, into: &events) }
  return events
}

func feed(_ read: [UInt8], to connection: inout WebSocketConnection, into events: inout [Event]) {
  let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: read.count, alignment: 1)
  defer { memory.deallocate() }
  memory.copyBytes(from: read)
  var input = memory
  do {
    while let event = try connection.next(&input) { events.append(Event(event)) }
    if !input.isEmpty { Issue.record("next returned nil and left \(input.count) bytes") }
  } catch {
    events.append(.refused(error.code.rawValue))
  }
}

/// `bytes` cut at each of `cuts`.
func pieces(_ bytes: [UInt8], at cuts: [Int]) -> [[UInt8]] {
  var result: [[UInt8]] = []
  var last = 0
  for cut in cuts.sorted() + [bytes.count] {
    result.append(Array(bytes[last..<cut]))
    last = cut
  }
  return result
}

/// A frame as bytes. `length` forces the encoding of the length: 7, 16 or 64 bits.
func frame(
  _ opcode: UInt8, _ payload: [UInt8], fin: Bool = true, rsv: UInt8 = 0, mask: UInt32? = 0x1234_5678, length: Int? = nil
) -> [UInt8] {
  var out: [UInt8] = [(fin ? 0x80 : 0) | rsv << 4 | opcode]
  let bit: UInt8 = mask == nil ? 0 : 0x80
  switch length ?? (payload.count < 126 ? 7 : payload.count <= 0xFFFF ? 16 : 64) {
  case 7: out.append(bit | UInt8(payload.count))
  case 16: out += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
  default: out += [bit | 127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
  }
  guard let mask else { return out + payload }
  let key = (0..<4).map { UInt8(truncatingIfNeeded: mask >> (24 - 8 * UInt32($0))) }
  return out + key + payload.enumerated().map { $1 ^ key[$0 % 4] }
}

func encoded(_ body: (inout ByteBuffer) -> Void) -> [UInt8] {
  var buffer = ByteBuffer()
  body(&buffer)
  return Array(buffer.unsafeBytes)
}

/// UTF-8 by the table of the Unicode Standard, one character at a time: the slow truth the fast validator is held to.
func naiveUTF8(_ bytes: [UInt8]) -> (isValid: Bool, isPrefix: Bool) {
  var index = 0
  while index < bytes.count {
    let first = bytes[index]
    let ranges: [ClosedRange<UInt8>]
    switch first {
    case 0x00...0x7F: ranges = []
    case 0xC2...0xDF: ranges = [0x80...0xBF]
    case 0xE0: ranges = [0xA0...0xBF, 0x80...0xBF]
    case 0xE1...0xEC, 0xEE...0xEF: ranges = [0x80...0xBF, 0x80...0xBF]
    case 0xED: ranges = [0x80...0x9F, 0x80...0xBF]
    case 0xF0: ranges = [0x90...0xBF, 0x80...0xBF, 0x80...0xBF]
    case 0xF1...0xF3: ranges = [0x80...0xBF, 0x80...0xBF, 0x80...0xBF]
    case 0xF4: ranges = [0x80...0x8F, 0x80...0xBF, 0x80...0xBF]
    default: return (false, false)
    }
    index += 1
    for range in ranges {
      guard index < bytes.count else { return (false, true) }
      guard range.contains(bytes[index]) else { return (false, false) }
      index += 1
    }
  }
  return (true, true)
}
