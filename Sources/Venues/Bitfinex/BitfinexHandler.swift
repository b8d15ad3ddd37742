import Bytes
import MarketData

/// Bitfinex v2: spot, without a key. Books of 100 levels a side with checksums, trades and statistics.
///
/// The list of pairs comes by REST before the connection. Each symbol has three channels, which the venue numbers
/// anew on every connection; data carry that number only. With the flags of `conf` the venue counts every data
/// message of the *connection* and tells the checksum of a book every few seconds. The count shows that a message is
/// missing, but not of which channel: then every book is subscribed again. The checksum is a second look at what the
/// count has vouched for already.
///
/// Prices have five significant digits and no tick: price scales begin at 0 and are learnt from the values.
package final class BitfinexHandler: SymbolHandler {
  enum Channel: Int, CaseIterable {
    case book, trades, ticker

    var name: String {
      switch self {
      case .book: "book"
      case .trades: "trades"
      case .ticker: "ticker"
      }
    }
  }

  /// Levels a side that are subscribed. The venue says what falls out of them.
  static let bookLength = 100
  /// TIMESTAMP (32768), SEQ_ALL (65536) and OB_CHECKSUM (131072).
  static let flags = 229_376
  /// Quiet time after which a ping is sent. Every channel has a heartbeat each 15 s, so this is for when they do not
  /// come.
  static let pingAfter = 5 * Microseconds.second
  /// A channel of which nothing came for so long, three of its heartbeats, while others go on, is dead.
  static let channelSilence = 45 * Microseconds.second
  /// How long a subscription may be unanswered before it is sent again, at first: one has been seen to take 11 s.
  static let answerTimeout = 15 * Microseconds.second
  /// How long a connection may last after a restart was announced, which says no time.
  static let restartNotice = 10 * Microseconds.second
  /// Maintenance takes two minutes at most by the documentation; after so long without a word it counts as over.
  static let maintenanceLimit = 5 * Microseconds.minute
  /// The pairs, and what their currencies are called elsewhere.
  package static let listPath = "/v2/conf/pub:list:pair:exchange,pub:map:currency:sym"

  package static let venue = Venue(
    name: "bitfinex", title: "Bitfinex", separator: ":", endpoint: "wss://api-pub.bitfinex.com/ws/2",
    restEndpoint: "https://api-pub.bitfinex.com",
    // Three channels of each symbol with a heartbeat every 15 s.
    cadence: .promised("hb", every: 15 * Microseconds.second),
    // 250 levels are about 10 KB, and so is the backlog of trades.
    messageLimit: 1 << 20,
    // 25 channels a connection (docs.bitfinex.com, "Public Channels"), three a symbol.
    symbolLimit: 8,
    // 20 a minute from one address, else it is shut out for one.
    connectLimit: ConnectLimit(count: 15, interval: Microseconds.minute),
    market: Market.Configuration(
      quotesFromBook: true, bookDepthLimit: 250,
      checksum: { BitfinexChecksum.checksum(of: $0, priceScale: $1, sizeScale: $2) },
      // False ones have been reported, and a message that is missing shows in the count at once.
      checksumPatience: 2),
    profile: VenueProfile(
      channels: [
        .init("book", .book, silence: .linked, .atLeast(every: 15 * Microseconds.second), .contradicted),
        .init("trades", .trades, silence: .linked, .atLeast(every: 15 * Microseconds.second)),
        .init("ticker", .ticker, silence: .linked, .atLeast(every: 15 * Microseconds.second)),
      ],
      bookDepth: bookLength,
      bookCheck: "every message of a connection is counted; CRC-32 of the top 25 every few seconds",
      requests: [.instruments, .volumes],
      limits: ["25 channels a connection"]),
    replay: replay,
    makeHandler: { BitfinexHandler(configuration: $0) })

  struct Feed {
    var book = StreamedBook()
    /// Newest trade; 0 before the first. Kept over connections, as each begins with trades from before it.
    var lastTrade: UInt64 = 0
    var isRefused = false
  }

  /// A channel of a symbol on this connection.
  struct Slot {
    /// The number of a subscription that has been given up, until the venue says that it is gone; 0 if there is none.
    var leaving: Int64 = 0
    var heard = Timestamp.distantPast
    /// When a subscription was sent that has not been answered.
    var asked: Timestamp?
    var backoff = Backoff(first: BitfinexHandler.answerTimeout, limit: Microseconds.minute)
    var patience = BitfinexHandler.answerTimeout
    /// How often in a row it was not answered, or refused, on this connection.
    var attempts = 0
    var refusals = 0
    /// When a channel that was refused beside its book is asked for again.
    var again: Timestamp?
  }

  var feeds: [Feed] = []
  /// By place × channels.
  var slots: [Slot] = []
  /// The channel number of each slot; 0 while it has none. Apart, as every message looks through them.
  var numbers: [Int64] = []
  /// The count of the newest data message; nil before the first, or if the venue does not count.
  var lastCount: Int64?
  private var isConnected = false
  private var isLeaving = false
  var inMaintenance = false
  var maintenanceSince = Timestamp.distantPast
  private var heardAt = Timestamp.distantPast
  private var lastPing = Timestamp.distantPast

  /// When `conf` was sent that has no answer yet.
  var configured: Timestamp?

  package init(configuration: FeedConfiguration) { super.init(venue: Self.venue, configuration: configuration) }

  // MARK: Instruments

  override var listPath: String? { Self.listPath }

  /// Room for the list of pairs: about 10 KB, and the currencies' names.
  override var listLimit: Int { 4 << 20 }

  override func hasListed(now: Timestamp) {
    if isConnected { subscribe(feeds.indices.filter { feeds[$0].book.state == .unsubscribed }, now) }
  }

  override func readList(_ body: RawSpan, into batch: inout EventBatch) throws(FeedError) -> Bool {
    carry(
      try BitfinexPair.list(body).map {
        ListedMarket(venueSymbol: $0.name, symbol: $0.symbol, sizeIncrement: Self.sizeIncrement)
      }, into: &batch)
    while feeds.count < instruments.count {
      feeds.append(Feed())
      for _ in Channel.allCases {
        slots.append(Slot())
        numbers.append(0)
      }
    }
    return true
  }

  /// Amounts have at most eight digits after the point, and no list says a step of prices.
  static let sizeIncrement = Decimal64(mantissa: 1, scale: 8)

  override func isLive(_ place: Int) -> Bool { feeds[place].book.isLive }

  override func unlisted(_ wanted: FeedSymbol, among markets: [ListedMarket]) -> String {
    let names = ["t\(wanted.base)\(wanted.quote)", "t\(wanted.base):\(wanted.quote)"]
    guard let alias = markets.first(where: { names.contains($0.venueSymbol) }) else {
      return super.unlisted(wanted, among: markets)
    }
    return "Bitfinex' \(alias.venueSymbol) is \(alias.symbol.text) elsewhere: write that"
  }

  override var volumeRequests: [String] { ["/v2/tickers?symbols=ALL"] }

  override func readVolumes(
    _ body: RawSpan, of index: Int, into volumes: inout [String: Decimal64]
  ) throws(FeedError) {
    try readTickers(body, into: &volumes)
  }

  // MARK: Connection

  package override func connected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = true
    isLeaving = false
    lastCount = nil
    heardAt = now
    lastPing = now
    // Before any subscription: it holds for what is subscribed after it.
    actions.append(.send(#"{"event":"conf","flags":\#(Self.flags)}"#))
    configured = now
    subscribe(Array(feeds.indices), now)
  }

  /// The heartbeats are the channels'.
  package override var expectsMarket: Bool { feeds.contains { !$0.isRefused } }

  private func subscribe(_ places: [Int], _ now: Timestamp) {
    for place in places where !feeds[place].isRefused {
      for channel in Channel.allCases where numbers[Self.slot(place, channel)] == 0 {
        subscribe(Self.slot(place, channel), now)
      }
    }
  }

  override var asksAgain: Bool { true }

  override func askAgain(_ symbols: [String], now: Timestamp, into batch: inout EventBatch) {
    for place in feeds.indices where symbols.contains(configuredName(place)) { feeds[place].isRefused = false }
    listRequest.again()
    prepare(now: now, into: &batch)
  }

  package override func disconnected(now: Timestamp, into batch: inout EventBatch) {
    isConnected = false
    inMaintenance = false
    configured = nil
    listRequest.restart()
    for place in feeds.indices {
      feeds[place].book.disconnected()
      // What was refused is asked for again.
      feeds[place].isRefused = false
    }
    for slot in slots.indices {
      slots[slot] = Slot()
      numbers[slot] = 0
    }
  }

  package override func tick(now: Timestamp, into batch: inout EventBatch) {
    if !listRequest.isDone { prepare(now: now, into: &batch) }
    guard isConnected else { return }
    if let sent = configured, now - sent >= RequestDeadline.answer {
      // What was subscribed to after it goes without count and checksum: a lost message would not show.
      configured = nil
      note(FeedError(.unanswered, "conf was not answered, with which the venue counts its messages"), text: "conf")
      return actions.append(.reconnect(reason: "conf was not answered"))
    }
    if now - heardAt >= Self.pingAfter, now - lastPing >= Self.pingAfter {
      lastPing = now
      requestID += 1
      actions.append(.send(#"{"event":"ping","cid":\#(requestID)}"#))
    }
    if inMaintenance {
      guard now - maintenanceSince >= Self.maintenanceLimit else { return }
      maintain(false, now: now, into: &batch)
    }
    for slot in slots.indices where !feeds[Self.place(slot)].isRefused { tend(slot, now, into: &batch) }
  }

  /// Renews a channel that is due, unanswered or dead.
  private func tend(_ slot: Int, _ now: Timestamp, into batch: inout EventBatch) {
    let place = Self.place(slot)
    // Others speak and this one does not: quiet channels have heartbeats.
    let isDead =
      numbers[slot] != 0 && now - slots[slot].heard >= Self.channelSilence
      && marketHeard - slots[slot].heard >= Self.channelSilence
    if Self.channel(slot) == .book {
      if isDead, feeds[place].book.resync(now: now) {
        batch.events.append(.bookReset(InstrumentID(place), .stale))
      }
      if feeds[place].book.isDue(now: now) {
        if numbers[slot] == 0, slots[slot].asked != nil {
          unanswered(feeds[place].book.silentAttempts, words(slot), now: now)
        }
        renew(slot, now)
      }
    } else if isDead {
      renew(slot, now)
    } else if let again = slots[slot].again {
      guard now >= again else { return }
      slots[slot].again = nil
      renew(slot, now)
    } else if let asked = slots[slot].asked, now - asked >= slots[slot].patience {
      slots[slot].patience = slots[slot].backoff.next()
      slots[slot].attempts += 1
      unanswered(slots[slot].attempts, words(slot), now: now)
      renew(slot, now)
    }
  }

  /// Names a channel for people.
  private func words(_ slot: Int) -> String {
    "\(Self.channel(slot).name) of \(instruments[Self.place(slot)].venueSymbol)"
  }

  override func trouble(ofBook place: Int) -> BookTrouble? { feeds[place].book.trouble }

  package override func resync(
    _ instrument: InstrumentID, reason: ResyncReason, now: Timestamp, into batch: inout EventBatch
  ) {
    guard isConnected, feeds.indices.contains(instrument.index), feeds[instrument.index].book.resync(now: now) else {
      return
    }
    tick(now: now, into: &batch)
  }

  // MARK: Channels

  static func place(_ slot: Int) -> Int { slot / Channel.allCases.count }
  static func channel(_ slot: Int) -> Channel { Channel(rawValue: slot % Channel.allCases.count)! }
  static func slot(_ place: Int, _ channel: Channel) -> Int { place * Channel.allCases.count + channel.rawValue }

  /// The slot of a channel number, -1 if it has none. At most 24 comparisons.
  func slot(of number: Int64) -> Int {
    guard number != 0 else { return -1 }
    for index in numbers.indices where numbers[index] == number { return index }
    return -1
  }

  private func subscribe(_ slot: Int, _ now: Timestamp) {
    let place = Self.place(slot)
    let channel = Self.channel(slot)
    let book = channel == .book ? #","prec":"P0","freq":"F0","len":"\#(Self.bookLength)""# : ""
    let symbol = JSONText.quoted(instruments[place].venueSymbol)
    actions.append(.send(#"{"event":"subscribe","channel":"\#(channel.name)","symbol":\#(symbol)\#(book)}"#))
    slots[slot].asked = now
    if channel == .book { feeds[place].book.subscribed(now: now) }
  }

  /// Gives the present subscription up, if there is one, and makes another. What still comes of the old one is not
  /// looked at.
  func renew(_ slot: Int, _ now: Timestamp) {
    if numbers[slot] != 0 {
      slots[slot].leaving = numbers[slot]
      numbers[slot] = 0
    }
    if slots[slot].leaving != 0 {
      actions.append(.send(#"{"event":"unsubscribe","chanId":\#(slots[slot].leaving)}"#))
    }
    subscribe(slot, now)
  }

  /// Takes every book that is live out of sync, and subscribes them again as soon as each may be.
  func loseBooks(_ reason: ResyncReason, now: Timestamp, into batch: inout EventBatch) {
    for place in feeds.indices where feeds[place].book.resync(now: now) {
      if reason == .gap { seen[place].gaps += 1 }
      batch.events.append(.bookReset(InstrumentID(place), reason))
    }
    tick(now: now, into: &batch)
  }

  func leave(_ reason: String) {
    guard !isLeaving else { return }
    isLeaving = true
    actions.append(.renew(reason: reason, within: Self.restartNotice))
  }

  // MARK: Messages

  override func read(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) throws(FeedError) {
    try readMessage(message, now: now, into: &batch)
    heardAt = now
  }

  /// A data message has used up its count, whether it could be read or not; what it said is lost to its own book.
  override func refused(_ message: RawSpan, now: Timestamp, into batch: inout EventBatch) {
    guard let number = Self.channelNumber(message) else { return }
    heardAt = now
    lastCount = lastCount.map { $0 &+ 1 }
    guard number != 0 else { return loseBooks(.malformed, now: now, into: &batch) }
    let slot = slot(of: number)
    guard slot >= 0 else { return }
    slots[slot].heard = now
    let place = Self.place(slot)
    guard Self.channel(slot) == .book, feeds[place].book.resync(now: now) else { return }
    batch.events.append(.bookReset(InstrumentID(place), .malformed))
    tick(now: now, into: &batch)
  }

  /// The number that a data message begins with, 0 if it cannot be told; nil for other messages.
  private static func channelNumber(_ message: RawSpan) -> Int64? {
    message.withUnsafeBytes { bytes in
      var rest = bytes.drop { $0 <= 0x20 }
      guard rest.popFirst() == UInt8(ascii: "[") else { return nil }
      var number: Int64 = 0
      for byte in rest.drop(while: { $0 <= 0x20 }).prefix(18) {
        let digit = byte &- UInt8(ascii: "0")
        guard digit < 10 else { return byte == UInt8(ascii: ",") || byte <= 0x20 ? number : 0 }
        number = number * 10 + Int64(digit)
      }
      return 0
    }
  }
}
