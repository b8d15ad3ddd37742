/// How the messages of one peer are inflated, where permessage-deflate was negotiated (RFC 7692).
final class MessageInflation {
  /// The pool that lends contexts for the time of a message; nil: it has one of its own.
  private let pool: InflaterPool?
  private let windowBits: Int
  private let peerTakesOver: Bool
  /// Kept during a compressed message, or for the whole connection if the peer uses context takeover.
  private(set) var inflater: Inflater?
  /// The total size of inflated messages.
  var inflatedBytes: UInt64 = 0

  init(_ deflate: PerMessageDeflate, role: WebSocketRole, pool: InflaterPool?) {
    let isServer = role == .server
    peerTakesOver = isServer ? !deflate.clientNoContextTakeover : !deflate.serverNoContextTakeover
    windowBits = isServer ? deflate.clientMaxWindowBits : deflate.serverMaxWindowBits
    self.pool = peerTakesOver ? nil : pool
  }

  /// The context of the present message.
  func open() -> Inflater {
    let open = inflater ?? pool?.borrow(windowBits: windowBits) ?? Inflater(windowBits: windowBits)
    inflater = open
    return open
  }

  /// Ends the context's message. The next message needs the context only with context takeover.
  func endMessage(keeping bytes: Int) {
    guard let inflater else { return }
    if peerTakesOver { return inflater.endMessage(keeping: bytes) }
    self.inflater = nil
    pool?.giveBack(inflater)
  }

  /// Drops the context, whatever it holds.
  func end() { inflater = nil }
}
