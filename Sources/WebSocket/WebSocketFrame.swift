import Bytes

/// The sending half: frames as bytes (RFC 6455 section 5.2).
package enum WebSocketFrame {
  /// RFC 6455 section 11.8.
  package enum Opcode: UInt8, Sendable { case continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 }

  /// Appends a whole frame. `mask`: nil from a server; four random bytes, fresh for each frame, from a client.
  ///
  /// - Parameters:
  ///   - payload: at most 125 bytes for close, ping and pong.
  ///   - mask: 0x37FA213D is 37 FA 21 3D on the wire.
  ///   - isFinal: false for every fragment of a message but the last; those after the first are `.continuation`.
  ///   - isCompressed: sets RSV1: `payload` begins a compressed message (RFC 7692 section 6).
  /// - Complexity: O(payload), one copy.
  package static func append(
    _ opcode: Opcode, payload: RawSpan, mask: UInt32?, isFinal: Bool = true, isCompressed: Bool = false,
    to out: inout ByteBuffer
  ) {
    payload.withUnsafeBytes {
      append(opcode, payload: $0, mask: mask, isFinal: isFinal, isCompressed: isCompressed, to: &out)
    }
  }

  /// Like the function above, for the payload of an event: a pong.
  package static func append(
    _ opcode: Opcode, payload: UnsafeRawBufferPointer, mask: UInt32?, isFinal: Bool = true, isCompressed: Bool = false,
    to out: inout ByteBuffer
  ) {
    precondition(opcode.rawValue < 8 || payload.count <= 125 && isFinal, "a control frame holds 125 bytes at most")
    precondition(!isCompressed || opcode == .text || opcode == .binary, "RSV1 begins a message")
    out.appendUnsafe(14 + payload.count) { room in
      let base = room.baseAddress!
      let size = writeHeader(opcode, length: payload.count, isMasked: mask != nil, isFinal: isFinal, at: base)
      if isCompressed { base.storeBytes(of: base.load(as: UInt8.self) | 0x40, as: UInt8.self) }
      guard let mask else {
        if payload.count > 0 { (base + size).copyMemory(from: payload.baseAddress!, byteCount: payload.count) }
        return size + payload.count
      }
      let key = mask.bigEndian
      base.storeBytes(of: key, toByteOffset: size, as: UInt32.self)
      let start = base + size + 4
      if payload.count > 0 {
        start.copyMemory(from: payload.baseAddress!, byteCount: payload.count)
        Masking.apply(start, count: payload.count, key: key, phase: 0)
      }
      return size + 4 + payload.count
    }
  }

  /// Appends a close frame; a reason over 123 bytes is cut at a character.
  package static func appendClose(_ code: WebSocketCloseCode, reason: String, mask: UInt32?, to out: inout ByteBuffer) {
    precondition(code.isSendable, "the close code \(code.rawValue) may not be sent")
    var payload: [UInt8] = [UInt8(code.rawValue >> 8), UInt8(code.rawValue & 0xFF)]
    for scalar in reason.unicodeScalars {
      guard payload.count + UTF8.width(scalar) <= 125 else { break }
      payload += UTF8.encode(scalar)!
    }
    payload.withUnsafeBytes { append(.close, payload: $0, mask: mask, to: &out) }
  }

  /// Appends the reply to a `.close` event: the same code, or none if the peer gave none (RFC 6455 section 5.5.1).
  package static func appendCloseReply(to code: UInt16, mask: UInt32?, to out: inout ByteBuffer) {
    if code == WebSocketCloseCode.noStatus.rawValue {
      append(.close, payload: UnsafeRawBufferPointer(start: nil, count: 0), mask: mask, to: &out)
    } else {
      appendClose(WebSocketCloseCode(rawValue: code), reason: "", mask: mask, to: &out)
    }
  }

  /// Reserves room for an unmasked header at the end of `out`, lets `body` append the payload, and then writes the
  /// header in front of it: a frame is encoded once, in one pass, into one run of bytes.
  ///
  /// The room fits a payload of 126 to 65535 bytes. A shorter one is moved by two bytes towards the front, a longer one
  /// by six towards the end.
  @inlinable
  package static func appendUnmasked(_ opcode: Opcode, to out: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void) {
    let start = out.count
    out.append("\0\0\0\0")
    body(&out)
    finishUnmasked(opcode, start: start, in: &out)
  }

  @usableFromInline
  static func finishUnmasked(_ opcode: Opcode, start: Int, in out: inout ByteBuffer) {
    let length = out.count - start - 4
    precondition(length >= 0, "the body of a frame must append to the buffer and do nothing else")
    precondition(opcode.rawValue < 8 || length <= 125, "a control frame holds 125 bytes at most")
    let size = length < 126 ? 2 : length <= 0xFFFF ? 4 : 10
    if size == 10 { out.append("\0\0\0\0\0\0") }
    let frame = out.unsafeMutableBytes.baseAddress! + start
    if size != 4 { (frame + size).copyMemory(from: frame + 4, byteCount: length) }
    _ = writeHeader(opcode, length: length, isMasked: false, isFinal: true, at: frame)
    out.truncate(to: start + size + length)
  }

  /// The offset of the payload of an unmasked frame with a complete header.
  package static func payloadStart(ofUnmasked frame: UnsafeRawBufferPointer) -> Int {
    precondition(frame.count >= 2 && frame[1] & 0x80 == 0, "a frame to a client has no mask")
    return frame[1] < 126 ? 2 : frame[1] == 126 ? 4 : 10
  }

  /// Writes a header without its key; returns its size: 2, 4 or 10.
  private static func writeHeader(
    _ opcode: Opcode, length: Int, isMasked: Bool, isFinal: Bool, at base: UnsafeMutableRawPointer
  ) -> Int {
    base.storeBytes(of: (isFinal ? 0x80 : 0) | opcode.rawValue, as: UInt8.self)
    let mask: UInt8 = isMasked ? 0x80 : 0
    if length < 126 {
      base.storeBytes(of: mask | UInt8(length), toByteOffset: 1, as: UInt8.self)
      return 2
    }
    if length <= 0xFFFF {
      base.storeBytes(of: mask | 126, toByteOffset: 1, as: UInt8.self)
      base.storeBytes(of: UInt16(length).bigEndian, toByteOffset: 2, as: UInt16.self)
      return 4
    }
    base.storeBytes(of: mask | 127, toByteOffset: 1, as: UInt8.self)
    base.storeBytes(of: UInt64(length).bigEndian, toByteOffset: 2, as: UInt64.self)
    return 10
  }
}
