import Bytes

/// The data of each channel, from a record to JSON.
extension BinaryDecoder {
  mutating func pulse() throws(BinaryError) {
    let flags = try reader.byte()
    let price = try reader.zigzag()
    out.append(UInt8(ascii: "{"))
    if flags & 1 != 0 {
      let previous = price &+ (try reader.zigzag())
      out.append(price >= previous ? "\"direction\":\"up\"," : "\"direction\":\"down\",")
      append(price: price, "\"price\":")
      append(price: previous, ",\"previous\":")
    } else {
      append(price: price, "\"price\":")
    }
    if flags & 2 != 0 { append(",\"change_pct\":", try reader.zigzag(), digits: 4) }
    if flags & 4 != 0 { append(",\"change_pct_24h\":", try reader.zigzag(), digits: 2) }
    append(",\"merged\":", try reader.varint())
    append(",\"time\":", time &- (try reader.zigzag()))
    if flags & 8 != 0 { try mark(try reader.byte()) }
    out.append(UInt8(ascii: "}"))
  }

  mutating func quote() throws(BinaryError) {
    let bidSize = try reader.bits()
    let bid = bidSize == 0 ? 0 : try reader.zigzag()
    let askSize = try reader.bits()
    let ask = askSize == 0 ? 0 : bid &+ (try reader.zigzag())
    let own = time &- (try reader.zigzag())
    out.append(UInt8(ascii: "{"))
    if !reader.isAtEnd {
      let state = try reader.byte()
      if state == 2 {
        append("\"state\":\"syncing\",\"reason\":", text: try reader.text())
        out.append(UInt8(ascii: ","))
      }
    }
    if bidSize != 0 {
      append(price: bid, "\"bid\":")
      append(size: bidSize, ",\"bid_size\":")
      out.append(UInt8(ascii: ","))
    }
    if askSize != 0 {
      append(price: ask, "\"ask\":")
      append(size: askSize, ",\"ask_size\":")
      out.append(UInt8(ascii: ","))
    }
    append("\"time\":", own)
    out.append(UInt8(ascii: "}"))
  }

  mutating func trades() throws(BinaryError) {
    var (number, price, own): (UInt64, Int64, Int64) = (0, 0, time)
    var isFirst = true
    out.append("{\"trades\":[")
    while !reader.isAtEnd {
      // A run of trades with the same flags; one without trades is the last.
      let (count, flags) = try reader.run(of: 4)
      if count == 0 { break }
      for _ in 0..<count {
        out.append(isFirst ? "{\"id\":" : ",{\"id\":")
        isFirst = false
        if flags & 2 != 0 {
          number = number &+ UInt64(bitPattern: try reader.zigzag())
          out.append(UInt8(ascii: "\""))
          out.append(integer: number)
          out.append(UInt8(ascii: "\""))
        } else {
          append("", text: try reader.text())
        }
        price = price &+ (try reader.zigzag())
        append(price: price, ",\"price\":")
        append(size: try reader.bits(), ",\"size\":")
        own = own &+ (try reader.zigzag())
        out.append(flags & 1 != 0 ? ",\"side\":\"sell\"" : ",\"side\":\"buy\"")
        append(",\"time\":", own)
        if flags & 12 != 0 { out.append(",\"gap\":true") }
        if flags & 8 != 0 { out.append(",\"renumbered\":true") }
        if flags & 16 != 0 { out.append(",\"late\":true") }
        out.append(UInt8(ascii: "}"))
      }
    }
    out.append(UInt8(ascii: "]"))
    if !reader.isAtEnd { try mark(try reader.byte()) }
    if !reader.isAtEnd { try hole(try reader.byte()) }
    out.append(UInt8(ascii: "}"))
  }

  /// Trades that the gateway did not get (1), or what became of the search for them (2).
  private mutating func hole(_ kind: UInt8) throws(BinaryError) {
    guard kind == 1 || kind == 2 else { return }
    let first = try reader.zigzag()
    let last = first &+ (try reader.zigzag())
    out.append(kind == 1 ? ",\"lost\":{" : ",\"found\":{")
    append("\"from_id\":", first, digits: 0)
    append(",\"to_id\":", last, digits: 0)
    var flags: UInt8 = 0
    if kind == 2 {
      append(",\"count\":", try reader.zigzag())
      append(",\"missing\":", try reader.zigzag())
    } else {
      flags = try reader.byte()
      if flags & 1 != 0 { append(",\"count\":", try reader.zigzag()) }
    }
    let from = time &+ (try reader.zigzag())
    append(",\"from\":", from)
    append(",\"to\":", from &+ (try reader.zigzag()))
    if kind == 1 { out.append(flags & 2 != 0 ? ",\"requested\":true" : ",\"requested\":false") }
    out.append(UInt8(ascii: "}"))
  }

  mutating func book() throws(BinaryError) {
    let flags = try reader.byte()
    // The reason stands behind the levels, and before them in JSON: an update that is out of sync has none.
    let isSyncing = flags & 1 != 0
    var levels = ByteBuffer(capacity: 64)
    swap(&levels, &out)
    out.append("\"bids\":")
    let bid = try side(after: 0)
    out.append(",\"asks\":")
    let ask = try side(after: bid ?? 0)
    swap(&levels, &out)
    let own = time &- (try reader.zigzag())
    out.append(UInt8(ascii: "{"))
    if isSyncing {
      append("\"state\":\"syncing\",\"reason\":", text: try reader.text())
      out.append(UInt8(ascii: ","))
    } else if isSnapshot {
      out.append("\"state\":\"live\",")
    }
    out.append(levels.unsafeBytes)
    if isSnapshot, !isSyncing, let bid, let ask { append(price: ask &- bid, ",\"spread\":") }
    if flags & 2 != 0 { append(",\"spread_pct\":", try reader.zigzag(), digits: 4) }
    append(",\"time\":", own)
    // Members of a composite: JSON members with a comma before each.
    if flags & 4 != 0 { out.append(try reader.text()) }
    out.append(UInt8(ascii: "}"))
  }

  /// Levels, best first; returns the price of the first.
  private mutating func side(after start: Int64) throws(BinaryError) -> Int64? {
    var first: Int64?
    var price = start
    out.append(UInt8(ascii: "["))
    for index in 0..<(try reader.count(of: 2)) {
      price = price &+ (try reader.zigzag())
      if index == 0 { first = price }
      append(index == 0 ? "[" : ",[", price, digits: priceDigits)
      let size = try reader.bits()
      if size == 0 { out.append(",\"0\"") } else { append(size: size, ",") }
      out.append(UInt8(ascii: "]"))
    }
    out.append(UInt8(ascii: "]"))
    return first
  }

  mutating func ticker() throws(BinaryError) {
    let fields = try reader.varint()
    let source = try reader.byte()
    let names: [StaticString] = [
      "\"last\":", "\"bid\":", "\"ask\":", "\"open_24h\":", "\"high_24h\":", "\"low_24h\":",
    ]
    let figures: [StaticString] = ["\"volume_24h\":", "\"quote_volume_24h\":", "\"vwap_24h\":"]
    var price: Int64 = 0
    var (last, open): (Int64, Int64) = (0, 0)
    out.append(UInt8(ascii: "{"))
    for (bit, name) in names.enumerated() where fields & 1 << UInt64(bit) != 0 {
      price = price &+ (try reader.zigzag())
      if bit == 0 { last = price }
      if bit == 3 { open = price }
      append(price: price, name)
      out.append(UInt8(ascii: ","))
    }
    for (bit, name) in figures.enumerated() where fields & 1 << UInt64(6 + bit) != 0 {
      append(name, try reader.decimal())
      out.append(UInt8(ascii: ","))
    }
    if fields & 1 << 9 != 0 {
      append("\"change_24h\":", try reader.decimal())
      out.append(UInt8(ascii: ","))
    } else if fields & 1 << 10 != 0 {
      append(price: last &- open, "\"change_24h\":")
      out.append(UInt8(ascii: ","))
    }
    if fields & 1 << 11 != 0 {
      append("\"change_pct_24h\":", try reader.zigzag(), digits: 2)
      out.append(UInt8(ascii: ","))
    }
    if fields & 1 << 12 != 0 {
      append("\"trades_24h\":", try reader.zigzag())
      out.append(UInt8(ascii: ","))
    }
    let sources: [StaticString] = ["venue", "gateway", "mixed"]
    out.append("\"source\":\"")
    out.append(source < 3 ? sources[Int(source)] : "unknown")
    out.append("\",")
    if fields & 1 << 13 != 0 { own(try reader.byte()) }
    if fields & 1 << 14 != 0 {
      append("\"covered_from\":", time &- (try reader.zigzag()))
      out.append(UInt8(ascii: ","))
    }
    append("\"time\":", time &- (try reader.zigzag()))
    if fields & 1 << 15 != 0 { try mark(try reader.byte()) }
    out.append(UInt8(ascii: "}"))
  }

  /// `"own":["open_24h"],`: the gateway's own figures.
  private mutating func own(_ figures: UInt8) {
    let names: [(UInt8, StaticString)] = [
      (1, "open_24h"), (2, "high_24h"), (4, "low_24h"), (8, "volume_24h"), (16, "quote_volume_24h"), (32, "vwap_24h"),
      (64, "change_24h"), (64, "change_pct_24h"), (128, "trades_24h"),
    ]
    out.append("\"own\":[")
    var isFirst = true
    for (bit, name) in names where figures & bit != 0 {
      out.append(isFirst ? "\"" : ",\"")
      isFirst = false
      out.append(name)
      out.append(UInt8(ascii: "\""))
    }
    out.append("],")
  }

  mutating func candles() throws(BinaryError) {
    let intervals: [(name: StaticString, minutes: Int64)] = [
      ("1m", 1), ("5m", 5), ("15m", 15), ("1h", 60), ("4h", 240), ("1d", 1_440),
    ]
    let code = Int(try reader.byte())
    guard code < intervals.count else { throw reader.error("there is no such interval") }
    let length = intervals[code].minutes * 60_000_000
    out.append("{\"interval\":\"")
    out.append(intervals[code].name)
    out.append("\",\"candles\":[")
    var (number, close): (Int64, Int64) = (0, 0)
    for index in 0..<(try reader.count(of: 7)) {
      let flags = try reader.byte()
      number = number &+ (try reader.zigzag())
      append(index == 0 ? "{\"time\":" : ",{\"time\":", number &* length)
      let open = close &+ (try reader.zigzag())
      append(price: open, ",\"open\":")
      append(price: open &+ (try reader.zigzag()), ",\"high\":")
      append(price: open &+ (try reader.zigzag()), ",\"low\":")
      close = open &+ (try reader.zigzag())
      append(price: close, ",\"close\":")
      if flags & 2 != 0 { append(",\"volume\":", try reader.decimal()) }
      if flags & 4 != 0 { append(",\"quote_volume\":", try reader.decimal()) }
      if flags & 8 != 0 { append(",\"trades\":", try reader.zigzag()) }
      out.append(flags & 1 != 0 ? ",\"closed\":true" : ",\"closed\":false")
      append(",\"rev\":", try reader.varint())
      let sources: [StaticString] = ["own", "partial", "venue", "unknown"]
      out.append(",\"source\":\"")
      out.append(sources[Int(flags >> 4 & 3)])
      out.append("\"}")
    }
    out.append("]}")
  }

  mutating func sparkline() throws(BinaryError) {
    let flags = try reader.byte()
    guard isSnapshot else {
      append("{\"index\":", try reader.varint())
      let price = try reader.zigzag()
      append(price: price, ",\"price\":")
      append(",\"from\":", time &- (try reader.zigzag()))
      try change(flags, after: price)
      return out.append(UInt8(ascii: "}"))
    }
    let ranges: [StaticString] = ["1h", "24h", "7d", "30d", "90d", "1y", "all"]
    let range = Int(try reader.byte())
    guard range < ranges.count else { throw reader.error("there is no such range") }
    out.append("{\"range\":\"")
    out.append(ranges[range])
    append("\",\"from\":", time &- (try reader.zigzag()))
    append(",\"step_s\":", try reader.zigzag())
    out.append(",\"points\":[")
    var price: Int64 = 0
    for index in 0..<(try reader.count(of: 1)) {
      price = price &+ (try reader.zigzag())
      append(price: price, index == 0 ? "" : ",")
    }
    out.append(UInt8(ascii: "]"))
    try change(flags, after: price)
    if flags & 64 != 0 { append(",\"covered_from\":", time &- (try reader.zigzag())) }
    out.append(",\"gaps\":[")
    for index in 0..<(try reader.count(of: 2)) {
      let from = time &- (try reader.zigzag())
      append(index == 0 ? "{\"from\":" : ",{\"from\":", from)
      append(",\"to\":", from &+ (try reader.zigzag()))
      out.append(UInt8(ascii: "}"))
    }
    out.append("]}")
  }

  /// The change of a line to its last point.
  private mutating func change(_ flags: UInt8, after price: Int64) throws(BinaryError) {
    guard flags & 1 != 0 else { return }
    if flags & 2 != 0 { append(price: price &+ (try reader.zigzag()), ",\"open\":") }
    out.append(
      flags & 16 != 0
        ? ",\"trend\":\"up\"" : flags & 32 != 0 ? ",\"trend\":\"down\"" : ",\"trend\":\"flat\"")
    if flags & 4 != 0 { append(",\"change\":", try reader.decimal()) }
    if flags & 8 != 0 { append(",\"change_pct\":", try reader.zigzag(), digits: 2) }
  }
}
