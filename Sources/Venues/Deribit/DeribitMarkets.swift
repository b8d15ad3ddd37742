import Bytes
import MarketData

/// Reading Deribit's lists: instruments, and the 24 h figures of all of them.
extension Deribit {
  /// `{"jsonrpc":"2.0","result":[{…},…]}`
  func readMarkets(_ body: RawSpan) throws(FeedError) -> [ListedMarket] {
    var reader = FieldReader(body)
    var list: [ListedMarket]?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "result"), reader.peek() == .array {
        list = try reader.markets(readMarket)
      } else {
        try reader.skipValue()
      }
    }
    guard let list else { throw FeedError.missing("result", in: "get_instruments") }
    return list
  }

  /// `{"result":[{"instrument_name":…,"volume_notional":…,"volume":…,"volume_usd":…},…]}`; `volume_notional` is in
  /// the quote currency.
  func readSummaries(_ body: RawSpan, into volumes: inout [String: Decimal64]) throws(FeedError) {
    var reader = FieldReader(body)
    var isRead = false
    try reader.objectStart()
    while let key = try reader.nextKey() {
      guard reader.equals(key, "result"), reader.peek() == .array else {
        try reader.skipValue()
        continue
      }
      isRead = true
      try reader.volumes(of: "instrument_name", "volume_notional", into: &volumes)
    }
    guard isRead else { throw FeedError.missing("result", in: "get_book_summary_by_currency") }
  }

  /// Nil for options, combos and spot. `instrument_type` says which contracts are linear, in older lists
  /// `future_type`; before that, all were inverse: their amounts are in US dollars.
  private func readMarket(_ reader: inout FieldReader) throws(FeedError) -> ListedMarket? {
    var name = ""
    var base = ""
    var quote = ""
    var isFuture = false
    var isLinear = false
    var isPerpetual = false
    var isActive = true
    var expiry: Int64 = 0
    var tick: Decimal64?
    var contract: Decimal64?
    var step: Decimal64?
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, "instrument_name") {
        name = try reader.decodedString("instrument_name")
      } else if reader.equals(key, "base_currency") {
        base = try reader.decodedString("base_currency")
      } else if reader.equals(key, "quote_currency") {
        quote = try reader.decodedString("quote_currency")
      } else if reader.equals(key, "kind") {
        isFuture = reader.equals(try reader.string("kind"), "future")
      } else if reader.equals(key, "instrument_type") || reader.equals(key, "future_type"), reader.peek() == .string {
        isLinear = reader.equals(try reader.string("instrument_type"), "linear")
      } else if reader.equals(key, "settlement_period"), reader.peek() == .string {
        isPerpetual = reader.equals(try reader.string("settlement_period"), "perpetual")
      } else if reader.equals(key, "expiration_timestamp"), reader.peek() == .number {
        expiry = try reader.int64("expiration_timestamp")
      } else if reader.equals(key, "is_active"), reader.peek() == .bool {
        isActive = try reader.bool("is_active")
      } else if reader.equals(key, "tick_size") {
        tick = try reader.statistic("tick_size")
      } else if reader.equals(key, "contract_size") {
        contract = try reader.statistic("contract_size")
      } else if reader.equals(key, "amount_step") {
        step = try reader.statistic("amount_step")
      } else {
        try reader.skipValue()
      }
    }
    guard !name.isEmpty else { throw FeedError.missing("instrument_name", in: "instrument") }
    guard isFuture, !base.isEmpty, !quote.isEmpty else { return nil }
    let kind: Instrument.Kind
    if isPerpetual {
      kind = .perpetual
    } else if let day = VenueTime.epoch(expiry).map(VenueTime.day) {
      kind = .future(expiry: day)
    } else {
      return nil
    }
    // Amounts are whole contracts, counted in the base currency.
    return ListedMarket(
      venueSymbol: name, symbol: FeedSymbol(base: base, quote: quote, kind: kind), priceIncrement: tick?.trimmed,
      sizeIncrement: (step ?? contract)?.trimmed, contractSize: isLinear ? Decimal64(mantissa: 1, scale: 0) : nil,
      state: isActive ? .trading : .halted)
  }
}
