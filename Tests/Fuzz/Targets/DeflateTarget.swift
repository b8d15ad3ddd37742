import Bytes
import WebSocket

extension FuzzTarget {
  /// Compressed frames, both roles, contexts taken over or not; and the input as messages that are compressed and read
  /// again.
  static let deflate = FuzzTarget("deflate", maxLength: 2048) { (bytes) throws(FuzzFailure) in
    for takesOver in [false, true] {
      // The widest window: within one call zlib lets a message point as far back as that call's own output, however
      // small the window is, so that with a smaller one it hangs on the cut when a peer that breaks its word is found
      // out.
      let agreed = PerMessageDeflate(
        serverNoContextTakeover: !takesOver, clientNoContextTakeover: !takesOver)
      for role in [WebSocketRole.server, .client] {
        for limits in [WebSocketLimits(), WebSocketLimits(messageBytes: 40, fragments: 3)] {
          let pool = InflaterPool()
          let whole = try read(Cuts.whole(bytes), role, limits, agreed, pool)
          for pieces in [Cuts.random(bytes), Cuts.single(bytes)] {
            try compare(try read(pieces, role, limits, agreed, pool), whole)
          }
        }
        try roundTrip(Cuts.random(bytes), role, takesOver: takesOver)
      }
    }
    try shared(bytes)
  }

  /// The same messages; at the end the same refusal. A message that is both too large and not UTF-8 is refused for what
  /// shows first, which hangs on the cut: 1009 or 1007.
  private static func compare(
    _ a: [ReferenceFrames.Event], _ b: [ReferenceFrames.Event]
  ) throws(FuzzFailure) {
    if case .error(let one)? = a.last, case .error(let other)? = b.last, [1007, 1009].contains(one),
      [1007, 1009].contains(other)
    {
      return try requireSame(Array(a.dropLast()), Array(b.dropLast()), "a cut changes what is inflated")
    }
    try requireSame(a, b, "a cut changes what is inflated")
  }

  private static func read(
    _ pieces: [[UInt8]], _ role: WebSocketRole, _ limits: WebSocketLimits, _ agreed: PerMessageDeflate,
    _ pool: InflaterPool
  ) throws(FuzzFailure) -> [ReferenceFrames.Event] {
    // What is inflated is held up to one byte beyond the limit, by which it is known to be too large.
    let events = try read(
      pieces, by: WebSocketConnection(role: role, limits: limits, deflate: agreed, inflaters: pool), limits, held: 1)
    for event in events {
      if case .text(let payload) = event {
        try require(payload.count <= limits.messageBytes, "a text of \(payload.count) bytes")
        try require(ReferenceUTF8.check(payload) == .whole, "a text that is not UTF-8")
      } else if case .binary(let payload) = event {
        try require(payload.count <= limits.messageBytes, "a message of \(payload.count) bytes")
      }
    }
    return events
  }

  /// Messages that one end compresses are what the other reads.
  private static func roundTrip(
    _ messages: [[UInt8]], _ role: WebSocketRole, takesOver: Bool
  ) throws(FuzzFailure) {
    let bits = takesOver ? 15 : 9
    let agreed = PerMessageDeflate(
      serverNoContextTakeover: !takesOver, clientNoContextTakeover: !takesOver, serverMaxWindowBits: bits,
      clientMaxWindowBits: bits)
    let deflater = Deflater(level: 1, windowBits: bits, takesOver: takesOver)
    var out = ByteBuffer()
    for message in messages {
      message.withUnsafeBytes { payload in
        WebSocketFrame.append(
          .binary, payload: payload, mask: role == .server ? 0x1234_5678 : nil, deflater: deflater, to: &out)
      }
    }
    let wanted = messages.map { ReferenceFrames.Event.binary($0) }
    let got = try read([Array(out.unsafeBytes)], role, WebSocketLimits(), agreed, InflaterPool())
    try requireSame(got, wanted, "what was compressed is read differently")
  }

  /// A frame that is compressed to be shared inflates to itself.
  private static func shared(_ bytes: UnsafeRawBufferPointer) throws(FuzzFailure) {
    var out = ByteBuffer()
    WebSocketFrame.append(.binary, payload: bytes, mask: nil, to: &out)
    let frame = SharedBytes(out.unsafeBytes)
    let compressor = FrameCompressor(thresholdBytes: 16)
    let compressed = compressor.compressed(frame)
    try require(compressed.count <= frame.count, "a compressed frame is larger")
    try require(compressor.compressed(frame) === compressed, "a frame is compressed twice")
    let agreed = PerMessageDeflate(
      serverNoContextTakeover: true, clientNoContextTakeover: true, serverMaxWindowBits: 12, clientMaxWindowBits: 12)
    let got = try read([Array(compressed.unsafeBytes)], .client, WebSocketLimits(), agreed, InflaterPool())
    try requireSame(got, [.binary(Array(bytes))], "a shared frame is read differently")
  }
}
