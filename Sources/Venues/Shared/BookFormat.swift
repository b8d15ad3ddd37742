import Bytes
import MarketData

/// How a venue prints the sides of a book: what differs between venues in reading them, as data.
struct BookFormat {
  enum Level {
    /// `[price, size, …]`, behind a word if there is one.
    case array
    /// An object; `word` is the field of the word, if there is one.
    case object(price: StaticString, size: StaticString, word: StaticString = "")
  }

  /// What a word in each level says.
  enum Word {
    case none
    /// What becomes of the level: it is gone if the word is this one, whatever its size is.
    case action(removal: StaticString)
    /// Its side, where levels of both sides stand in one list.
    case side(bid: StaticString, ask: StaticString)

    @inline(__always)
    fileprivate var isThere: Bool { if case .none = self { false } else { true } }
  }

  /// Of which numbers the printed digits are the scale, zeros at the end included, eight at most.
  enum Learning {
    case nothing, sizes, all
  }

  /// What the message is called in errors.
  var title: StaticString
  var bids: StaticString = "bids"
  var asks: StaticString = "asks"
  /// Whether a message without one of the sides is refused; otherwise that side did not change.
  var needsBothSides = true
  var level = Level.array
  var word = Word.none
  var learns = Learning.nothing

  /// How levels of the usual shape are read: at once, unless their digits are looked at.
  fileprivate enum Shape {
    case plain((StaticString, StaticString)?)
    case worded((word: StaticString, first: StaticString, second: StaticString)?)
    case other
  }

  fileprivate var shape: Shape {
    guard case .nothing = learns else { return .other }
    switch level {
    case .array: return word.isThere ? .worded(nil) : .plain(nil)
    case .object(let price, let size, let name):
      return word.isThere ? .worded((name, price, size)) : .plain((price, size))
    }
  }

  /// The same, as a message prints it whose digits are the scale.
  func learning(_ learns: Learning) -> BookFormat {
    var format = self
    format.learns = learns
    return format
  }
}

extension InstrumentTable {
  /// Appends the levels of the sides that were passed over in `reader` before. O(levels).
  mutating func readSides(
    _ bids: FieldSlice?, _ asks: FieldSlice?, of reader: borrowing FieldReader, _ place: Int, _ format: BookFormat,
    into batch: inout EventBatch
  ) throws(FeedError) {
    if format.needsBothSides {
      guard bids != nil else { throw FeedError.missing(format.bids, in: format.title) }
      guard asks != nil else { throw FeedError.missing(format.asks, in: format.title) }
    }
    if let bids {
      var levels = reader.reader(bids)
      try readLevels(&levels, place, format.bids, isBid: true, format, into: &batch.bids)
    }
    if let asks {
      var levels = reader.reader(asks)
      try readLevels(&levels, place, format.asks, isBid: false, format, into: &batch.asks)
    }
  }

  /// Reads one side of a book; null, where a side may be missing, is one without levels. A level that cannot be read
  /// costs the message, and with it the book: what it said of the others is not the whole any more. O(levels).
  mutating func readLevels(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString, isBid: Bool, _ format: BookFormat,
    into levels: inout [PriceLevel]
  ) throws(FeedError) {
    reader.field = field
    if !format.needsBothSides, try reader.null() { return }
    try reader.arrayStart()
    let scales = scales(place)
    let (price, size) = (JSONScanner.shortScale(scales.price), JSONScanner.shortScale(scales.size))
    let shape = format.shape
    while try reader.nextElement() {
      // As nearly all are printed; whatever is not of that shape, or not right, is read by the other way.
      switch shape {
      case .plain(let names):
        guard let (first, second) = reader.json.shortPair(names: names, first: price, second: size) else { break }
        let (total, overflow) = second.multipliedReportingOverflow(by: scales.factor)
        if first > 0, second >= 0, !overflow {
          levels.append(PriceLevel(price: first, size: total))
          continue
        }
        guard first == 0, second == 0 else { throw bad(first, second, reader, field) }
        continue
      case .worded(let names):
        guard let found = reader.json.shortLevel(names: names, first: price, second: size) else { break }
        let (total, overflow) = found.second.multipliedReportingOverflow(by: scales.factor)
        guard found.first > 0, found.second >= 0, !overflow else {
          guard found.first == 0, found.second == 0 else { throw bad(found.first, found.second, reader, field) }
          continue
        }
        var level = PriceLevel(price: found.first, size: total)
        if case .action(let removal) = format.word, reader.equals(found.word, removal) { level.size = 0 }
        levels.append(level)
        continue
      case .other: break
      }
      var word: JSONSlice?
      var level = try readLevel(&reader, place, field, format, &word)
      guard try isKept(level, isBid: isBid, reader) else { continue }
      if let word, case .action(let removal) = format.word, reader.equals(word, removal) { level.size = 0 }
      levels.append(level)
    }
  }

  /// Reads a list of levels that say which side each is of. O(levels).
  mutating func readChanges(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString, _ format: BookFormat,
    into batch: inout EventBatch
  ) throws(FeedError) {
    guard case .side(let bid, let ask) = format.word else { preconditionFailure("levels that do not say their side") }
    reader.field = field
    try reader.arrayStart()
    let scales = scales(place)
    let (price, size) = (JSONScanner.shortScale(scales.price), JSONScanner.shortScale(scales.size))
    let shape = format.shape
    while try reader.nextElement() {
      let word: JSONSlice
      let level: PriceLevel
      if case .worded(let names) = shape,
        let found = reader.json.shortLevel(names: names, first: price, second: size)
      {
        let (total, overflow) = found.second.multipliedReportingOverflow(by: scales.factor)
        guard found.second >= 0, !overflow, found.first > 0 || found.first == 0 && found.second == 0 else {
          throw bad(found.first, found.second, reader, field)
        }
        (word, level) = (found.word, PriceLevel(price: found.first, size: total))
      } else {
        var said: JSONSlice?
        level = try readLevel(&reader, place, field, format, &said)
        guard let said else { throw FeedError.missing("side", in: "level") }
        word = said
      }
      let isBid = reader.equals(word, bid)
      guard isBid || reader.equals(word, ask) else {
        throw FeedError(.shape, "side of the level before offset \(reader.offset) is neither \(bid) nor \(ask)")
      }
      guard try isKept(level, isBid: isBid, reader) else { continue }
      if isBid { batch.bids.append(level) } else { batch.asks.append(level) }
    }
  }

  /// The best level of a side that was passed over in `outer` before: the first that has a size, or the last one
  /// without; nil if there is none at all.
  mutating func readBest(
    _ side: FieldSlice?, of outer: borrowing FieldReader, _ place: Int, _ field: StaticString, _ format: BookFormat
  ) throws(FeedError) -> PriceLevel? {
    guard let side else { return nil }
    var best: PriceLevel?
    var reader = outer.reader(side)
    reader.field = field
    if try reader.null() { return nil }
    try reader.arrayStart()
    while try reader.nextElement() {
      var word: JSONSlice?
      let level = try readLevel(&reader, place, field, format, &word)
      if (best?.size ?? 0) == 0, level.price < .max { best = level }
    }
    return best
  }

  /// The quote that two sides are which were passed over in `outer` before; one without orders is 0.
  mutating func readQuote(
    _ bids: FieldSlice?, _ asks: FieldSlice?, of outer: borrowing FieldReader, _ place: Int, _ format: BookFormat,
    time: Timestamp
  ) throws(FeedError) -> Quote {
    let bid = try readBest(bids, of: outer, place, format.bids, format)
    let ask = try readBest(asks, of: outer, place, format.asks, format)
    func best(_ level: PriceLevel?) -> PriceLevel {
      if let level, level.size > 0 { level } else { PriceLevel(price: 0, size: 0) }
    }
    return Quote(
      instrument: InstrumentID(place), bid: best(bid).price, bidSize: best(bid).size, ask: best(ask).price,
      askSize: best(ask).size, time: time)
  }

  @inline(never)
  private func bad(
    _ price: Int64, _ size: Int64, _ reader: borrowing FieldReader, _ field: StaticString
  ) -> FeedError {
    if size < 0 { return FeedError(.decimal, "field \(field) at offset \(reader.offset): negative size") }
    if price > 0 {
      return FeedError(JSONError(reason: .decimal(.overflow), offset: reader.offset), field: field, base: 0)
    }
    return FeedError(.value, "level before offset \(reader.offset): price is not above zero")
  }

  /// Whether a level goes into a book. An ask at a price beyond 64 bits does not, and is counted (asks of 10^10 and
  /// more are there): it is further away than any that could be shown. Of a bid that would be the best one, nothing
  /// would be left.
  @inline(__always)
  private mutating func isKept(
    _ level: PriceLevel, isBid: Bool, _ reader: borrowing FieldReader
  ) throws(FeedError) -> Bool {
    guard level.price == .max else { return level.price > 0 }
    if isBid { throw FeedError(.decimal, "bid before offset \(reader.offset): price is too large") }
    badLevels += 1
    return false
  }

  /// Reads a level. Its price is above zero, and `Int64.max` stands for all that are too large; 0 with a size of 0 is
  /// a place without orders.
  @inline(__always)
  mutating func readLevel(
    _ reader: inout FieldReader, _ place: Int, _ field: StaticString, _ format: BookFormat, _ word: inout JSONSlice?
  ) throws(FeedError) -> PriceLevel {
    var price: Int64 = 0
    var size: Int64 = 0
    switch format.level {
    case .array:
      try reader.arrayStart()
      if format.word.isThere {
        guard try reader.nextElement() else { throw FeedError.missing("word", in: "level") }
        word = try reader.string(field)
      }
      guard try reader.nextElement() else { throw FeedError.missing("price", in: "level") }
      price = try number(&reader, place, isPrice: true, field, format)
      guard try reader.nextElement() else { throw FeedError.missing("size", in: "level") }
      size = try number(&reader, place, isPrice: false, field, format)
      while try reader.nextElement() { try reader.skipValue() }
    case .object(let priceField, let sizeField, let wordField):
      var hasPrice = false
      var hasSize = false
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, priceField) {
          price = try number(&reader, place, isPrice: true, priceField, format)
          hasPrice = true
        } else if reader.equals(key, sizeField) {
          size = try number(&reader, place, isPrice: false, sizeField, format)
          hasSize = true
        } else if format.word.isThere, reader.equals(key, wordField) {
          word = try reader.string(wordField)
        } else {
          try reader.skipValue()
        }
      }
      guard hasPrice else { throw FeedError.missing(priceField, in: "level") }
      guard hasSize else { throw FeedError.missing(sizeField, in: "level") }
    }
    guard price > 0 || size == 0 && price == 0 else {
      throw FeedError(.value, "level before offset \(reader.offset): price is not above zero")
    }
    return PriceLevel(price: price, size: size)
  }

  @inline(__always)
  private mutating func number(
    _ reader: inout FieldReader, _ place: Int, isPrice: Bool, _ field: StaticString, _ format: BookFormat
  ) throws(FeedError) -> Int64 {
    switch format.learns {
    case .nothing: break
    case .sizes where isPrice: break
    case .sizes, .all: return try learntNumber(&reader, place, isPrice: isPrice, field, format)
    }
    return isPrice ? try levelPrice(&reader, place, field) : try size(&reader, place, field)
  }

  /// Looks at the digits first. Not for every message: snapshots show them.
  @inline(never)
  private mutating func learntNumber(
    _ reader: inout FieldReader, _ place: Int, isPrice: Bool, _ field: StaticString, _ format: BookFormat
  ) throws(FeedError) -> Int64 {
    let slice = try reader.rawValue(field)
    var value = reader.reader(slice)
    switch value.peek() {
    case .string:
      let text = try value.string(field)
      try learnDigits(of: value.text(text), place, isPrice: isPrice)
      value = reader.reader(slice)
    case .number:
      try learnDigits(of: reader.text(slice.slice), place, isPrice: isPrice)
    default: break
    }
    return isPrice ? try levelPrice(&value, place, field) : try size(&value, place, field)
  }

  // MARK: Snapshots by REST

  /// Reads a whole book whose levels go to the end of `batch`. O(levels).
  /// - Returns: the number that it stands at, which is in `field`.
  mutating func readSnapshot(
    _ reader: inout FieldReader, _ place: Int, number field: StaticString, _ format: BookFormat,
    into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    var number: Int64?
    var sides = 0
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, field) {
        number = try reader.int64(field)
      } else if reader.equals(key, format.bids) {
        try readLevels(&reader, place, format.bids, isBid: true, format, into: &batch.bids)
        sides += 1
      } else if reader.equals(key, format.asks) {
        try readLevels(&reader, place, format.asks, isBid: false, format, into: &batch.asks)
        sides += 1
      } else {
        try reader.skipValue()
      }
    }
    guard let number else { throw FeedError.missing(field, in: format.title) }
    guard sides == 2 else { throw FeedError(.shape, "\(format.title) without both sides") }
    return number
  }

  // MARK: The event

  /// Appends the event of a book whose levels are all that stands in `batch` since `mark`. O(levels).
  mutating func append(
    _ kind: BookEvent.Kind, _ place: Int, since mark: BatchMark, time: Timestamp, checksum: UInt32? = nil,
    into batch: inout EventBatch
  ) {
    note(place, batch.bids[mark.bids...])
    note(place, batch.asks[mark.asks...])
    batch.appendBook(kind, place, since: mark, time: time, checksum: checksum)
  }
}
