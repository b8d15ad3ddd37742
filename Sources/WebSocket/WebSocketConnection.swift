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
///
/// Between messages it has 32 bytes: all that belongs to an unfinished frame or message stands in an object of its own
/// (`PartialInput`). A server lets go of that with the message, because it has ten thousand peers whose messages are
/// small and mostly whole. A client keeps it with its buffer, because most messages of an exchange are cut somewhere.
package struct WebSocketConnection: ~Copyable {
  /// The buffer of split messages is kept for the next one up to this size, bytes; a larger one is freed.
  package static let keptBytes = 4 << 10

  /// The state of the closing handshake, and the next action.
  package private(set) var closeState = WebSocketCloseState.open

  private let isServer: Bool
  /// The reserved bits that no frame may have; without RSV1 if permessage-deflate was negotiated.
  private let forbiddenBits: UInt8
  /// The buffer that the payload of the last event is in.
  private var lender = Lender.none
  /// The number of frames that have begun, fragments included. It wraps around.
  package private(set) var framesBegun: UInt32 = 0
  /// Bytes and fragments of a message.
  private let byteLimit: UInt32
  private let fragmentLimit: UInt32
  /// Nil: permessage-deflate was not negotiated.
  private let inflation: MessageInflation?
  private var partial: PartialInput?

  /// Who holds a payload that was handed out.
  private enum Lender: UInt8 {
    /// Nothing was handed out, or it is in the input.
    case none
    case control, gathered, inflater
  }

  /// A connection after the handshake. It allocates nothing until a message is split or compressed.
  /// - Parameters:
  ///   - limits: each at most 2³² - 1.
  ///   - deflate: the negotiated parameters; nil: RSV1 is rejected.
  ///   - inflaters: the pool that lends contexts for the time of a message; nil: the connection has its own. A peer
  ///     with context takeover needs its own in any case.
  package init(
    role: WebSocketRole, limits: WebSocketLimits = .init(), deflate: PerMessageDeflate? = nil,
    inflaters: InflaterPool? = nil
  ) {
    isServer = role == .server
    byteLimit = UInt32(clamping: limits.messageBytes)
    fragmentLimit = UInt32(clamping: limits.fragments)
    forbiddenBits = deflate == nil ? 0x70 : 0x30
    inflation = deflate.map { MessageInflation($0, role: role, pool: inflaters) }
  }

  /// Whether the peer may send compressed messages.
  package var mayInflate: Bool { inflation != nil }
  /// The total size of inflated messages.
  package var inflatedBytes: UInt64 { inflation?.inflatedBytes ?? 0 }

  /// The stored bytes of an unfinished frame or message.
  package var pendingBytes: Int {
    let message = (partial?.gathered.count ?? 0) + (inflation?.inflater?.output.count ?? 0)
    switch lender {
    case .none: return message + (partial.map { $0.control.count + $0.header.count } ?? 0)
    case .control: return message
    case .gathered, .inflater: return 0
    }
  }

  /// Whether the connection has an inflating context now.
  package var holdsInflater: Bool { inflation?.inflater != nil }
  /// Whether anything is held of an unfinished frame or message, or kept for the next one.
  package var holdsInput: Bool { partial != nil }

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
    settle()
    guard closeState == .open || closeState == .sent else {
      input = UnsafeMutableRawBufferPointer(start: input.baseAddress.map { $0 + input.count }, count: 0)
      return nil
    }
    do throws(WebSocketError) {
      while input.count > 0 {
        let frame: PartialFrame
        if let begun = partial?.frame {
          frame = begun
        } else {
          guard let next = try takeHeader(&input) else { return nil }
          frame = next
        }
        if let event = try takePayload(of: frame, &input) { return event }
      }
      return nil
    } catch {
      closeState = .failed
      dropInput()
      throw error
    }
  }

  /// Ends the use of the payload that the last call of `next` returned, and frees what was held for it. `next` does the
  /// same; a caller that does not call it again for a while calls this.
  @inline(__always)
  package mutating func settle() {
    if lender != .none || (isServer && partial != nil) { letGo() }
  }

  @inline(never)
  private mutating func letGo() {
    switch lender {
    case .none: break
    case .control: partial?.control.release()
    case .gathered: partial?.emptyGathered(keeping: isServer ? 0 : Self.keptBytes)
    case .inflater: inflation?.endMessage(keeping: Self.keptBytes)
    }
    lender = .none
    if isServer, let partial, partial.isEmpty { self.partial = nil }
  }

  private mutating func dropInput() {
    partial = nil
    inflation?.end()
    lender = .none
  }

  /// The place for what is unfinished.
  private mutating func openPartial() -> PartialInput {
    let open = partial ?? PartialInput()
    partial = open
    return open
  }

  // MARK: Header

  /// Returns the next frame once its header is complete; its payload is read next.
  @inline(__always)
  private mutating func takeHeader(
    _ input: inout UnsafeMutableRawBufferPointer
  ) throws(WebSocketError) -> PartialFrame? {
    if partial.map({ $0.header.count == 0 }) ?? true, input.count >= 2, let base = input.baseAddress {
      let first = base.load(as: UInt8.self)
      let second = base.load(fromByteOffset: 1, as: UInt8.self)
      let size = Self.headerSize(second)
      if input.count >= size {
        let frame = try beginFrame(UnsafeRawPointer(base), first, second, size)
        input = UnsafeMutableRawBufferPointer(start: base + size, count: input.count &- size)
        return frame
      }
    }
    return try takeSplitHeader(&input)
  }

  /// The stored bytes of an incomplete header, at most 14.
  @inline(never)
  private mutating func takeSplitHeader(
    _ input: inout UnsafeMutableRawBufferPointer
  ) throws(WebSocketError) -> PartialFrame? {
    let partial = openPartial()
    while let byte = input.first {
      input = UnsafeMutableRawBufferPointer(rebasing: input.dropFirst())
      partial.header.append(byte)
      let header = partial.header
      guard header.count >= 2 else { continue }
      if header.count == 2 { try check(header[0], header[1]) }
      let size = Self.headerSize(header[1])
      guard header.count == size else { continue }
      partial.header.count = 0
      return try withUnsafeBytes(of: header.bytes) { raw throws(WebSocketError) in
        try beginFrame(raw.baseAddress!, header[0], header[1], size)
      }
    }
    return nil
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
    let orderIsFine = isControl || (opcode == 0) == (partial?.message != nil)
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
      case 0 where partial?.message == nil: "a continuation frame has no message to continue"
      case 1...2 where partial?.message != nil: "a new message begins before the last one has ended"
      default: isServer ? "a client must mask its frames" : "a server must not mask its frames"
      }
    return WebSocketError(.protocolError, reason)
  }

  /// Checks a complete header and begins the frame; no payload is stored before.
  @inline(__always)
  private mutating func beginFrame(
    _ base: UnsafeRawPointer, _ first: UInt8, _ second: UInt8, _ size: Int
  ) throws(WebSocketError) -> PartialFrame {
    try check(first, second)
    var length = Int(second & 0x7F)
    if length >= 126 { length = try extendedLength(base, length) }
    let frame = PartialFrame(
      opcode: first & 0x0F, isFinal: first & 0x80 != 0, isCompressed: first & 0x40 != 0,
      key: isServer ? base.loadUnaligned(fromByteOffset: size &- 4, as: UInt32.self) : 0, remaining: length)
    if frame.opcode == 0 {
      try continueMessage(length)
    } else if !frame.isControl {
      guard length <= byteLimit(isCompressed: frame.isCompressed), fragmentLimit > 0 else { throw tooBig(1) }
    }
    framesBegun &+= 1
    return frame
  }

  /// Counts a frame to the message that it continues.
  @inline(never)
  private func continueMessage(_ length: Int) throws(WebSocketError) {
    guard let partial, var message = partial.message else { return }
    message.fragments &+= 1
    guard length <= byteLimit(isCompressed: message.isCompressed) &- message.bytes, message.fragments <= fragmentLimit
    else { throw tooBig(message.fragments) }
    message.bytes &+= length
    partial.message = message
  }

  /// The most bytes of a message on the wire. Incompressible data grows by less than an eighth.
  private func byteLimit(isCompressed: Bool) -> Int {
    let limit = Int(byteLimit)
    return isCompressed ? limit &+ limit / 8 &+ 1024 : limit
  }

  @inline(never)
  private func tooBig(_ fragments: Int) -> WebSocketError {
    WebSocketError(
      .messageTooBig,
      fragments > fragmentLimit
        ? "a message has more than \(fragmentLimit) fragments"
        : "a message is larger than \(byteLimit) bytes")
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

  /// Reads the bytes of a frame from `input`; returns an event if that completed one.
  @inline(__always)
  private mutating func takePayload(
    of begun: PartialFrame, _ input: inout UnsafeMutableRawBufferPointer
  ) throws(WebSocketError) -> WebSocketEvent? {
    var frame = begun
    let count = min(frame.remaining, input.count)
    guard let base = input.baseAddress else { return nil }
    let chunk = UnsafeRawBufferPointer(start: base, count: count)
    input = UnsafeMutableRawBufferPointer(start: base + count, count: input.count &- count)
    if isServer { Masking.apply(base, count: count, key: frame.key, phase: frame.taken) }
    frame.remaining &-= count
    frame.taken &+= count
    if frame.isControl { return try takeControl(chunk, of: frame) }
    guard frame.endsMessage, !frame.isCompressed, partial?.message == nil else {
      return try takePart(chunk, of: frame)
    }
    guard frame.opcode == 1 else { return .binary(chunk) }
    var utf8 = UTF8Validator()
    guard utf8.accept(chunk), utf8.isComplete else { throw Self.notUTF8 }
    return .text(chunk)
  }

  /// A piece of a message that is cut, fragmented or compressed.
  @inline(never)
  private mutating func takePart(
    _ chunk: UnsafeRawBufferPointer, of frame: PartialFrame
  ) throws(WebSocketError) -> WebSocketEvent? {
    var message = partial?.message ?? PartialMessage(frame)
    if message.isCompressed {
      try inflate(chunk, of: &message, isLast: frame.endsMessage)
    } else if message.isText, !message.utf8.accept(chunk) {
      throw Self.notUTF8
    }
    guard frame.endsMessage else {
      let partial = openPartial()
      partial.message = message
      partial.frame = frame.remaining > 0 ? frame : nil
      if !message.isCompressed { partial.gathered.append(chunk) }
      return nil
    }
    if message.isText, !message.utf8.isComplete { throw Self.notUTF8 }
    return message.isText
      ? .text(end(message, with: chunk)) : .binary(end(message, with: chunk))
  }

  /// The whole payload of a message whose last piece is `chunk`.
  private mutating func end(_ message: PartialMessage, with chunk: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    partial?.message = nil
    partial?.frame = nil
    if message.isCompressed, let inflater = inflation?.inflater {
      lender = .inflater
      return inflater.output.unsafeBytes
    }
    guard let partial, !partial.gathered.isEmpty else { return chunk }
    partial.gathered.append(chunk)
    lender = .gathered
    return partial.gathered.unsafeBytes
  }

  /// Inflates a piece of a compressed message at once, and checks its text as far as it goes.
  private func inflate(
    _ chunk: UnsafeRawBufferPointer, of message: inout PartialMessage, isLast: Bool
  ) throws(WebSocketError) {
    guard let inflation else { return }
    let inflater = inflation.open()
    let before = inflater.output.count
    do throws(Inflater.Failure) {
      try inflater.inflate(chunk, limit: Int(byteLimit))
      if isLast { try inflater.finish(limit: Int(byteLimit)) }
    } catch {
      switch error {
      case .tooBig: throw tooBig(0)
      case .damaged: throw WebSocketError(.invalidPayload, "a compressed message is damaged")
      case .noMemory: throw WebSocketError(.internalError, "no memory to inflate with")
      }
    }
    inflation.inflatedBytes &+= UInt64(inflater.output.count &- before)
    if message.isText, !message.utf8.accept(UnsafeRawBufferPointer(rebasing: inflater.output.unsafeBytes[before...])) {
      throw Self.notUTF8
    }
  }

  private static var notUTF8: WebSocketError { WebSocketError(.invalidPayload, "a text message is not UTF-8") }

  @inline(never)
  private mutating func takeControl(
    _ chunk: UnsafeRawBufferPointer, of frame: PartialFrame
  ) throws(WebSocketError) -> WebSocketEvent? {
    var payload = chunk
    if frame.remaining > 0 || partial?.frame != nil {
      let partial = openPartial()
      partial.control.append(chunk)
      guard frame.remaining == 0 else {
        partial.frame = frame
        return nil
      }
      partial.frame = nil
      payload = partial.control.unsafeBytes
      lender = .control
    }
    switch frame.opcode {
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
    dropInput()
    return .close(code: code.rawValue, reason: reason, mustReply: mustReply)
  }
}
