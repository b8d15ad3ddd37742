import Bytes

/// Which end of the connection this is: clients mask what they send, servers must not (RFC 6455 section 5.1).
package enum WebSocketRole: Sendable { case client, server }

/// A received event. A payload is in the input or in the connection's own buffer, and is valid until the next call of
/// `next`.
package enum WebSocketEvent {
  case text(UnsafeRawBufferPointer)
  case binary(UnsafeRawBufferPointer)
  /// A pong with the same payload must be sent, unless a close frame was: `WebSocketFrame.append(.pong, …)`.
  case ping(UnsafeRawBufferPointer)
  case pong(UnsafeRawBufferPointer)
  /// The peer began (or answered) the closing handshake; 1005 if it gave no code. If `mustReply`, send a close frame.
  case close(code: UInt16, reason: String, mustReply: Bool)
}

/// The receiving half of RFC 6455 after the handshake, for one connection and either role. Sans-IO.
///
/// A whole unfragmented message in one read is unmasked in place and returned without a copy; only split messages are
/// copied. Text is validated as it arrives, so a bad octet is rejected in the read in which it arrives. Compressed
/// messages (RFC 7692) are inflated as they arrive, up to the limit of a message.
package struct WebSocketConnection: ~Copyable {
  /// The buffer of split messages is kept for the next one up to this size, bytes; a larger one is freed.
  package static let keptBytes = 4 << 10

  /// The state of the closing handshake, and the next action.
  package private(set) var closeState = WebSocketCloseState.open

  private let isServer: Bool
  private let limits: WebSocketLimits
  /// The reserved bits that no frame may have; without RSV1 if permessage-deflate was negotiated.
  private let forbiddenBits: UInt8

  // The permessage-deflate parameters of the peer's messages.
  private let pool: InflaterPool?
  private let inflateBits: Int
  private let peerTakesOver: Bool
  /// Whether the present message has RSV1.
  private var isCompressed = false
  /// Kept during a compressed message, or for the whole connection if the peer uses context takeover.
  private var inflater: Inflater?

  // The present frame.
  private var inFrame = false
  private var opcode: UInt8 = 0
  private var isFinal = false
  /// The key in memory order.
  private var key: UInt32 = 0
  /// The payload bytes that were read, and that are missing.
  private var taken = 0
  private var remaining = 0

  // The present message: 0, or the opcode of its first frame.
  private var messageOpcode: UInt8 = 0
  private var messageBytes = 0
  private var fragments = 0
  private var utf8 = UTF8Validator()

  private var header = PartialHeader()
  private var gathered = ByteBuffer()
  private var control = ByteBuffer()
  private var handedOut = false

  /// A connection after the handshake. It allocates nothing until a message is split or compressed.
  /// - Parameters:
  ///   - deflate: the negotiated parameters; nil: RSV1 is rejected.
  ///   - inflaters: the pool that lends contexts for the time of a message; nil: the connection has its own. A peer
  ///     with context takeover needs its own in any case.
  package init(
    role: WebSocketRole, limits: WebSocketLimits = .init(), deflate: PerMessageDeflate? = nil,
    inflaters: InflaterPool? = nil
  ) {
    self.isServer = role == .server
    self.limits = limits
    self.forbiddenBits = deflate == nil ? 0x70 : 0x30
    let peerTakesOver =
      switch (deflate, role) {
      case (nil, _): false
      case (let deflate?, .server): !deflate.clientNoContextTakeover
      case (let deflate?, .client): !deflate.serverNoContextTakeover
      }
    self.peerTakesOver = peerTakesOver
    self.inflateBits = (role == .server ? deflate?.clientMaxWindowBits : deflate?.serverMaxWindowBits) ?? 15
    self.pool = peerTakesOver ? nil : inflaters
  }

  /// The total size of inflated messages.
  package private(set) var inflatedBytes: UInt64 = 0
  /// The number of frames that have begun, fragments included.
  package private(set) var framesBegun: UInt64 = 0

  /// The stored bytes of an unfinished frame or message.
  package var pendingBytes: Int {
    let message = gathered.count + (inflater?.output.count ?? 0)
    guard handedOut else { return message + control.count + header.count }
    return opcode >= 8 ? message : 0
  }

  /// Whether the connection has an inflating context now.
  package var holdsInflater: Bool { inflater != nil }

  /// Notes that a close frame was sent, so that a close of the peer needs no reply.
  package mutating func didSendClose() {
    switch closeState {
    case .open: closeState = .sent
    case .received: closeState = .closed
    case .sent, .closed, .failed: break
    }
  }

  /// The next event in `input`, whose start is moved past the read bytes; nil when all are read. After an error, or
  /// after a received close, everything else is ignored.
  /// - Throws: 1002, 1007 or 1009 with the reason; send it in a close frame and drop the transport.
  /// - Complexity: O(bytes taken). No allocation for a message that lies whole in `input`.
  package mutating func next(
    _ input: inout UnsafeMutableRawBufferPointer
  ) throws(WebSocketError) -> WebSocketEvent? {
    if handedOut { releaseHandedOut() }
    guard closeState == .open || closeState == .sent else {
      input = UnsafeMutableRawBufferPointer(start: input.baseAddress.map { $0 + input.count }, count: 0)
      return nil
    }
    do throws(WebSocketError) {
      while input.count > 0 {
        if !inFrame {
          guard try takeHeader(&input) else { return nil }
        }
        if let event = try takePayload(&input) { return event }
      }
      return nil
    } catch {
      closeState = .failed
      gathered.release()
      control.release()
      inflater = nil
      throw error
    }
  }

  // MARK: Header

  /// Returns true once a frame's header is complete; its payload is read next.
  @inline(__always)
  private mutating func takeHeader(_ input: inout UnsafeMutableRawBufferPointer) throws(WebSocketError) -> Bool {
    if header.count == 0, input.count >= 2, let base = input.baseAddress {
      let first = base.load(as: UInt8.self)
      let second = base.load(fromByteOffset: 1, as: UInt8.self)
      let size = Self.headerSize(second)
      if input.count >= size {
        try beginFrame(UnsafeRawPointer(base), first, second, size)
        input = UnsafeMutableRawBufferPointer(start: base + size, count: input.count &- size)
        return true
      }
    }
    return try takeSplitHeader(&input)
  }

  /// The stored bytes of an incomplete header, at most 14.
  @inline(never)
  private mutating func takeSplitHeader(
    _ input: inout UnsafeMutableRawBufferPointer
  ) throws(WebSocketError) -> Bool {
    while let byte = input.first {
      input = UnsafeMutableRawBufferPointer(rebasing: input.dropFirst())
      header.append(byte)
      guard header.count >= 2 else { continue }
      if header.count == 2 { try check(header[0], header[1]) }
      let size = Self.headerSize(header[1])
      guard header.count == size else { continue }
      let whole = header
      header.count = 0
      try withUnsafeBytes(of: whole.bytes) { raw throws(WebSocketError) in
        try beginFrame(raw.baseAddress!, whole[0], whole[1], size)
      }
      return true
    }
    return false
  }

  /// The length of a header, by its second byte.
  @inline(__always)
  private static func headerSize(_ second: UInt8) -> Int {
    let length = second & 0x7F
    return 2 &+ (length < 126 ? 0 : length == 126 ? 2 : 8) &+ (second & 0x80 != 0 ? 4 : 0)
  }

  /// Checks the first two bytes (RFC 6455 sections 5.1, 5.2, 5.4 and 5.5).
  @inline(__always)
  private func check(_ first: UInt8, _ second: UInt8) throws(WebSocketError) {
    let opcode = first & 0x0F
    // The valid opcodes are 0, 1, 2 and 8, 9, 10.
    let isKnown = (0b0000_0111_0000_0111 as UInt16) &>> UInt16(opcode) & 1 == 1
    let isControl = opcode >= 8
    let controlIsFine = !isControl || (first & 0x80 != 0 && second & 0x7F <= 125)
    let orderIsFine = isControl || (opcode == 0) == (messageOpcode != 0)
    let maskIsFine = (second & 0x80 != 0) == isServer
    // Only the first frame of a message may have RSV1 (RFC 7692 section 6).
    let bitsAreFine = first & forbiddenBits == 0 && (first & 0x40 == 0 || opcode &- 1 < 2)
    guard bitsAreFine, isKnown, controlIsFine, orderIsFine, maskIsFine else { throw refusal(first, second) }
  }

  /// The texts for the results of `check`.
  @inline(never)
  private func refusal(_ first: UInt8, _ second: UInt8) -> WebSocketError {
    let opcode = first & 0x0F
    let reason =
      switch opcode {
      case _ where first & forbiddenBits != 0: "a reserved bit is set that no extension was agreed on for"
      case 0 where first & 0x40 != 0, 8... where first & 0x40 != 0:
        "RSV1 is set on a frame that does not begin a message"
      case 3...7, 11...15: "the opcode \(opcode) does not exist"
      case 8... where first & 0x80 == 0: "a control frame must not be fragmented"
      case 8... where second & 0x7F > 125: "a control frame holds at most 125 bytes"
      case 0 where messageOpcode == 0: "a continuation frame has no message to continue"
      case 1...2 where messageOpcode != 0: "a new message begins before the last one has ended"
      default: isServer ? "a client must mask its frames" : "a server must not mask its frames"
      }
    return WebSocketError(.protocolError, reason)
  }

  /// Checks a complete header and begins the frame; no payload is stored before.
  @inline(__always)
  private mutating func beginFrame(
    _ base: UnsafeRawPointer, _ first: UInt8, _ second: UInt8, _ size: Int
  ) throws(WebSocketError) {
    try check(first, second)
    var length = Int(second & 0x7F)
    if length >= 126 { length = try extendedLength(base, length) }
    let opcode = first & 0x0F
    if opcode < 8 {
      let isFirst = opcode != 0
      let before = isFirst ? 0 : messageBytes
      let count = isFirst ? 1 : fragments &+ 1
      if isFirst { isCompressed = first & 0x40 != 0 }
      let limit = isCompressed ? compressedLimit : limits.messageBytes
      guard length <= limit &- before, count <= limits.fragments else { throw tooBig(count) }
      if isFirst {
        messageOpcode = opcode
        utf8 = UTF8Validator()
      }
      messageBytes = before &+ length
      fragments = count
    }
    framesBegun &+= 1
    self.opcode = opcode
    isFinal = first & 0x80 != 0
    key = isServer ? base.loadUnaligned(fromByteOffset: size &- 4, as: UInt32.self) : 0
    taken = 0
    remaining = length
    inFrame = true
  }

  /// The most bytes of a compressed message on the wire. Incompressible data grows by less than an eighth.
  private var compressedLimit: Int { limits.messageBytes &+ limits.messageBytes / 8 &+ 1024 }

  @inline(never)
  private func tooBig(_ fragments: Int) -> WebSocketError {
    WebSocketError(
      .messageTooBig,
      fragments > limits.fragments
        ? "a message has more than \(limits.fragments) fragments"
        : "a message is larger than \(limits.messageBytes) bytes")
  }

  /// The length in 2 or 8 bytes; it must need them, and its top bit must be 0 (RFC 6455 section 5.2).
  private func extendedLength(_ base: UnsafeRawPointer, _ short: Int) throws(WebSocketError) -> Int {
    if short == 126 {
      let length = Int(UInt16(bigEndian: base.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
      guard length >= 126 else { throw WebSocketError(.protocolError, "a length is not encoded in the fewest bytes") }
      return length
    }
    let length = UInt64(bigEndian: base.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
    guard length >> 63 == 0 else { throw WebSocketError(.protocolError, "a length has more than 63 bits") }
    guard length > 0xFFFF else { throw WebSocketError(.protocolError, "a length is not encoded in the fewest bytes") }
    return Int(length)
  }

  // MARK: Payload

  /// Reads the bytes of the present frame from `input`; returns an event if that completed one.
  @inline(__always)
  private mutating func takePayload(
    _ input: inout UnsafeMutableRawBufferPointer
  ) throws(WebSocketError) -> WebSocketEvent? {
    let count = min(remaining, input.count)
    guard let base = input.baseAddress else { return nil }
    let chunk = UnsafeRawBufferPointer(start: base, count: count)
    input = UnsafeMutableRawBufferPointer(start: base + count, count: input.count &- count)
    if isServer { Masking.apply(base, count: count, key: key, phase: taken) }
    remaining &-= count
    taken &+= count
    inFrame = remaining > 0
    if opcode >= 8 { return try takeControl(chunk) }
    if isCompressed { return try takeCompressed(chunk) }
    if messageOpcode == 1, !utf8.accept(chunk) { throw Self.notUTF8 }
    guard !inFrame, isFinal else {
      gathered.append(chunk)
      return nil
    }
    if messageOpcode == 1, !utf8.isComplete { throw Self.notUTF8 }
    let isText = messageOpcode == 1
    messageOpcode = 0
    if gathered.isEmpty { return isText ? .text(chunk) : .binary(chunk) }
    gathered.append(chunk)
    handedOut = true
    return isText ? .text(gathered.unsafeBytes) : .binary(gathered.unsafeBytes)
  }

  /// A piece of a compressed message: inflated at once, and its text checked as far as it goes.
  @inline(never)
  private mutating func takeCompressed(_ chunk: UnsafeRawBufferPointer) throws(WebSocketError) -> WebSocketEvent? {
    let inflater = self.inflater ?? pool?.borrow(windowBits: inflateBits) ?? Inflater(windowBits: inflateBits)
    self.inflater = inflater
    let isText = messageOpcode == 1
    let isLast = !inFrame && isFinal
    let before = inflater.output.count
    do throws(Inflater.Failure) {
      try inflater.inflate(chunk, limit: limits.messageBytes)
      if isLast { try inflater.finish(limit: limits.messageBytes) }
    } catch {
      switch error {
      case .tooBig: throw tooBig(0)
      case .damaged: throw WebSocketError(.invalidPayload, "a compressed message is damaged")
      case .noMemory: throw WebSocketError(.internalError, "no memory to inflate with")
      }
    }
    inflatedBytes &+= UInt64(inflater.output.count &- before)
    if isText, !utf8.accept(UnsafeRawBufferPointer(rebasing: inflater.output.unsafeBytes[before...])) {
      throw Self.notUTF8
    }
    guard isLast else { return nil }
    if isText, !utf8.isComplete { throw Self.notUTF8 }
    messageOpcode = 0
    handedOut = true
    let payload = inflater.output.unsafeBytes
    return isText ? .text(payload) : .binary(payload)
  }

  /// Ends the context's message. The next message needs the context only with context takeover.
  private mutating func endCompressed() {
    guard let inflater else { return }
    if peerTakesOver {
      inflater.endMessage(keeping: Self.keptBytes)
    } else {
      self.inflater = nil
      if let pool { pool.giveBack(inflater) }
    }
  }

  private static var notUTF8: WebSocketError { WebSocketError(.invalidPayload, "a text message is not UTF-8") }

  @inline(never)
  private mutating func takeControl(_ chunk: UnsafeRawBufferPointer) throws(WebSocketError) -> WebSocketEvent? {
    var payload = chunk
    if inFrame || !control.isEmpty {
      control.append(chunk)
      if inFrame { return nil }
      payload = control.unsafeBytes
      handedOut = true
    }
    switch opcode {
    case 9: return .ping(payload)
    case 10: return .pong(payload)
    default: return try takeClose(payload)
    }
  }

  /// RFC 6455 section 5.5.1: empty, or a code and a reason in UTF-8.
  private mutating func takeClose(_ payload: UnsafeRawBufferPointer) throws(WebSocketError) -> WebSocketEvent {
    var code = WebSocketCloseCode.noStatus
    var reason = ""
    if payload.count == 1 { throw WebSocketError(.protocolError, "a close frame holds one byte; a code has two") }
    if payload.count >= 2 {
      code = WebSocketCloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1]))
      guard code.isSendable else {
        throw WebSocketError(.protocolError, "the close code \(code.rawValue) may not be sent")
      }
      let text = UnsafeRawBufferPointer(rebasing: payload.dropFirst(2))
      var validator = UTF8Validator()
      guard validator.accept(text), validator.isComplete else {
        throw WebSocketError(.invalidPayload, "a close reason is not UTF-8")
      }
      reason = String(decoding: text, as: UTF8.self)
    }
    let mustReply = closeState == .open
    closeState = mustReply ? .received : .closed
    gathered.release()
    control.release()
    inflater = nil
    handedOut = false
    return .close(code: code.rawValue, reason: reason, mustReply: mustReply)
  }

  /// Forgets the payload that the last call handed out of a buffer.
  @inline(never)
  private mutating func releaseHandedOut() {
    handedOut = false
    // A control frame may have come amid a message, whose fragments must stay.
    if opcode >= 8 {
      control.release()
    } else if isCompressed {
      endCompressed()
    } else if gathered.count > Self.keptBytes {
      gathered.release()
    } else {
      gathered.removeAll()
    }
  }
}

/// The bytes of a frame header that is cut: at most 2 + 8 + 4.
struct PartialHeader {
  var bytes: (UInt64, UInt64) = (0, 0)
  var count = 0

  subscript(index: Int) -> UInt8 { withUnsafeBytes(of: bytes) { $0[index] } }

  mutating func append(_ byte: UInt8) {
    withUnsafeMutableBytes(of: &bytes) { $0[count] = byte }
    count += 1
  }
}
