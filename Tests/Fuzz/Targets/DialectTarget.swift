import Bytes
import Compatibility
import HTTP1
import MarketData
import PubSub

extension FuzzTarget {
  /// A client of another protocol: the path of its WebSocket in the first line, then its messages, one a line.
  static let dialect = FuzzTarget(
    "dialect",
    words: [
      "/compat/kraken/v2\n", "/compat/binance/ws\n", "/compat/binance/stream?streams=", "\"method\":\"subscribe\"",
      "\"method\":\"SUBSCRIBE\"", "\"params\":{", "\"params\":[", "\"channel\":\"book\"", "\"symbol\":[\"BTC/USD\"]",
      "\"depth\":10", "\"interval\":5", "btcusdt@depth@100ms", "btcusdt@kline_1m", "\"req_id\":1", "\"id\":1", "\n",
    ]
  ) { (bytes) throws(FuzzFailure) in
    var lines = bytes.lines.prefix(100)
    let path = lines.popFirst().map { String(decoding: $0, as: UTF8.self) } ?? ""
    let head = HTTPRequestHead(method: "GET", target: path, fields: HTTPFields([]))
    let port = CompatibilityPort(.demo)
    guard port.serves(head.path), let session = port.stream(head) else { return }
    var room = 50
    var held: Set<StreamKey> = []
    func run(_ act: (inout DialectContext) -> Void) throws(FuzzFailure) -> Bool {
      var desk = DialectContext(
        now: Timestamp(microseconds: 1_790_000_000_000_000), grant: .everything, directory: directory, feeds: [],
        room: room, holds: { [held] in held.contains($0) }, all: { [held] in Array(held) })
      act(&desk)
      for action in desk.actions {
        switch action {
        case .send(let text): try requireJSON(text)
        case .join(let key):
          try require(key.dialect != nil && directory.entries[key.symbol] != nil, "a stream of no market: \(key)")
          held.insert(key)
        case .leave(let key): held.remove(key)
        case .close(_, let reason):
          try require(!reason.isEmpty && reason.utf8.count <= 123, "a close without a reason that fits")
          return false
        }
      }
      try require(held.count <= 50, "more subscriptions than are allowed")
      room = 50 - held.count
      return true
    }
    guard try run({ session.open(&$0) }) else { return }
    for line in lines {
      var isAnswered = false
      let goesOn = try run { desk in
        session.receive(line.span.bytes, &desk)
        isAnswered = !desk.actions.isEmpty
      }
      try require(isAnswered, "a message is not answered")
      guard goesOn else { return }
    }
  }

  private static let directory: Directory = {
    var directory = Directory()
    for (index, (venue, quote)) in [("kraken", "USD"), ("binance", "USDT")].enumerated() {
      let instrument = Instrument(
        id: InstrumentID(index), venue: venue, venueSymbol: "", base: "BTC", quote: quote, priceScale: 1, sizeScale: 8)
      directory.entries[instrument.symbol] = DirectoryEntry(
        loop: 0, market: 0, instrument: instrument, bookState: .live)
    }
    return directory
  }()

  private static func requireJSON(_ text: [UInt8]) throws(FuzzFailure) {
    var json = JSONScanner(text.span.bytes)
    do throws(JSONError) {
      try json.skipValue()
      try json.end()
    } catch {
      throw FuzzFailure("an answer that is no JSON: \(String(decoding: text, as: UTF8.self))")
    }
  }
}
