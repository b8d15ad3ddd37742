import Bytes
import MarketData

/// What a frame is, for the faults that pick one.
package enum SimulatedFrameKind: Sendable {
  /// Acknowledgements, refusals, status: never struck.
  case control
  case heartbeat
  case bookSnapshot
  /// `isVisible`: the venue's own means can tell that it is missing.
  case book(isVisible: Bool)
  /// One of several messages that tell one change of a book; the last of them is `book`.
  case bookPart
  case trade
  case ticker
  case quote

  var isData: Bool {
    switch self {
    case .control, .heartbeat: false
    default: true
    }
  }
}

/// What a channel carries, for the fault that mutes one.
package enum SimulatedContent: String, Sendable, CaseIterable {
  case book, trades, quote, ticker

  /// Nil for what is of no channel with data.
  init?(_ kind: SimulatedFrameKind) {
    switch kind {
    case .control, .heartbeat: return nil
    case .bookSnapshot, .book, .bookPart: self = .book
    case .trade: self = .trades
    case .ticker: self = .ticker
    case .quote: self = .quote
    }
  }
}

/// Keeps the faults' timetable and strikes frames on their way out. Shared by a venue's sessions; confined to its
/// queue.
///
/// A fault that picks a frame waits until the first frame that fits is sent, strikes the connections it is sent to
/// then, each once, and is over.
final class FaultInjector {
  struct Pending {
    let kind: Fault.Kind
    let instrument: Int?
    var struck: [Int] = []
  }

  enum Verdict {
    case pass
    case omit
    case replace(SharedBytes)
    case twice
    /// Now, and again behind its successor.
    case again
    case hold
  }

  /// The venue's time.
  var now: Timestamp
  private(set) var pending: [Pending] = []
  private(set) var injected = 0
  /// Connections are cut after so many frames.
  var frameLimit: Int?
  /// What is refused: all of a symbol, or a channel of it.
  struct Refused: Hashable {
    let instrument: Int
    var channel: String?
  }
  var refused: Set<Refused> = []
  var handshakeDelay: Int64 = 0
  /// A silence under way: the market stands where it was at its beginning.
  var silence: (from: Timestamp, until: Timestamp)?
  var bannedUntil: Timestamp?
  /// What new connections carry, and until when they are struck.
  var muting: (SimulatedSession.Carried, until: Timestamp)?
  /// Channels that say nothing. Bounded: what is over is taken out, and there is one for each symbol and channel.
  struct Muted {
    /// Nil for any.
    let instrument: Int?
    let content: SimulatedContent
    /// Nil: until a client subscribes to the instrument again.
    var until: Timestamp?
  }
  private(set) var muted: [Muted] = []
  /// What is sent arrives only then.
  var slowUntil: Timestamp?
  /// What clients send before is not heard.
  var deafUntil: Timestamp?
  /// The faults of the next answers, in order: one queue for candles, one for names, one for trades.
  private var candleFaults: [CandleFault] = []
  private var nameFaults: [NameFault] = []
  private var tradeFaults: [TradeFault] = []
  /// No trade is sent before.
  var tradesLostUntil: Timestamp?
  /// The market whose true books go with the messages; nil if none do.
  var witnessed: SimulatedMarket?

  /// Frame faults waiting at once; more are dropped, the oldest first.
  static let pendingLimit = 64

  init(now: Timestamp) { self.now = now }

  /// Whether a symbol is refused, or this channel of it.
  func isRefused(_ instrument: Int, _ channel: @autoclosure () -> String? = nil) -> Bool {
    guard !refused.isEmpty else { return false }
    return refused.contains(Refused(instrument: instrument))
      || channel().map { refused.contains(Refused(instrument: instrument, channel: $0)) } ?? false
  }

  func mute(_ content: SimulatedContent, of instrument: Int?, until: Timestamp?) {
    muted.removeAll { $0.content == content && $0.instrument == instrument }
    muted.append(Muted(instrument: instrument, content: content, until: until))
  }

  /// Whether a channel says nothing now.
  func isMuted(_ content: SimulatedContent?, of instrument: Int) -> Bool {
    guard !muted.isEmpty, let content else { return false }
    muted.removeAll { $0.until.map { $0 <= now } ?? false }
    return muted.contains { $0.content == content && $0.instrument ?? instrument == instrument }
  }

  /// A client has subscribed to a channel of an instrument: what had died of it lives again.
  func subscribed(to instrument: Int) {
    if !muted.isEmpty { muted.removeAll { $0.until == nil && $0.instrument ?? instrument == instrument } }
  }

  var isBanned: Bool { bannedUntil.map { now < $0 } ?? false }
  /// What a connection that is made now carries.
  var carried: SimulatedSession.Carried { muting.map { now < $0.until ? $0.0 : .everything } ?? .everything }
  var isSlow: Bool { slowUntil.map { now < $0 } ?? false }
  var losesTrades: Bool { tradesLostUntil.map { now < $0 } ?? false }
  var isDeaf: Bool { deafUntil.map { now < $0 } ?? false }

  /// The true book behind a message that is about to be sent; nil if nobody wants to know, or if it is not of a book.
  func truth(_ kind: SimulatedFrameKind, instrument: Int) -> SimulatedTruth? {
    guard let witnessed, instrument >= 0 else { return nil }
    switch kind {
    case .book: return witnessed.truth(instrument, isSnapshot: false)
    case .bookSnapshot: return witnessed.truth(instrument, isSnapshot: true)
    case .control, .heartbeat, .bookPart, .trade, .ticker, .quote: return nil
    }
  }

  func count() { injected += 1 }

  func wait(_ kind: Fault.Kind, instrument: Int?) { Self.put(Pending(kind: kind, instrument: instrument), &pending) }
  func wait(_ fault: CandleFault) { Self.put(fault, &candleFaults) }
  func wait(_ fault: NameFault) { Self.put(fault, &nameFaults) }
  func wait(_ fault: TradeFault) { Self.put(fault, &tradeFaults) }

  private static func put<Waiting>(_ fault: Waiting, _ queue: inout [Waiting]) {
    if queue.count == pendingLimit { queue.removeFirst() }
    queue.append(fault)
  }

  /// Takes the fault of the next answer; nil if it has none.
  func takeCandleFault() -> CandleFault? { take(&candleFaults) }
  func takeNameFault() -> NameFault? { take(&nameFaults) }
  func takeTradeFault() -> TradeFault? { take(&tradeFaults) }

  private func take<Waiting>(_ queue: inout [Waiting]) -> Waiting? {
    guard !queue.isEmpty else { return nil }
    count()
    return queue.removeFirst()
  }

  /// What becomes of a frame that `session` is about to send, and the fault that it is due to.
  func verdict(
    _ payload: SharedBytes, _ kind: SimulatedFrameKind, instrument: Int, session: Int
  ) -> (Verdict, Fault.Kind?) {
    for index in pending.indices {
      let fault = pending[index]
      guard fault.instrument == nil || fault.instrument == instrument else { continue }
      guard !fault.struck.contains(session), Self.fits(fault.kind, kind) else { continue }
      let verdict: Verdict
      switch fault.kind {
      case .gap: verdict = .omit
      case .checksum:
        guard let wrong = Self.wrongChecksum(payload) else { continue }
        verdict = .replace(wrong)
      case .malformed:
        verdict = .replace(SharedBytes(UnsafeRawBufferPointer(rebasing: payload.unsafeBytes.dropLast(9))))
      case .unreadable:
        guard let wrong = Self.unreadable(payload) else { continue }
        verdict = .replace(wrong)
      case .duplicate: verdict = .twice
      case .lateDuplicate: verdict = .again
      case .reorder: verdict = .hold
      default: continue
      }
      pending[index].struck.append(session)
      count()
      return (verdict, fault.kind)
    }
    return (.pass, nil)
  }

  /// Ends the faults that have struck; called after each moment of the market.
  func settle() {
    if !pending.isEmpty { pending.removeAll { !$0.struck.isEmpty } }
  }

  private static func fits(_ fault: Fault.Kind, _ kind: SimulatedFrameKind) -> Bool {
    switch (fault, kind) {
    case (.gap, .book(let isVisible)): isVisible
    case (.checksum, .book), (.duplicate, .book), (.lateDuplicate, .book), (.reorder, .book): true
    case (.gap, .bookPart), (.duplicate, .bookPart), (.reorder, .bookPart): true
    case (.unreadable, .book), (.unreadable, .bookPart), (.unreadable, .bookSnapshot): true
    case (.malformed, _): kind.isData
    default: false
    }
  }

  /// The frame with a minus sign put into the first number of its lists that has a point; nil if there is no such
  /// number. Levels are in lists and begin with their price; before the first list stands, for example, Deribit's
  /// `"jsonrpc":"2.0"`. A frame without lists, as one of a single level is, begins with its fields. Times are in quotes
  /// with other characters, or have no point.
  private static func unreadable(_ payload: SharedBytes) -> SharedBytes? {
    var bytes = Array(payload.unsafeBytes)
    func isPart(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || byte == UInt8(ascii: ".") }
    let around = Array("\",:[]}".utf8)
    var start = bytes.firstIndex(of: UInt8(ascii: "[")) ?? bytes.startIndex
    while let first = bytes[start...].firstIndex(where: isPart) {
      let end = bytes[first...].firstIndex { !isPart($0) } ?? bytes.count
      start = end
      guard first > 0, end < bytes.count, around.contains(bytes[first - 1]), around.contains(bytes[end]) else {
        continue
      }
      guard let point = bytes[first..<end].firstIndex(of: UInt8(ascii: ".")) else { continue }
      bytes.insert(UInt8(ascii: "-"), at: point + 1)
      return SharedBytes(bytes)
    }
    return nil
  }

  /// The frame with another last digit in its checksum; nil if it has none.
  private static func wrongChecksum(_ payload: SharedBytes) -> SharedBytes? {
    var bytes = Array(payload.unsafeBytes)
    func position(after key: String) -> Int? {
      let key = Array(key.utf8)
      guard bytes.count > key.count else { return nil }
      return (0..<(bytes.count - key.count)).first { bytes[$0..<($0 + key.count)].elementsEqual(key) }
        .map { $0 + key.count }
    }
    guard var end = position(after: "\"checksum\":") ?? position(after: "\"cs\",") else { return nil }
    if bytes[end] == UInt8(ascii: "-") { end += 1 }
    while end < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[end]) { end += 1 }
    // Lower by one, or 1 for 0: 4294967295 is the largest checksum and ends in 5, so that it stays within 32 bits.
    bytes[end - 1] = bytes[end - 1] == UInt8(ascii: "0") ? UInt8(ascii: "1") : bytes[end - 1] - 1
    return SharedBytes(bytes)
  }
}
