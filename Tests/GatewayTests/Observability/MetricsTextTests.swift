import Bytes
import Documents
import Feeds
import MarketData
import TestSupport
import Testing
import Transport
import Venues

@testable import Gateway
@testable import Recordings

@Suite("Metrics text")
struct MetricsTextTests {
  @Test("every family has a help, a type and its samples, and a feed's state is one of its states")
  func render() {
    let feed = FeedMetrics(
      venue: "kraken", connection: "kraken", state: "live", messages: 10, rejected: 1, bytes: 2, connects: 3,
      instruments: 4, books: [4, 0, 0, 0], gaps: 5, trades: 6, startedAt: 0, lastMessage: 1_000_000,
      errors: [(.json, 2), (.answer, 1)], silences: 7, isSimulated: true)
    var silent = feed
    (silent.tradesMissed, silent.tradesFound) = (90, 12)
    silent.venue = "okx"
    silent.connection = "okx-2"
    silent.startedAt = 500_000
    silent.lastMessage = nil
    var node = NodeMetrics()
    node.ends.came(isTLS: true, .plain)
    node.http.record("/v1/tickers/kraken:BTC-USD", status: 200, nanoseconds: 20_000)
    node.http.record("/%00\"\n", status: 404, nanoseconds: 30_000)
    node.http.record(ConsoleFiles.embedded.paths.sorted().last, status: 304, nanoseconds: 30_000)
    let text = MetricsText.render(
      node, feeds: [feed, silent], uptimeSeconds: 1.5, now: Timestamp(microseconds: 3_500_000))
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.contains("tidegate_clients{transport=\"wss\",encoding=\"plain\"} 1"))
    // A stranger's path makes no series of its own.
    for labels in [
      "route=\"/v1/tickers/{symbol}\",code=\"200\"", "route=\"other\",code=\"404\"", "route=\"console\",code=\"304\"",
    ] {
      #expect(lines.contains("tidegate_http_requests_total{\(labels)} 1"))
    }
    #expect(lines.contains("tidegate_http_request_seconds_bucket{route=\"other\",le=\"2e-05\"} 0"))
    #expect(lines.contains("tidegate_http_request_seconds_bucket{route=\"other\",le=\"5e-05\"} 1"))
    #expect(lines.contains("tidegate_http_request_seconds_bucket{route=\"other\",le=\"+Inf\"} 1"))
    #expect(lines.contains("tidegate_http_request_seconds_sum{route=\"other\"} 3e-05"))
    #expect(lines.contains("tidegate_feed_messages_total{venue=\"kraken\",connection=\"kraken\"} 10"))
    #expect(lines.contains("tidegate_feed_state{venue=\"kraken\",connection=\"kraken\",state=\"live\"} 1"))
    #expect(lines.contains("tidegate_feed_state{venue=\"kraken\",connection=\"kraken\",state=\"stale\"} 0"))
    #expect(lines.contains("tidegate_feed_age_seconds{venue=\"kraken\",connection=\"kraken\"} 2.5"))
    #expect(lines.contains("tidegate_feed_silences_total{venue=\"kraken\",connection=\"kraken\"} 7"))
    #expect(lines.contains("tidegate_feed_simulated{venue=\"kraken\",connection=\"kraken\"} 1"))
    // An alert on the age must see a venue from which nothing ever came.
    #expect(lines.contains("tidegate_feed_age_seconds{venue=\"okx\",connection=\"okx-2\"} 3.0"))
    #expect(lines.contains("tidegate_feed_trades_missed_total{venue=\"okx\",connection=\"okx-2\"} 90"))
    #expect(lines.contains("tidegate_feed_trades_found_total{venue=\"okx\",connection=\"okx-2\"} 12"))
    #expect(lines.contains("tidegate_feed_errors_total{venue=\"kraken\",connection=\"kraken\",kind=\"json\"} 2"))
    #expect(lines.contains("tidegate_feed_errors_total{venue=\"kraken\",connection=\"kraken\",kind=\"answer\"} 1"))
    let families = Set(lines.filter { $0.hasPrefix("# TYPE") }.map { $0.split(separator: " ")[2] })
    for line in lines where !line.hasPrefix("#") {
      let name = line.prefix { $0 != " " && $0 != "{" }
      let isKnown = ["", "_bucket", "_sum", "_count"].contains { suffix in
        name.hasSuffix(suffix) && families.contains(name.dropLast(suffix.count))
      }
      #expect(isKnown, "\(line)")
    }
  }

  @Test("the guide lists every metric with its type and meaning")
  func guide() throws {
    var histogram = Histogram(from: 100_000, to: 10_000_000_000)
    histogram.record(1)
    let feed = FeedMetrics(
      venue: "kraken", connection: "kraken", state: "live", messages: 1, rejected: 0, bytes: 1, connects: 1,
      instruments: 1, books: [1, 0, 0, 0], gaps: 0, trades: 0, startedAt: 0, lastMessage: 1, errors: [(.json, 1)],
      isSimulated: false)
    let text =
      MetricsText.render(NodeMetrics(), feeds: [feed], uptimeSeconds: 1, now: Timestamp(microseconds: 1))
      + TLSMetricsText.render(TLSStatistics(), [])
      + RecordingMetricsText.render([RecordingFigures(set: "kraken-spot", path: "f")])
      + HistoryMetricsText.render(HistoryKeeper.Figures(), CandleBackfill.Figures())
      + AlertMetricsText.render(AlertDesk.Figures())
      + UpgradeReport().metrics
      + ProcessMetricsText.render(ProcessFigures.current)
    var types: [Substring: Substring] = [:]
    for line in text.split(separator: "\n") where line.hasPrefix("# TYPE ") {
      let words = line.split(separator: " ")
      types[words[2]] = words[3]
    }
    var lines = ["| metric | type | meaning |", "|---|---|---|"]
    for line in text.split(separator: "\n") where line.hasPrefix("# HELP ") {
      let words = line.split(separator: " ", maxSplits: 3)
      lines.append("| `\(words[2])` | \(types[words[2]] ?? "") | \(words[3]) |")
    }
    let (document, code) = try GeneratedPart(
      "metrics", in: "Sources/Gateway/Gateway.docc/LogsAndMetrics.md"
    ).compare(with: lines)
    #expect(document == code)
  }
}
