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

    fileprivate var isThere: Bool { if case .none = self { false } else { true } }
  }

  /// Of which numbers the printed digits are the scale, zeros at the end included, eight at most.
  enum Learning {
    case nothing, sizes, all
    /// All of a market whose increments the list does not tell.
    case unlisted
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

  fileprivate func shape(price: DecimalScale, size: DecimalScale) -> JSONLevelShape {
    switch level {
    case .array: return JSONLevelShape(names: nil, hasWord: word.isThere, first: price, second: size)
    case .object(let priceName, let sizeName, let wordName):
      return JSONLevelShape(
        names: (word: wordName, first: priceName, second: sizeName), hasWord: word.isThere, first: price, second: size)
    }
  }

  /// The same, as a message prints it whose digits are the scale.
  func learning(_ learns: Learning) -> BookFormat {
    var format = self
    format.learns = learns
    return format
  }
}

/// How a venue names what a book's message says beside its levels, where that is one object.
struct UpdateFormat {
  /// Nil where the symbol stands outside the object.
  var symbol: StaticString?
  /// The text before and after the symbol. A message without them belongs to another stream.
  var prefix: StaticString = ""
  var suffix: StaticString = ""
  /// The number of the first change in it; nil where there is one number.
  var first: StaticString?
  /// Nil where nothing is numbered.
  var last: StaticString?
  /// The number before its own.
  var previous: StaticString?
  /// Nil where the engine reads the time itself.
  var time: StaticString?
  var clock = VenueClock.epoch
}

/// The fields of one message of a book, whose levels stand in the batch behind `mark`.
struct UpdateFields {
  var index: Int?
  var first: Int64?
  var last: Int64?
  var previous: Int64?
  var time: Timestamp?
  /// Whether it is of another stream: without what stands around its symbol, and nothing was read of it.
  var isOther = false
  let mark: BatchMark
}

extension InstrumentTable {
  /// Reads one side of a book, or levels that say which side each is of; null, where a side may be missing, is one
  /// without levels. A level that cannot be read costs the message, and with it the book: what it said of the others is
  /// not the whole any more. O(levels).
  /// - Parameter isBid: nil where the levels say it.
  mutating func readLevels(
    _ reader: inout FieldReader, _ index: Int, _ field: StaticString, isBid: Bool?, _ format: BookFormat,
    into batch: inout EventBatch
  ) throws(FeedError) {
    reader.field = field
    if !format.needsBothSides, isBid != nil, try reader.null() { return }
    try reader.arrayStart()
    let unit = units[index]
    let shape = format.shape(price: unit.price, size: unit.size)
    let isPlain = !learns(format, index, isPrice: false)
    while try reader.nextElement() {
      repeat {
        var isBid = isBid
        var word: JSONSlice?
        var level: PriceLevel
        // As nearly all are printed; whatever is not of that shape is read by the other way.
        if isPlain, let found = reader.json.shortLevel(shape) {
          let (size, overflow) = found.second.multipliedReportingOverflow(by: unit.factor)
          guard !overflow, found.first > 0 || found.first == 0 && size == 0 else {
            throw bad(found.first, found.second, reader, field)
          }
          (word, level) = (found.word, PriceLevel(price: found.first, size: size))
        } else {
          level = try readLevel(&reader, index, field, format, &word)
        }
        switch format.word {
        case .none: break
        case .action(let removal): if let word, reader.equals(word, removal) { level.size = 0 }
        case .side(let bid, let ask):
          guard let word else { throw FeedError.missing("side", in: "level") }
          isBid = reader.equals(word, bid)
          guard isBid == true || reader.equals(word, ask) else {
            throw FeedError(.shape, "side of the level before offset \(reader.offset) is neither \(bid) nor \(ask)")
          }
        }
        guard try isKept(level, isBid: isBid == true, reader) else { continue }
        if isBid == true { batch.bids.append(level) } else { batch.asks.append(level) }
      } while reader.json.nextLevel(shape)
    }
  }

  @inline(never)
  private func bad(
    _ price: Int64, _ size: Int64, _ reader: borrowing FieldReader, _ field: StaticString
  ) -> FeedError {
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
    _ reader: inout FieldReader, _ index: Int, _ field: StaticString, _ format: BookFormat, _ word: inout JSONSlice?
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
      price = try number(&reader, index, isPrice: true, field, format)
      guard try reader.nextElement() else { throw FeedError.missing("size", in: "level") }
      size = try number(&reader, index, isPrice: false, field, format)
      while try reader.nextElement() { try reader.skipValue() }
    case .object(let priceField, let sizeField, let wordField):
      var hasPrice = false
      var hasSize = false
      try reader.objectStart()
      while let key = try reader.nextKey() {
        if reader.equals(key, priceField) {
          price = try number(&reader, index, isPrice: true, priceField, format)
          hasPrice = true
        } else if reader.equals(key, sizeField) {
          size = try number(&reader, index, isPrice: false, sizeField, format)
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
    _ reader: inout FieldReader, _ index: Int, isPrice: Bool, _ field: StaticString, _ format: BookFormat
  ) throws(FeedError) -> Int64 {
    if learns(format, index, isPrice: isPrice) {
      return try learntNumber(&reader, index, isPrice: isPrice, field, format)
    }
    return isPrice ? try levelPrice(&reader, index, field) : try size(&reader, index, field)
  }

  @inline(__always)
  private func learns(_ format: BookFormat, _ index: Int, isPrice: Bool) -> Bool {
    switch format.learns {
    case .nothing: false
    case .sizes: !isPrice
    case .all: true
    case .unlisted: instruments[index].priceIncrement == nil && instruments[index].sizeIncrement == nil
    }
  }

  /// Looks at the digits first. Not for every message: snapshots show them.
  @inline(never)
  private mutating func learntNumber(
    _ reader: inout FieldReader, _ index: Int, isPrice: Bool, _ field: StaticString, _ format: BookFormat
  ) throws(FeedError) -> Int64 {
    let slice = try reader.rawValue(field)
    var value = reader.reader(slice)
    switch value.peek() {
    case .string:
      let text = try value.string(field)
      try learnDigits(of: value.text(text), index, isPrice: isPrice)
      value = reader.reader(slice)
    case .number:
      try learnDigits(of: reader.text(slice.slice), index, isPrice: isPrice)
    default: break
    }
    return isPrice ? try levelPrice(&value, index, field) : try size(&value, index, field)
  }
}

extension InstrumentTable {
  /// Reads an object that is a book's message. Levels are read where they stand once the symbol is known, as it is
  /// before them at nearly every venue; else they wait for it, and are left out where it does not come. O(levels).
  /// - Parameters:
  ///   - index: where the symbol stands outside the object.
  ///   - other: reads the value of a field that `format` does not name; it returns false, and reads nothing, to skip.
  mutating func readUpdate(
    _ reader: inout FieldReader, of index: Int? = nil, _ format: UpdateFormat, _ book: BookFormat,
    into batch: inout EventBatch,
    other: (JSONSlice, inout FieldReader) throws(FeedError) -> Bool = { _, _ in false }
  ) throws(FeedError) -> UpdateFields {
    var fields = UpdateFields(index: index, mark: BatchMark(batch))
    var (bids, asks) = (Side(), Side())
    var guess: Int?
    let left = badLevels
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, book.bids) {
        try readSide(&reader, isBid: true, fields, &guess, format, book, &bids, into: &batch)
      } else if reader.equals(key, book.asks) {
        try readSide(&reader, isBid: false, fields, &guess, format, book, &asks, into: &batch)
      } else if let last = format.last, reader.equals(key, last) {
        fields.last = try reader.int64(last)
      } else if let first = format.first, reader.equals(key, first) {
        fields.first = try reader.int64(first)
      } else if let previous = format.previous, reader.equals(key, previous) {
        fields.previous = try reader.null() ? nil : try reader.int64(previous)
      } else if let time = format.time, reader.equals(key, time) {
        fields.time = try reader.time(time, format.clock)
      } else if let symbol = format.symbol, reader.equals(key, symbol) {
        let name = try reader.string(symbol)
        fields.index = try self.index(reader.text(name), format)
        fields.isOther = fields.index == nil
        if let guess, guess != fields.index {
          (bids.isRead, asks.isRead, badLevels) = (false, false, left)
          fields.mark.dropLevels(&batch)
        }
        guess = nil
      } else if try !other(key, &reader) {
        try reader.skipValue()
      }
    }
    guard let index = fields.index else {
      fields.mark.dropLevels(&batch)
      return fields
    }
    if !bids.isRead { try readLevels(bids.slice, of: reader, index, isBid: true, book, into: &batch) }
    if !asks.isRead { try readLevels(asks.slice, of: reader, index, isBid: false, book, into: &batch) }
    return fields
  }

  /// A side of an update while that is read: where it stands, and whether its levels are in the batch.
  private struct Side {
    var slice: FieldSlice?
    var isRead = false
  }

  /// Reads a side where it stands if the symbol is known. Where the symbol stands behind the sides, the end of the text
  /// shows which it may be: that is a guess until the symbol has been met. What cannot be read so waits for the symbol.
  private mutating func readSide(
    _ reader: inout FieldReader, isBid: Bool, _ fields: UpdateFields, _ guess: inout Int?, _ format: UpdateFormat,
    _ book: BookFormat, _ side: inout Side, into batch: inout EventBatch
  ) throws(FeedError) {
    let name = isBid ? book.bids : book.asks
    // Of a field that stands twice the last one counts.
    if side.isRead, isBid { batch.bids.removeSubrange(fields.mark.bids...) }
    if side.isRead, !isBid { batch.asks.removeSubrange(fields.mark.asks...) }
    side.isRead = false
    if fields.index == nil, guess == nil, let symbol = format.symbol, let text = reader.json.lastText(symbol) {
      guess = try? index(reader.text(text), format)
    }
    if let index = fields.index ?? guess {
      let (start, mark, left) = (reader.json.offset, BatchMark(batch), badLevels)
      do throws(FeedError) {
        try readLevels(&reader, index, name, isBid: isBid, book, into: &batch)
        side = Side(slice: reader.slice(from: start), isRead: true)
        return
      } catch {
        guard fields.index == nil else { throw error }
        // Nothing stays of a guess.
        mark.dropLevels(&batch)
        (badLevels, widening) = (left, nil)
        reader.json.rewind(to: start)
      }
    }
    side.slice = try reader.rawValue(name)
  }

  /// Reads a side that was passed over in `reader`, if there is one. O(levels).
  mutating func readLevels(
    _ side: FieldSlice?, of reader: borrowing FieldReader, _ index: Int, isBid: Bool, _ book: BookFormat,
    into batch: inout EventBatch
  ) throws(FeedError) {
    let name = isBid ? book.bids : book.asks
    guard let side else {
      if book.needsBothSides { throw FeedError.missing(name, in: book.title) }
      return
    }
    var levels = reader.reader(side)
    try readLevels(&levels, index, name, isBid: isBid, book, into: &batch)
  }

  /// The index of the symbol that stands in a text; nil if it is another stream's.
  private func index(_ text: RawSpan, _ format: UpdateFormat) throws(FeedError) -> Int? {
    guard format.prefix.utf8CodeUnitCount + format.suffix.utf8CodeUnitCount > 0 else { return try index(text) }
    let index = text.withUnsafeBytes { bytes in
      MalformedMessageScan.inner(bytes, prefix: format.prefix, suffix: format.suffix).map { names.find($0) }
    }
    if let index, index < 0 { throw FeedError(.unknownSymbol, "a stream that was not subscribed") }
    return index
  }

  /// Reads a whole book that was asked for by REST. O(levels).
  /// - Returns: the number that it stands at, which is in `field`.
  mutating func readSnapshot(
    _ reader: inout FieldReader, _ index: Int, number field: StaticString, _ book: BookFormat,
    into batch: inout EventBatch
  ) throws(FeedError) -> Int64 {
    let fields = try readUpdate(&reader, of: index, UpdateFormat(last: field), book, into: &batch)
    guard let number = fields.last else { throw FeedError.missing(field, in: book.title) }
    return number
  }

  /// Reads an object that is the best level of each side, whole each time; a side without orders is 0.
  mutating func readQuote(
    _ reader: inout FieldReader, _ index: Int, _ format: UpdateFormat, _ book: BookFormat, now: Timestamp,
    _ batch: inout EventBatch
  ) throws(FeedError) -> Quote {
    let fields = try readUpdate(&reader, of: index, format, book, into: &batch)
    let (bid, ask) = batch.takeBest(since: fields.mark)
    return Quote(
      instrument: InstrumentID(index), bid: bid?.price ?? 0, bidSize: bid?.size ?? 0, ask: ask?.price ?? 0,
      askSize: ask?.size ?? 0, time: fields.time ?? now)
  }
}

extension EventBatch {
  /// Takes out the levels since `mark`, which are no book's: the first of each side that has a size, else one with
  /// neither price nor size; nil for a side without levels. O(levels).
  mutating func takeBest(since mark: BatchMark) -> (bid: PriceLevel?, ask: PriceLevel?) {
    func best(_ side: ArraySlice<PriceLevel>) -> PriceLevel? {
      side.first { $0.size > 0 } ?? (side.isEmpty ? nil : PriceLevel(price: 0, size: 0))
    }
    defer { mark.dropLevels(&self) }
    return (best(bids[mark.bids...]), best(asks[mark.asks...]))
  }
}
