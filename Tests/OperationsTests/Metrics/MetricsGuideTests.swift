import Documents
import Feeds
import History
import MarketData
import TestSupport
import Testing
import Transport
import Venues

@testable import Operations
@testable import Recordings

@Suite("The guide to metrics")
struct MetricsGuideTests {
  @Test("the guide lists every metric with its type and meaning")
  func guide() throws {
    var feed = FeedMetrics(venue: "kraken", connection: "kraken", state: "live", startedAt: 0)
    feed.errors = [(.json, 1)]
    var page = MetricsPage(NodeMetrics(), now: Timestamp(microseconds: 1))
    page.feeds = [feed]
    let text =
      page.text + TLSMetrics(TLSStatistics(), []).text
      + RecordingMetrics.text([RecordingFigures(set: "kraken-spot", path: "f")])
      + HistoryMetrics.text(HistoryKeeper.Figures(), CandleBackfill.Figures())
      + AlertMetrics.text(AlertDesk.Figures())
      + UpgradeReport().metrics
      + ProcessMetrics.text(.current)
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
