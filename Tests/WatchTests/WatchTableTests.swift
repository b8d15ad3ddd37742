import Foundation
import TestSupport
import Testing

@testable import TidegateClient
@testable import Watch

@Suite("Watch table")
struct WatchTableTests {
  private static func refusal(_ symbol: String, _ message: String, hint: String = "") -> Refusal {
    Refusal(channel: .pulse, symbol: symbol, code: .unknownSymbol, message: message, hint: hint)
  }

  private static func line(_ points: [ExactDecimal?]) -> Sparkline {
    var line = Sparkline(symbol: "", range: .day)
    line.points = points
    return line
  }

  static func table() -> WatchTable {
    var table = WatchTable(url: "ws://127.0.0.1:8080/v1/stream")
    func info(_ channel: Channel, _ symbol: String) -> StreamInfo {
      .init(channel: channel, symbol: symbol)
    }
    table.apply(
      ConnectionEvent.connected(.init(session: "s", node: "gw-a", version: "1", heartbeatInterval: .seconds(5))))
    table.apply(
      ConnectionEvent.heartbeat(
        .init(
          time: .distantPast, sent: 0,
          feeds: [
            FeedReport(venue: "coinbase", state: .stale, indicator: .reconnecting),
            FeedReport(venue: "kraken", state: .live, indicator: .connected),
          ])))
    _ = table.apply(
      .value(
        .pulse(
          Pulse(
            direction: .up, price: ExactDecimal("64123.50")!, previous: nil, changePercent: nil,
            changePercent24h: ExactDecimal("1.27"), merged: 1, time: .distantPast)), info(.pulse, "kraken:BTC-USD")))
    _ = table.apply(
      .value(
        .ticker(
          Ticker(bid: ExactDecimal("64123.4"), ask: ExactDecimal("64123.60"), source: .venue, time: .distantPast)),
        info(.ticker, "kraken:BTC-USD")))
    _ = table.apply(
      .value(
        .sparkline(
          Self.line(["1", "2", "3"].map { ExactDecimal($0) })), info(.sparkline, "kraken:BTC-USD")))
    _ = table.apply(
      .value(
        .pulse(
          Pulse(
            direction: .down, price: ExactDecimal("3000")!, previous: nil, changePercent: nil,
            changePercent24h: ExactDecimal("-0.5"), merged: 1, time: .distantPast)), info(.pulse, "coinbase:ETH-USD")))
    return table
  }

  @Test("says first that prices are simulated, wherever it has heard it")
  func simulated() {
    var table = Self.table()
    var feed = FeedReport(venue: "kraken", state: .live, indicator: .connected)
    feed.isSimulated = true
    table.apply(.heartbeat(.init(time: .distantPast, sent: 0, feeds: [feed])))
    for width in [60, 120] {
      let header = table.lines(width: width, height: 24, color: false)[0]
      #expect(header.hasPrefix("● prices are SIMULATED (kraken); connected to gw-a"), "\(header)")
    }
    let info = StreamInfo(channel: .status, symbol: "")
    _ = table.apply(.value(.status([feed]), info))
    #expect(table.news == ["● kraken: prices are SIMULATED"])
    _ = table.apply(.value(.status([feed]), info))
    #expect(table.news.isEmpty)
  }

  @Test("shows every value as a row, with words where there is no colour")
  func plain() {
    let lines = Self.table().lines(width: 120, height: 24, color: false)
    #expect(lines.count == 4)
    #expect(lines[0].hasPrefix("● connected to gw-a (ws://127.0.0.1:8080/v1/stream)"))
    #expect(
      lines[2] == "● reconnecting  coinbase:ETH-USD  ▼            3000     -0.5 %",
      "no spaces at the end")
    #expect(
      lines[3]
        == "● connected     kraken:BTC-USD    ▲        64123.50    +1.27 %  ▁▅█                                0.2"
    )
  }

  @Test("stands as whole cells with tabs between them for programs")
  func cells() {
    var table = Self.table()
    let lines = table.plainLines
    #expect(lines[0] == "● connected to gw-a (ws://127.0.0.1:8080/v1/stream)")
    #expect(lines[1] == "feed\tsymbol\ttick\tprice\t24 h\tlast 24 h\tspread")
    #expect(lines[2] == "● reconnecting\tcoinbase:ETH-USD\t▼\t3000\t-0.5 %\t\t")
    #expect(lines[3] == "● connected\tkraken:BTC-USD\t▲\t64123.50\t+1.27 %\t▁▅█\t0.2")
    let reason = String(repeating: "long ", count: 100) + "\u{1B}[2J\t"
    _ = table.apply(.refused(Self.refusal("kraken:FOO-USD", reason)))
    #expect(table.plainLines[4].hasSuffix("long [2J") && table.plainLines[4].count > 500)
  }

  @Test("colours dot, arrow and change, and resets after each")
  func colored() {
    let line = Self.table().line("kraken:BTC-USD", width: 120, color: true) ?? ""
    #expect(line.hasPrefix("\u{1B}[32m●\u{1B}[0m  kraken:BTC-USD"))
    #expect(line.contains("\u{1B}[32m▲\u{1B}[0m"))
    #expect(line.contains("\u{1B}[32m+1.27 %\u{1B}[0m"))
    #expect(line.split(separator: "\u{1B}[", omittingEmptySubsequences: false).count % 2 == 1)
  }

  @Test("never wider or higher than the screen", arguments: [1, 10, 30, 60, 80, 200], [0, 1, 2, 3, 4, 50])
  func fits(width: Int, height: Int) {
    let lines = Self.table().lines(width: width, height: height, color: false)
    #expect(lines.count <= height)
    #expect(lines.allSatisfy { $0.count <= width })
  }

  @Test("on a terminal of 80 columns the curve gives way and the spread is shown")
  func narrow() {
    let lines = Self.table().lines(width: 80, height: 24, color: false)
    #expect(lines[1].hasPrefix("feed            symbol"))
    let colored = Self.table().line("kraken:BTC-USD", width: 80, color: true) ?? ""
    #expect(colored.contains("▁▅█") && colored.contains("0.2"))
    #expect(Self.table().lines(width: 80, height: 24, color: true)[1].contains("spread"))
  }

  @Test("is complete when every symbol that was asked for has all its values, not when the first has")
  func complete() {
    func info(_ channel: Channel, _ symbol: String) -> StreamInfo {
      .init(channel: channel, symbol: symbol)
    }
    var table = WatchTable(url: "ws://h/", symbols: ["kraken:BTC-USD", "kraken:FOO-USD", "coinbase:*"])
    #expect(table.count == 2)
    let line = Self.line([ExactDecimal("1")])
    let ticker = Ticker(
      last: ExactDecimal("5"), bid: ExactDecimal("4"), ask: ExactDecimal("6"), changePercent24h: ExactDecimal("1"),
      source: .venue, time: .distantPast)
    table.apply(
      ConnectionEvent.connected(.init(session: "s", node: "n", version: "1", heartbeatInterval: .seconds(5))))
    let events: [StreamEvent<Payload>] = [
      .value(
        .status([FeedReport(venue: "kraken", state: .live, indicator: .connected)]), .init(channel: .status, symbol: "")
      ),
      .value(.ticker(ticker), info(.ticker, "kraken:BTC-USD")),
      .value(.sparkline(line), info(.sparkline, "kraken:BTC-USD")),
      .refused(Self.refusal("kraken:FOO-USD", "no FOO")),
    ]
    for event in events {
      #expect(!table.isComplete)
      _ = table.apply(event)
    }
    #expect(table.isComplete)
  }

  @Test("changes of a feed and of a symbol's book are told, once each")
  func news() {
    var table = Self.table()
    let info = StreamInfo(channel: .status, symbol: "")
    func status(_ feed: FeedReport) -> [String] {
      _ = table.apply(.value(.status([feed]), info))
      return table.news
    }
    var feed = FeedReport(venue: "kraken", state: .live, indicator: .connected)
    #expect(status(feed) == [])
    feed.syncing = ["kraken:BTC-USD": "checksum mismatch", "kraken:XRP-USD": "not shown"]
    #expect(status(feed) == ["● kraken:BTC-USD out of sync: checksum mismatch"])
    #expect(status(feed) == [])
    #expect(table.line("kraken:BTC-USD", width: 120, color: false)?.hasPrefix("● syncing  ") == true)
    // A heartbeat does not say what is syncing.
    table.apply(.heartbeat(.init(time: .distantPast, sent: 0, feeds: [feed])))
    #expect(table.line("kraken:BTC-USD", width: 120, color: false)?.hasPrefix("● syncing  ") == true)
    feed.syncing = [:]
    #expect(status(feed) == ["● kraken:BTC-USD in sync again"])
    feed.state = .reconnecting
    feed.indicator = .reconnecting
    feed.reason = "closed by the venue"
    #expect(status(feed) == ["● kraken reconnecting: closed by the venue"])
  }

  @Test("a lost connection has a line of its own, until it is back")
  func failure() {
    var table = Self.table()
    #expect(table.failure == nil)
    table.apply(.disconnected(.network("refused"), retryIn: .zero))
    #expect(table.failure == "● disconnected from ws://127.0.0.1:8080/v1/stream: refused")
    table.apply(.disconnected(.network("404: there is no /v1/x; there are /v1/stream /v1/events"), retryIn: .zero))
    #expect(table.lost == "404: there is no /v1/x; a gateway's stream is /v1/stream on its client port")
    table.apply(.disconnected(.network("refused"), retryIn: .zero))
    #expect(table.line("kraken:BTC-USD", width: 120, color: false)?.hasPrefix("● disconnected") == true)
    table.apply(ConnectionEvent.connected(.init(session: "s", node: "n", version: "1", heartbeatInterval: .seconds(5))))
    #expect(table.failure == nil)
  }

  @Test("a number is left out rather than cut")
  func numbersAreWhole() {
    let line = Self.table().line("kraken:BTC-USD", width: 38, color: false) ?? ""
    #expect(!line.contains("6412"))
  }

  @Test("says how many rows did not fit")
  func overflow() {
    #expect(Self.table().lines(width: 80, height: 3, color: false).last == "… 2 more")
  }

  @Test("a refused symbol shows its reason, without control characters")
  func refused() {
    var table = Self.table()
    let symbol = table.apply(
      .refused(Self.refusal("kraken:FOO-USD", "no \u{1B}[2JFOO")))
    #expect(symbol == "kraken:FOO-USD")
    #expect(table.line("kraken:FOO-USD", width: 80, color: false)?.contains("no [2JFOO") == true)
  }

  @Test("a symbol that is refused is red, with what to write instead, and ends the watch where it is all there is")
  func refusedSymbol() {
    var table = WatchTable(url: "ws://h/", symbols: ["kraken:btc-usd"])
    table.apply(ConnectionEvent.connected(.init(session: "s", node: "n", version: "1", heartbeatInterval: .seconds(5))))
    let feed = FeedReport(venue: "kraken", state: .live, indicator: .connected)
    table.apply(.heartbeat(.init(time: .distantPast, sent: 0, feeds: [feed])))
    // Nothing has come yet: a green dot would say that it had.
    #expect(table.line("kraken:btc-usd", width: 120, color: false)?.hasPrefix("● waiting  ") == true)
    #expect(table.unfinished == ["kraken:btc-usd"] && !table.isRefused)
    let item = Self.refusal("kraken:btc-usd", "kraken has no btc-usd", hint: "did you mean kraken:BTC-USD?")
    #expect(table.apply(.refused(item)) == "kraken:btc-usd")
    #expect(table.apply(.refused(item)) == nil, "said once, not for each channel")
    let line = table.line("kraken:btc-usd", width: 120, color: false) ?? ""
    #expect(line.hasPrefix("● refused  ") && line.contains("no btc-usd; did you mean kraken:BTC-USD?"))
    #expect(table.line("kraken:btc-usd", width: 120, color: true)?.hasPrefix("\u{1B}[31m●") == true)
    #expect(table.isRefused && table.refused.count == 1 && table.unfinished.isEmpty)
    // One of two is not all.
    var two = WatchTable(url: "ws://h/", symbols: ["kraken:btc-usd", "kraken:*"])
    _ = two.apply(.refused(item))
    #expect(!two.isRefused)
  }

  @Test("a hint is a command, which a user of a terminal can type, and not a request")
  func hints() {
    var table = WatchTable(url: WatchTable.usualURL, symbols: ["kraken:BTC-FOO"])
    let item = Self.refusal(
      "kraken:BTC-FOO", "kraken has no BTC-FOO",
      hint: "did you mean kraken:BTC-USD? GET /v1/instruments?venue=kraken")
    _ = table.apply(.refused(item))
    #expect(
      table.refused == [
        "kraken:BTC-FOO: kraken has no BTC-FOO; did you mean kraken:BTC-USD? see them: tidegate watch --once 'kraken:*'"
      ])
    var other = WatchTable(url: "wss://h/v1/stream", symbols: ["kraken:BTC-FOO", "*:FOO"])
    _ = other.apply(.refused(Self.refusal("kraken:BTC-FOO", "no", hint: "GET /v1/instruments lists what it allows")))
    _ = other.apply(.refused(Self.refusal("*:FOO", "no venue has FOO", hint: "GET /v1/instruments")))
    #expect(
      other.refused == [
        "*:FOO: no venue has FOO", "kraken:BTC-FOO: no; see them: tidegate watch --once wss://h/v1/stream 'kraken:*'",
      ])
  }

  @Test("a venue that the gateway does not have is no green dot")
  func unknownVenue() {
    var table = WatchTable(url: "ws://h/", symbols: ["karken:BTC-USD"])
    table.apply(ConnectionEvent.connected(.init(session: "s", node: "n", version: "1", heartbeatInterval: .seconds(5))))
    #expect(table.line("karken:BTC-USD", width: 120, color: false)?.hasPrefix("● waiting  ") == true)
  }

  @Test("prices are shown without the zeros that are finer than the market's increment")
  func trimmed() {
    var table = Self.table()
    let info = StreamInfo(
      channel: .ticker, symbol: "binance:SOL-USDT", priceIncrement: ExactDecimal("0.01000000"))
    _ = table.apply(
      .value(.ticker(Ticker(last: ExactDecimal("169.40000000"), source: .venue, time: .distantPast)), info))
    #expect(table.rows["binance:SOL-USDT"]?.price == "169.40")
    for (price, increment, shown) in [
      ("169.45000000", "0.01", "169.45"), ("169.00000000", "1", "169"), ("169.45600000", "0.01", "169.456"),
      ("100", "10", "100"), ("0.00001230", "0.0000001", "0.0000123"), ("1e-7", "0.01", "0.0000001"),
      ("5.00", nil, "5.00"),
    ] as [(String, String?, String)] {
      #expect(ExactDecimal(price)?.trimmed(to: increment.flatMap { ExactDecimal($0) }) == shown)
    }
  }

  @Test("a stream that says its book is out of sync turns the dot yellow until the next quote")
  func outOfSync() {
    var table = Self.table()
    let info = StreamInfo(channel: .quote, symbol: "kraken:BTC-USD")
    _ = table.apply(.stale(info, .outOfSync("sequence gap")))
    #expect(table.news == ["● kraken:BTC-USD out of sync: sequence gap"])
    #expect(table.line("kraken:BTC-USD", width: 120, color: false)?.hasPrefix("● syncing  ") == true)
    // The feed's status says the same again.
    var feed = FeedReport(venue: "kraken", state: .live, indicator: .connected)
    feed.syncing = ["kraken:BTC-USD": "sequence gap"]
    let status = StreamInfo(channel: .status, symbol: "")
    _ = table.apply(.value(.status([feed]), status))
    #expect(table.news == [])
    feed.syncing = [:]
    _ = table.apply(.value(.status([feed]), status))
    _ = table.apply(.value(.quote(Quote(bid: ExactDecimal("1"), time: .distantPast)), info))
    #expect(table.news == ["● kraken:BTC-USD in sync again"])
    #expect(table.line("kraken:BTC-USD", width: 120, color: false)?.hasPrefix("● connected  ") == true)
  }

  @Test("blocks span the range of the points")
  func blocks() {
    #expect(BlockSparkline.text([0, 1, 2, 3, 4, 5, 6, 7], width: 8) == "▁▂▃▄▅▆▇█")
    #expect(BlockSparkline.text([7, 0], width: 8) == "█▁")
    #expect(BlockSparkline.text([5, 5, 5], width: 8) == "▄▄▄")
    #expect(BlockSparkline.text([nil, 1, 2], width: 8) == " ▁█")
    #expect(BlockSparkline.text([9, 1, 2], width: 2) == "▁█")
    #expect(BlockSparkline.text([nil, .nan], width: 8) == "  ")
    #expect(BlockSparkline.text([], width: 8) == "")
  }

  /// One row as a connected gateway fills it, with a curve of 24 points.
  private static func fill(
    _ table: inout WatchTable, _ symbol: String, _ direction: Pulse.Direction, price: String, change: String,
    bid: String, ask: String, curve: [Int]
  ) {
    func info(_ channel: Channel) -> StreamInfo {
      .init(channel: channel, symbol: symbol)
    }
    let pulse = Pulse(
      direction: direction, price: ExactDecimal(price)!, previous: nil, changePercent: nil,
      changePercent24h: ExactDecimal(change), merged: 1, time: .distantPast)
    _ = table.apply(.value(.pulse(pulse), info(.pulse)))
    let ticker = Ticker(bid: ExactDecimal(bid), ask: ExactDecimal(ask), source: .venue, time: .distantPast)
    _ = table.apply(.value(.ticker(ticker), info(.ticker)))
    let points = curve.map { ExactDecimal(String($0)) }
    let line = Self.line(points)
    _ = table.apply(.value(.sparkline(line), info(.sparkline)))
  }

  @Test("the picture in the README is what it draws")
  func picture() throws {
    var table = WatchTable(url: "ws://127.0.0.1:8080/v1/stream")
    table.apply(
      ConnectionEvent.connected(.init(session: "s", node: "gw-a", version: "1", heartbeatInterval: .seconds(5))))
    let feeds = [
      FeedReport(venue: "binance", state: .live, indicator: .connected),
      FeedReport(venue: "coinbase", state: .stale, indicator: .reconnecting),
      FeedReport(venue: "kraken", state: .live, indicator: .connected),
    ]
    table.apply(.heartbeat(.init(time: .distantPast, sent: 0, feeds: feeds)))
    Self.fill(
      &table, "binance:SOL-USDT", .up, price: "187.42", change: "3.06", bid: "187.41", ask: "187.42",
      curve: [1, 2, 2, 3, 2, 4, 5, 5, 6, 5, 6, 7, 7, 8, 8, 7, 8, 9, 9, 9, 10, 9, 10, 11])
    Self.fill(
      &table, "coinbase:ETH-USD", .down, price: "3041.18", change: "-0.52", bid: "3041.17", ask: "3041.20",
      curve: [9, 8, 8, 9, 7, 7, 6, 7, 5, 5, 4, 5, 4, 3, 4, 4, 3, 2, 3, 2, 2, 1, 2, 1])
    Self.fill(
      &table, "kraken:BTC-USD", .up, price: "64123.5", change: "1.27", bid: "64123.4", ask: "64123.5",
      curve: [2, 3, 2, 1, 2, 3, 4, 4, 3, 4, 5, 6, 5, 6, 7, 6, 5, 6, 7, 8, 7, 8, 9, 9])
    let lines = table.lines(width: 104, height: 24, color: false).map { line in
      String(line.reversed().drop { $0 == " " }.reversed())
    }
    let (document, code) = try GeneratedPart("watch", in: "README.md").compare(with: ["```"] + lines + ["```"])
    #expect(document == code)
  }

  @Test("a spread of prices beyond all measure is shown as what it is, and a curve without a trap")
  func spread() {
    var table = WatchTable(url: "ws://h/", symbols: ["kraken:BTC-USD"])
    let info = StreamInfo(channel: .quote, symbol: "kraken:BTC-USD")
    for text in ["9223372036854775807", "-9223372036854775808", "0.000000000000000001", "1e308", "-1e-300"] {
      let quote = Quote(bid: ExactDecimal("-9223372036854775808"), ask: ExactDecimal(text), time: .distantPast)
      _ = table.apply(.value(.quote(quote), info))
      #expect(table.line("kraken:BTC-USD", width: 200, color: false) != nil)
    }
    _ = table.apply(.value(.sparkline(Self.line(["-1e308", "1e308", "0"].map { ExactDecimal($0) })), info))
    #expect(table.line("kraken:BTC-USD", width: 200, color: false) != nil)
  }
}
