import Bytes
import MarketData

/// The instruments of a connection, by index: the venue's names, scales that widen as values ask for it, contract
/// sizes.
///
/// A dialect reads every number of an instrument through it. A value that has more digits than its scale throws, and
/// says what it needs: the engine widens the scale and has the message read again.
///
/// Bounded by `SymbolTable.limit` instruments.
struct InstrumentTable {
  /// The widest scale that a value may ask for. Twelve digits hold every increment in use; a stray price of 18 digits
  /// must not make all others overflow.
  static let widestScale: UInt8 = 12

  /// By `InstrumentID`. Only grows; an instrument keeps its index.
  private(set) var instruments: [Instrument] = []
  private(set) var names = SymbolTable()
  /// The largest price and size of each instrument so far: what a wider scale has to have room for.
  private var peaks: [PriceLevel] = []
  /// How the venue's own numbers of an instrument are read.
  struct Units {
    var price: DecimalScale
    var size: DecimalScale
    /// By what sizes are multiplied then, and the digits that this adds.
    let factor: Int64
    let added: UInt8

    init(_ instrument: Instrument) {
      (factor, added) = (instrument.contractSize.mantissa, instrument.contractSize.scale)
      price = DecimalScale(instrument.priceScale)
      size = DecimalScale(instrument.sizeScale - added)
    }
  }
  private(set) var units: [Units] = []
  /// Asks that were left out of the message being read; counted when all of it has been.
  var badLevels = 0
  /// Set when a value had more digits than its instrument's scale; the reader of books takes back what it tried.
  var widening: (index: Int, isPrice: Bool, needed: UInt8)?

  var count: Int { instruments.count }
  subscript(_ index: Int) -> Instrument { instruments[index] }

  /// A message begins to be read.
  mutating func begin() {
    widening = nil
    badLevels = 0
  }

  // MARK: Names

  /// The index of a venue symbol, or an error that names it.
  func index(_ text: RawSpan) throws(FeedError) -> Int {
    let index = names.find(text)
    guard index >= 0 else {
      let shown = text.withUnsafeBytes { String(decoding: $0.prefix(40), as: UTF8.self) }
      throw FeedError(.unknownSymbol, "symbol \(shown) was not subscribed")
    }
    return index
  }

  /// The index of a venue symbol; nil if it has none.
  func index(named name: String) -> Int? {
    var name = name
    let index = name.withUTF8 { names.find(UnsafeRawBufferPointer($0)) }
    return index >= 0 ? index : nil
  }

  /// The index of a symbol that is followed, or was; nil if it has none. O(instruments).
  func index(of symbol: FeedSymbol) -> Int? {
    instruments.firstIndex { $0.base == symbol.base && $0.quote == symbol.quote && $0.kind == symbol.kind }
  }

  /// Adds an instrument, or brings the one of that venue symbol up to date; scales never shrink. Appends `.instrument`
  /// if something changed. Returns its index; nil if the table is full.
  ///
  /// Where the venue counts contracts, every size that `size` reads is brought to base units. A contract's size never
  /// changes; where it does, the venue lists another. Precondition: the market has a contract size.
  mutating func add(
    _ market: ListedMarket, venue: String, into batch: inout EventBatch
  ) -> (index: Int, priceBy: Int64, sizeBy: Int64)? {
    guard let contract = market.contractSize else { preconditionFailure("what has no exact size is refused before") }
    guard let index = names.insert(market.venueSymbol) else { return nil }
    if index == instruments.count {
      instruments.append(
        Instrument(
          id: InstrumentID(index), venue: venue, venueSymbol: market.venueSymbol, base: market.symbol.base,
          quote: market.symbol.quote, kind: market.symbol.kind, contractSize: contract, priceScale: market.priceScale,
          sizeScale: market.sizeScale, priceIncrement: market.priceIncrement, sizeIncrement: market.sizeIncrement))
      peaks.append(PriceLevel(price: 0, size: 0))
      units.append(Units(instruments[index]))
      batch.append(instrument: instruments[index])
      return (index, 1, 1)
    }
    var changed = instruments[index]
    changed.priceIncrement = market.priceIncrement ?? changed.priceIncrement
    changed.sizeIncrement = market.sizeIncrement ?? changed.sizeIncrement
    if changed != instruments[index] {
      instruments[index] = changed
      batch.append(instrument: changed)
    }
    let price = widen(index, isPrice: true, to: market.priceScale, into: &batch) ?? 1
    let size = widen(index, isPrice: false, to: market.sizeScale, into: &batch) ?? 1
    return (index, price, size)
  }

  // MARK: Numbers

  /// Reads a price of an instrument, bare or in quotes, at its scale.
  mutating func price(_ reader: inout FieldReader, _ index: Int, _ field: StaticString) throws(FeedError) -> Int64 {
    try decimal(&reader, index, isPrice: true, field)
  }

  /// Reads a size of an instrument, bare or in quotes, at its scale. Negative ones are refused.
  mutating func size(_ reader: inout FieldReader, _ index: Int, _ field: StaticString) throws(FeedError) -> Int64 {
    let size = try decimal(&reader, index, isPrice: false, field)
    guard size >= 0 else { throw FeedError(.decimal, "field \(field) at offset \(reader.offset): negative size") }
    return size
  }

  /// Reads a size whose sign says something of its own (the side, on Bitfinex).
  mutating func signedSize(
    _ reader: inout FieldReader, _ index: Int, _ field: StaticString
  ) throws(FeedError) -> Int64 {
    try decimal(&reader, index, isPrice: false, field)
  }

  /// Reads the price of a level: `Int64.max` for one that is too large.
  mutating func levelPrice(
    _ reader: inout FieldReader, _ index: Int, _ field: StaticString
  ) throws(FeedError) -> Int64 {
    reader.field = field
    do throws(JSONError) {
      return try scaled(&reader, index, isPrice: true)
    } catch {
      if case .decimal(.overflow) = error.reason { return .max }
      throw reader.failure(error)
    }
  }

  private mutating func decimal(
    _ reader: inout FieldReader, _ index: Int, isPrice: Bool, _ field: StaticString
  ) throws(FeedError) -> Int64 {
    reader.field = field
    do throws(JSONError) {
      return try scaled(&reader, index, isPrice: isPrice)
    } catch {
      throw reader.failure(error)
    }
  }

  private mutating func scaled(
    _ reader: inout FieldReader, _ index: Int, isPrice: Bool
  ) throws(JSONError) -> Int64 {
    let unit = units[index]
    let value: Int64
    do throws(JSONError) {
      value = try reader.json.decimal(isPrice ? unit.price : unit.size)
    } catch {
      if case .decimal(.tooPrecise(let needed)) = error.reason {
        // A number may be printed with more digits than any scale has.
        widening = (index, isPrice, UInt8(clamping: Int(needed) + (isPrice ? 0 : Int(unit.added))))
      }
      throw error
    }
    if isPrice || unit.factor == 1 { return value }
    let (product, overflow) = value.multipliedReportingOverflow(by: unit.factor)
    guard !overflow else { throw JSONError(reason: .decimal(.overflow), offset: reader.json.offset) }
    return product
  }

  /// Widens the scale to the digits that a number above zero is printed with, zeros at the end included: the message
  /// will be read again. Eight is the most that venues print a real price or size with.
  mutating func learnDigits(of text: RawSpan, _ index: Int, isPrice: Bool) throws(FeedError) {
    let digits = DecimalText.printedScale(text)
    let added = isPrice ? 0 : units[index].added
    let scale = isPrice ? instruments[index].priceScale : instruments[index].sizeScale - added
    guard digits > scale, digits <= 8, let value = try? DecimalText.parse(text, scale: digits), value > 0 else {
      return
    }
    widening = (index, isPrice, digits + added)
    throw FeedError(.decimal, FeedError.words(.tooPrecise(needed: digits + added)))
  }

  /// A price of the venue's own statistics: what does not fit the scale, or is below zero, is left out; it widens
  /// nothing.
  func statisticsPrice(
    _ reader: inout FieldReader, _ index: Int, _ field: StaticString
  ) throws(FeedError) -> Int64? {
    reader.field = field
    do throws(JSONError) {
      if try reader.json.null() { return nil }
      let price = try reader.json.decimal(units[index].price)
      return price < 0 ? nil : price
    } catch {
      if case .decimal = error.reason { return nil }
      throw reader.failure(error)
    }
  }

  // MARK: Scales

  /// Notes the largest values among levels that were accepted. O(levels).
  mutating func note(_ index: Int, _ levels: ArraySlice<PriceLevel>) {
    var peak = peaks[index]
    for level in levels {
      peak.price = max(peak.price, level.price)
      peak.size = max(peak.size, level.size)
    }
    peaks[index] = peak
  }

  mutating func note(_ index: Int, price: Int64, size: Int64) {
    peaks[index].price = max(peaks[index].price, price)
    peaks[index].size = max(peaks[index].size, size)
  }

  /// Widens the scale that the last failed reading asked for. By what the values of which index are to be multiplied;
  /// nil if it asked for none, or cannot have it.
  mutating func widenIfNeeded(into batch: inout EventBatch) -> (index: Int, priceBy: Int64, sizeBy: Int64)? {
    guard let (index, isPrice, needed) = widening else { return nil }
    widening = nil
    return widen(index, isPrice: isPrice, to: needed, into: &batch).map { (index, isPrice ? $0 : 1, isPrice ? 1 : $0) }
  }

  /// Appends `.instrument` with the wider scale. The factor between the scales; nil if the scale is as wide already,
  /// would be beyond `widestScale`, or a value seen so far would overflow at it.
  mutating func widen(_ index: Int, isPrice: Bool, to needed: UInt8, into batch: inout EventBatch) -> Int64? {
    let scale = isPrice ? instruments[index].priceScale : instruments[index].sizeScale
    guard needed > scale, needed <= Self.widestScale else { return nil }
    let factor = Int64(DecimalText.power(needed - scale))
    let (peak, overflow) = (isPrice ? peaks[index].price : peaks[index].size).multipliedReportingOverflow(by: factor)
    // Room for a thousand times the largest value so far.
    guard !overflow, peak <= Int64.max / 1000 else { return nil }
    if isPrice {
      instruments[index].priceScale = needed
      peaks[index].price = peak
    } else {
      instruments[index].sizeScale = needed
      peaks[index].size = peak
    }
    units[index] = Units(instruments[index])
    batch.append(instrument: instruments[index])
    return factor
  }
}
