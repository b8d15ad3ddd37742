/// What every client asks for.
struct Subscription {
  /// Symbols of one request, which keeps it under 64 KiB.
  static let symbolsPerRequest = 400
  static let stateChannels: Set<String> = ["quote", "ticker", "pulse", "book", "sparkline"]
  static let channels: Set<String> = stateChannels.union(["trades", "candles", "alerts", "status"])

  /// Whole masked text frames.
  let frames: [[UInt8]]
  let streamCount: Int
  let symbols: [String]

  static let none = Subscription()

  private init() {
    frames = []
    streamCount = 0
    symbols = []
  }

  /// - Throws: `LoadError` for a channel that does not exist, or a symbol that stands for several.
  init(channels: [String], symbols: [String], depth: Int, intervalMs: Int) throws {
    guard !channels.isEmpty else { throw LoadError("--channels names no channel") }
    for channel in channels where !Self.channels.contains(channel) {
      throw LoadError("there is no channel '\(channel)'; there are \(Self.channels.sorted().joined(separator: ", "))")
    }
    for symbol in symbols where symbol.contains("*") || symbol.contains("\"") {
      throw LoadError("'\(symbol)' stands for several symbols; name each one, or use --symbol-count")
    }
    var frames: [[UInt8]] = []
    var count = 0
    for start in stride(from: 0, to: symbols.count, by: Self.symbolsPerRequest) {
      let names = symbols[start..<min(start + Self.symbolsPerRequest, symbols.count)]
      let list = names.map { "\"\($0)\"" }.joined(separator: ",")
      // One channel a request: a request stays small, and one that is refused names itself.
      for channel in channels where channel != "status" || start == 0 {
        var item = "{\"channel\":\"\(channel)\""
        if channel != "status" { item += ",\"symbols\":[\(list)]" }
        if channel == "book" { item += ",\"depth\":\(depth)" }
        if Self.stateChannels.contains(channel) { item += ",\"interval_ms\":\(intervalMs)" }
        frames.append(Self.frame("{\"op\":\"subscribe\",\"id\":\(frames.count + 1),\"streams\":[\(item)}]}"))
        count += channel == "status" ? 1 : names.count
      }
    }
    self.frames = frames
    self.symbols = symbols
    streamCount = count
  }

  /// A masked text frame (RFC 6455 section 5.2).
  private static func frame(_ text: String) -> [UInt8] {
    let payload = Array(text.utf8)
    let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    var bytes: [UInt8] = [0x81]
    if payload.count < 126 {
      bytes.append(0x80 | UInt8(payload.count))
    } else {
      bytes += [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    }
    bytes += mask
    for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index & 3]) }
    return bytes
  }
}
