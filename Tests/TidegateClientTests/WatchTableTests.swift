import Testing

@testable import TidegateClient

@Suite("Watch table")
struct WatchTableTests {
  static func table() -> WatchTable {
    var table = WatchTable(url: "ws://127.0.0.1:8080/v1/stream")
    func info(_ channel: TidegateChannel, _ symbol: String) -> TidegateEvent.StreamInfo {
      .init(channel: channel, symbol: symbol, stream: 1, reason: "")
    }
    _ = table.apply(.connected(.init(session: "s", node: "gw-a", version: "1", heartbeatSeconds: 5)))
    _ = table.apply(
      .heartbeat(
        .init(
          time: 0, sent: 0,
          feeds: [
            FeedReport(venue: "coinbase", state: "stale", indicator: .reconnecting),
            FeedReport(venue: "kraken", state: "live", indicator: .connected),
          ])))
    _ = table.apply(
      .update(
        info(.pulse, "kraken:BTC-USD"),
        .pulse(
          Pulse(
            direction: .up, price: ExactDecimal("64123.50")!, previous: nil, changePercent: nil,
            changePercent24h: ExactDecimal("1.27"), merged: 1, time: nil))))
    _ = table.apply(
      .snapshot(
        info(.ticker, "kraken:BTC-USD"), .ticker(Ticker(bid: ExactDecimal("64123.4"), ask: ExactDecimal("64123.60")))))
    _ = table.apply(
      .snapshot(
        info(.sparkline, "kraken:BTC-USD"),
        .sparkline(
          Sparkline(
            range: "24h", from: 0, stepSeconds: 1, points: ["1", "2", "3"].map { ExactDecimal($0) }, trend: .up))))
    _ = table.apply(
      .update(
        info(.pulse, "coinbase:ETH-USD"),
        .pulse(
          Pulse(
            direction: .down, price: ExactDecimal("3000")!, previous: nil, changePercent: nil,
            changePercent24h: ExactDecimal("-0.5"), merged: 1, time: nil))))
    return table
  }

  @Test("says first that prices are simulated, wherever it has heard it")
  func simulated() {
    var table = Self.table()
    var feed = FeedReport(venue: "kraken", state: "live", indicator: .connected)
    feed.isSimulated = true
    _ = table.apply(.heartbeat(.init(time: 0, sent: 0, feeds: [feed])))
    for width in [60, 120] {
      let header = table.lines(width: width, height: 24, color: false)[0]
      #expect(header.hasPrefix("● prices are SIMULATED (kraken); connected to gw-a"), "\(header)")
    }
    let info = TidegateEvent.StreamInfo(channel: .status, symbol: "", stream: 1, reason: "")
    _ = table.apply(.snapshot(info, .status([feed])))
    #expect(table.news == ["● kraken: prices are SIMULATED"])
    _ = table.apply(.update(info, .status([feed])))
    #expect(table.news.isEmpty)
  }

  @Test("shows every value as a row, with words where there is no colour")
  func plain() {
    let lines = Self.table().lines(width: 120, height: 24, color: false)
    #expect(lines.count == 4)
    #expect(lines[0].hasPrefix("● connected to gw-a (ws://127.0.0.1:8080/v1/stream)"))
    #expect(
      lines[2]
        == "● reconnecting  coinbase:ETH-USD            3000  ▼     -0.5 %                                        "
    )
    #expect(
      lines[3]
        == "● connected     kraken:BTC-USD          64123.50  ▲    +1.27 %  ▁▅█                                0.2"
    )
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
    func info(_ channel: TidegateChannel, _ symbol: String) -> TidegateEvent.StreamInfo {
      .init(channel: channel, symbol: symbol, stream: 1, reason: "")
    }
    var table = WatchTable(url: "ws://h/", symbols: ["kraken:BTC-USD", "kraken:FOO-USD", "coinbase:*"])
    #expect(table.count == 2)
    let line = Sparkline(range: "24h", from: 0, stepSeconds: 1, points: [ExactDecimal("1")], trend: .up)
    let ticker = Ticker(
      last: ExactDecimal("5"), bid: ExactDecimal("4"), ask: ExactDecimal("6"), changePercent24h: ExactDecimal("1"))
    let events: [TidegateEvent] = [
      .connected(.init(session: "s", node: "n", version: "1", heartbeatSeconds: 5)),
      .snapshot(
        .init(channel: .status, symbol: "", stream: 2, reason: ""),
        .status([FeedReport(venue: "kraken", state: "live", indicator: .connected)])),
      .snapshot(info(.ticker, "kraken:BTC-USD"), .ticker(ticker)),
      .snapshot(info(.sparkline, "kraken:BTC-USD"), .sparkline(line)),
      .failed(.init(channel: "pulse", symbol: "kraken:FOO-USD", code: "x", message: "no FOO", hint: "")),
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
    let info = TidegateEvent.StreamInfo(channel: .status, symbol: "", stream: 2, reason: "")
    func status(_ feed: FeedReport) -> [String] {
      _ = table.apply(.update(info, .status([feed])))
      return table.news
    }
    var feed = FeedReport(venue: "kraken", state: "live", indicator: .connected)
    #expect(status(feed) == [])
    feed.syncing = ["kraken:BTC-USD": "checksum mismatch", "kraken:XRP-USD": "not shown"]
    #expect(status(feed) == ["● kraken:BTC-USD out of sync: checksum mismatch"])
    #expect(status(feed) == [])
    #expect(table.line("kraken:BTC-USD", width: 120, color: false)?.hasPrefix("● syncing  ") == true)
    // A heartbeat does not say what is syncing.
    _ = table.apply(.heartbeat(.init(time: 0, sent: 0, feeds: [feed])))
    #expect(table.line("kraken:BTC-USD", width: 120, color: false)?.hasPrefix("● syncing  ") == true)
    feed.syncing = [:]
    #expect(status(feed) == ["● kraken:BTC-USD in sync again"])
    feed.state = "reconnecting"
    feed.indicator = .reconnecting
    feed.reason = "closed by the venue"
    #expect(status(feed) == ["● kraken reconnecting: closed by the venue"])
  }

  @Test("a lost connection has a line of its own, until it is back")
  func trouble() {
    var table = Self.table()
    #expect(table.trouble == nil)
    _ = table.apply(.disconnected(reason: .transport("refused"), retryIn: .zero))
    #expect(table.trouble == "● disconnected from ws://127.0.0.1:8080/v1/stream: refused")
    #expect(table.line("kraken:BTC-USD", width: 120, color: false)?.hasPrefix("● disconnected") == true)
    _ = table.apply(.connected(.init(session: "s", node: "n", version: "1", heartbeatSeconds: 5)))
    #expect(table.trouble == nil)
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
      .failed(.init(channel: "pulse", symbol: "kraken:FOO-USD", code: "x", message: "no \u{1B}[2JFOO", hint: "")))
    #expect(symbol == "kraken:FOO-USD")
    #expect(table.line("kraken:FOO-USD", width: 80, color: false)?.contains("no [2JFOO") == true)
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
}
