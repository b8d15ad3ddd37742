import Foundation
import MarketData
import Venues

/// The state of a recording's connection before one record, from which a replay continues without the records before.
///
/// It consists of the messages that set the connection up and changed no market (lists, acknowledgements), and of the
/// books. Trades, tickers and candles are not part of it: they begin where the replay begins.
struct KeyFrame: Equatable {
  /// Books at most; a connection has fewer symbols.
  private static let bookLimit = 4096
  /// Levels a side at most; no venue's limit is above 50,000.
  fileprivate static let levelLimit = 1 << 16

  /// A message of the connection that has to be read again.
  struct Message: Equatable {
    var time: Timestamp
    var payload: [UInt8]
  }

  /// The bounds of the messages of a connection.
  static let messageLimit = 4096
  static let messageBytesLimit = 32 << 20

  var isConnected: Bool
  var books: [BookCheckpoint]
  var lost: [LostBook] = []
  /// Of the connection since it was opened, oldest first.
  var messages: [Message] = []
}

extension KeyFrame {
  /// Between two messages that set up a connection, when they are read again: enough for the engine's steps.
  private static let longestSetUpWait = 100 * Microseconds.millisecond

  /// When the messages are read again: as they came, without the hours between them, so that no time limit runs out.
  /// The last one comes at `end`.
  func setUpTimes(endingAt end: Timestamp) -> [Timestamp] {
    var times: [Timestamp] = []
    var time = end
    for (index, message) in messages.enumerated().reversed() {
      let next = index + 1 < messages.count ? messages[index + 1].time : message.time
      time = time - min(max(0, next - message.time), Self.longestSetUpWait)
      times.append(time)
    }
    return times.reversed()
  }

  /// Without the messages, which are stored once for all key frames of a connection.
  func encode() -> [UInt8] {
    var out = IndexEncoder()
    out.append(isConnected)
    out.append(UInt64(books.count))
    for book in books {
      out.append(book.venueSymbol)
      out.append(UInt64(book.priceScale))
      out.append(UInt64(book.sizeScale))
      out.append(book.depthLimit ?? 0)
      out.append(book.time)
      out.append(book.link)
      out.append(book.bids)
      out.append(book.asks)
    }
    out.append(UInt64(lost.count))
    for book in lost {
      out.append(book.venueSymbol)
      out.append(book.reason.rawValue)
    }
    return out.bytes
  }

  init(decoding bytes: [UInt8]) throws(IndexDamage) {
    var decoder = IndexDecoder(bytes)
    isConnected = try decoder.flag()
    books = []
    for _ in 0..<(try decoder.count(of: 16, limit: Self.bookLimit)) {
      books.append(try decoder.book())
    }
    for _ in 0..<(try decoder.count(of: 2, limit: Self.bookLimit)) {
      let symbol = try decoder.text()
      guard let reason = ResyncReason(rawValue: try decoder.text()) else {
        throw IndexDamage("has an unknown reason")
      }
      lost.append(LostBook(venueSymbol: symbol, reason: reason))
    }
    try decoder.end()
  }

  static func encode(_ messages: ArraySlice<Message>) -> [UInt8] {
    var out = IndexEncoder()
    out.append(UInt64(messages.count))
    for message in messages {
      out.append(message.time)
      out.append(message.payload)
    }
    return out.bytes
  }

  static func messages(decoding bytes: [UInt8]) throws(IndexDamage) -> [Message] {
    var decoder = IndexDecoder(bytes)
    var messages: [Message] = []
    for _ in 0..<(try decoder.count(of: 2, limit: messageLimit)) {
      messages.append(Message(time: try decoder.time(), payload: try decoder.data(limit: messageBytesLimit)))
    }
    try decoder.end()
    return messages
  }
}

extension KeyFrame {
  /// The text of a `state` record: length, checksum and compressed books, in base64.
  var record: String {
    let raw = encode()
    let packed = IndexBlob.pack(raw)
    var out = IndexEncoder()
    out.append(raw.count)
    out.append(UInt64(IndexBlob.checksum(packed)))
    out.append(packed)
    return Data(out.bytes).base64EncodedString()
  }

  /// Nil if it is no such text.
  init?(record: UnsafeRawBufferPointer) {
    guard record.count <= LineReader.lineLimit, let data = Data(base64Encoded: Data(record)) else { return nil }
    var decoder = IndexDecoder([UInt8](data))
    do throws(IndexDamage) {
      let count = try decoder.int(0...IndexBlob.limit)
      let checksum = UInt32(truncatingIfNeeded: try decoder.uint())
      let packed = try decoder.data(limit: LineReader.lineLimit)
      let blob = IndexBlob(offset: 0, count: packed.count, rawCount: count, checksum: checksum)
      try self.init(decoding: try blob.unpack(packed))
    } catch {
      return nil
    }
  }
}

extension IndexEncoder {
  mutating func append(_ link: BookCheckpoint.Link) {
    append(link.isBridged)
    append(link.first)
    append(link.last)
    append(link.previous)
    append(link.isJoined)
    append(UInt64(link.recent.count))
    for entry in link.recent {
      append(entry.first)
      append(entry.last)
      append(entry.previous)
      append(entry.time.rawValue)
    }
  }

  /// Prices by their distance from the one before.
  mutating func append(_ levels: [PriceLevel]) {
    append(UInt64(levels.count))
    var last: Int64 = 0
    for level in levels {
      append(level.price &- last)
      append(level.size)
      last = level.price
    }
  }
}

extension IndexDecoder {
  fileprivate mutating func book() throws(IndexDamage) -> BookCheckpoint {
    let symbol = try text()
    let (priceScale, sizeScale) = (try int8(), try int8())
    let depth = try int(0...KeyFrame.levelLimit)
    let time = Timestamp(rawValue: try int64())
    guard time == .distantPast || Timestamp.readable.contains(time) else {
      throw IndexDamage("has a book of an impossible time")
    }
    let link = try link()
    let bids = try levels(isRising: true)
    let asks = try levels(isRising: false)
    return BookCheckpoint(
      venueSymbol: symbol, priceScale: priceScale, sizeScale: sizeScale, depthLimit: depth == 0 ? nil : depth,
      time: time, link: link, bids: bids, asks: asks)
  }

  private mutating func int8() throws(IndexDamage) -> UInt8 {
    let value = try uint()
    guard value <= 18 else { throw IndexDamage("has a scale of \(value) digits") }
    return UInt8(value)
  }

  private mutating func link() throws(IndexDamage) -> BookCheckpoint.Link {
    var link = BookCheckpoint.Link(
      isBridged: try flag(), first: try int64(), last: try int64(), previous: try int64(), isJoined: try flag(),
      recent: [])
    for _ in 0..<(try count(of: 4, limit: BookCheckpoint.Link.recentLimit)) {
      link.recent.append(
        BookCheckpoint.Link.Applied(
          first: try int64(), last: try int64(), previous: try int64(), time: Timestamp(rawValue: try int64())))
    }
    return link
  }

  /// Levels that a book can have: in order, above zero, and with room for the arithmetic of prices.
  private mutating func levels(isRising: Bool) throws(IndexDamage) -> [PriceLevel] {
    let count = try count(of: 2, limit: KeyFrame.levelLimit)
    var levels: [PriceLevel] = []
    levels.reserveCapacity(count)
    var last: Int64 = 0
    for index in 0..<count {
      let (price, overflow) = last.addingReportingOverflow(try int64())
      let size = try int64()
      guard !overflow, price > 0, size > 0, index == 0 || (isRising ? price > last : price < last) else {
        throw IndexDamage("has levels that no book has")
      }
      levels.append(PriceLevel(price: price, size: size))
      last = price
    }
    return levels
  }
}
