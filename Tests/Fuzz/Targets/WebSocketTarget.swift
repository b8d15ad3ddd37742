import Bytes
import WebSocket

extension FuzzTarget {
  /// Frames to a server and to a client, however cut, beside a decoder that is written the long way from RFC 6455.
  static let webSocket = FuzzTarget("websocket", maxLength: 2048) { (bytes) throws(FuzzFailure) in
    for role in [WebSocketRole.server, .client] {
      for limits in [WebSocketLimits(), WebSocketLimits(messageBytes: 40, fragments: 3)] {
        let wanted = ReferenceFrames.read(Array(bytes), isServer: role == .server, limits)
        for pieces in [Cuts.whole(bytes), Cuts.random(bytes), Cuts.single(bytes)] {
          try requireSame(
            try read(pieces, by: WebSocketConnection(role: role, limits: limits), limits), wanted,
            "not what the reference reads (\(role), \(limits.messageBytes))")
        }
        try roundTrip(wanted, role, limits)
      }
    }
  }

  /// What a connection reads, its refusal included, and that it holds no more than its limits let it.
  /// - Parameter held: bytes that it may hold beyond a message and a control frame.
  static func read(
    _ pieces: [[UInt8]], by connection: consuming WebSocketConnection, _ limits: WebSocketLimits, held: Int = 0
  ) throws(FuzzFailure) -> [ReferenceFrames.Event] {
    var connection = connection
    var events: [ReferenceFrames.Event] = []
    for var piece in pieces {
      var failure: WebSocketError?
      piece.withUnsafeMutableBytes { raw in
        var input = raw
        do throws(WebSocketError) {
          while let event = try connection.next(&input) {
            switch event {
            case .text(let payload): events.append(.text(Array(payload)))
            case .binary(let payload): events.append(.binary(Array(payload)))
            case .ping(let payload): events.append(.ping(Array(payload)))
            case .pong(let payload): events.append(.pong(Array(payload)))
            case .close(let code, let reason, _): events.append(.close(code, reason))
            }
          }
        } catch {
          failure = error
        }
      }
      if let failure { return events + [.error(failure.code.rawValue)] }
      try require(
        connection.pendingBytes <= limits.messageBytes + held + 125 + 14, "\(connection.pendingBytes) bytes are held")
    }
    return events
  }

  /// Events written as frames are read as the same events.
  private static func roundTrip(
    _ events: [ReferenceFrames.Event], _ role: WebSocketRole, _ limits: WebSocketLimits
  ) throws(FuzzFailure) {
    var out = ByteBuffer()
    let mask: UInt32? = role == .server ? 0x37FA_213D : nil
    var wanted: [ReferenceFrames.Event] = []
    for event in events {
      switch event {
      case .text(let payload): WebSocketFrame.append(.text, payload: payload.span.bytes, mask: mask, to: &out)
      case .binary(let payload): WebSocketFrame.append(.binary, payload: payload.span.bytes, mask: mask, to: &out)
      case .ping(let payload): WebSocketFrame.append(.ping, payload: payload.span.bytes, mask: mask, to: &out)
      case .pong(let payload): WebSocketFrame.append(.pong, payload: payload.span.bytes, mask: mask, to: &out)
      case .close(let code, let reason):
        if code == WebSocketCloseCode.noStatus.rawValue {
          WebSocketFrame.appendCloseReply(to: code, mask: mask, to: &out)
        } else {
          WebSocketFrame.appendClose(WebSocketCloseCode(rawValue: code), reason: reason, mask: mask, to: &out)
        }
      case .error: continue
      }
      wanted.append(event)
    }
    try requireSame(
      try read([Array(out.unsafeBytes)], by: WebSocketConnection(role: role, limits: limits), limits), wanted,
      "frames written are read differently")
  }
}

/// RFC 6455 section 5 the long way: all bytes at once, nothing kept between calls. Shares no code with
/// `WebSocketConnection`.
enum ReferenceFrames {
  enum Event: Equatable {
    case text([UInt8]), binary([UInt8]), ping([UInt8]), pong([UInt8])
    case close(UInt16, String)
    /// The close code of the refusal; always last.
    case error(UInt16)
  }

  static func read(_ bytes: [UInt8], isServer: Bool, _ limits: WebSocketLimits) -> [Event] {
    var events: [Event] = []
    var index = 0
    var message: (isText: Bool, bytes: [UInt8], announced: Int, fragments: Int)?
    while bytes.count - index >= 2 {
      let first = bytes[index]
      let second = bytes[index + 1]
      let opcode = first & 15
      let isFinal = first >= 128
      let short = Int(second & 127)
      let isControl = opcode >= 8
      if first & 0x70 != 0 || ![0, 1, 2, 8, 9, 10].contains(opcode) { return events + [.error(1002)] }
      if isControl, !isFinal || short > 125 { return events + [.error(1002)] }
      if opcode == 0, message == nil { return events + [.error(1002)] }
      if opcode == 1 || opcode == 2, message != nil { return events + [.error(1002)] }
      if (second >= 128) != isServer { return events + [.error(1002)] }
      let lengthBytes = short == 126 ? 2 : short == 127 ? 8 : 0
      let header = 2 + lengthBytes + (isServer ? 4 : 0)
      guard bytes.count - index >= header else { break }
      var length = UInt64(short)
      if lengthBytes > 0 {
        length = bytes[(index + 2)..<(index + 2 + lengthBytes)].reduce(0) { $0 << 8 | UInt64($1) }
        if length >= 1 << 63 || length < (lengthBytes == 2 ? 126 : 65536) { return events + [.error(1002)] }
      }
      if !isControl {
        let announced = message?.announced ?? 0
        let fragments = (message?.fragments ?? 0) + 1
        if length > UInt64(limits.messageBytes - announced) || fragments > limits.fragments {
          return events + [.error(1009)]
        }
        message = (
          message?.isText ?? (opcode == 1), message?.bytes ?? [], announced + Int(length), fragments
        )
      }
      let key = isServer ? Array(bytes[(index + header - 4)..<(index + header)]) : [0, 0, 0, 0]
      index += header
      let here = min(Int(length), bytes.count - index)
      let payload = (0..<here).map { bytes[index + $0] ^ key[$0 % 4] }
      index += here
      let isWhole = here == Int(length)
      if isControl {
        guard isWhole else { break }
        switch opcode {
        case 9: events.append(.ping(payload))
        case 10: events.append(.pong(payload))
        default: return events + [close(payload)]
        }
        continue
      }
      message!.bytes += payload
      let text = message!.isText ? ReferenceUTF8.check(message!.bytes) : .whole
      if text == .wrong { return events + [.error(1007)] }
      guard isWhole, isFinal else { continue }
      if text == .cut { return events + [.error(1007)] }
      events.append(message!.isText ? .text(message!.bytes) : .binary(message!.bytes))
      message = nil
    }
    return events
  }

  private static func close(_ payload: [UInt8]) -> Event {
    if payload.isEmpty { return .close(1005, "") }
    if payload.count == 1 { return .error(1002) }
    let code = UInt16(payload[0]) * 256 + UInt16(payload[1])
    let registered: Set<UInt16> = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014]
    guard registered.contains(code) || (3000...4999).contains(code) else { return .error(1002) }
    let reason = Array(payload[2...])
    guard ReferenceUTF8.check(reason) == .whole else { return .error(1007) }
    return .close(code, String(decoding: reason, as: UTF8.self))
  }
}

/// UTF-8 by what its bits spell (RFC 3629): a sequence is wrong as soon as nothing that may follow makes it a scalar
/// value.
enum ReferenceUTF8 {
  enum Verdict { case whole, cut, wrong }

  static func check(_ bytes: [UInt8]) -> Verdict {
    var index = 0
    while index < bytes.count {
      let lead = bytes[index]
      let (more, bits, least): (Int, UInt32, UInt32)
      switch lead {
      case 0..<0x80: (more, bits, least) = (0, UInt32(lead), 0)
      case 0xC0..<0xE0: (more, bits, least) = (1, UInt32(lead & 31), 0x80)
      case 0xE0..<0xF0: (more, bits, least) = (2, UInt32(lead & 15), 0x800)
      case 0xF0..<0xF8: (more, bits, least) = (3, UInt32(lead & 7), 0x10000)
      default: return .wrong
      }
      var low = bits
      var high = bits
      for step in 1...4 where step <= more {
        var next: UInt8?
        if index + step < bytes.count {
          next = bytes[index + step]
          if next! & 0xC0 != 0x80 { return .wrong }
        }
        low = low << 6 | UInt32(next.map { $0 & 63 } ?? 0)
        high = high << 6 | UInt32(next.map { $0 & 63 } ?? 63)
      }
      guard hasScalar(low, high, least) else { return .wrong }
      if index + more >= bytes.count { return .cut }
      index += more + 1
    }
    return .whole
  }

  /// Whether some scalar value of at least `least` lies in `low...high`.
  private static func hasScalar(_ low: UInt32, _ high: UInt32, _ least: UInt32) -> Bool {
    let low = max(low, least)
    let high = min(high, 0x10FFFF)
    guard low <= high else { return false }
    return !(low >= 0xD800 && high <= 0xDFFF)
  }
}
