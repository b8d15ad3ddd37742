import Foundation
import Histogram
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

@testable import tidegate_load

@Suite("Reports of a load test")
struct PercentileReportTests {
  @Test("the table has a line for each percentile, with what is above it")
  func table() {
    let lines = PercentileReport(latency: ScriptedRun.good().latency).table.split(separator: "\n").map {
      $0.split(separator: " ").map(String.init)
    }
    #expect(lines.count == 1 + PercentileReport.percentiles.count)
    #expect(lines.contains(["p50", "1.000", "100"]))
    #expect(lines.contains(["p99", "1.000", "100"]))
    #expect(lines.last?.first == "max" && lines.last?.last == "0")
    #expect(PercentileReport(latency: Figures.emptyHistogram()).table == "no latencies: no update came\n")
  }

  @Test("the .hgrm file has the columns and the footer that HdrHistogram's tools read")
  func hgrm() throws {
    let text = PercentileReport(latency: ScriptedRun.good().latency).hgrm
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines[0].split(separator: " ") == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"])
    let rows = lines.dropFirst().filter { !$0.hasPrefix("#") }.map {
      $0.split(separator: " ").compactMap { Double($0) }
    }
    #expect(rows.allSatisfy { $0.count >= 3 } && rows.map { $0[1] } == rows.map { $0[1] }.sorted())
    #expect(rows.first?[0] == 1.0 && rows.last?[1] == 1 && rows.last?[2] == 10_100)
    let last = try #require(rows.last)
    #expect((19.9...20.1).contains(last[0]))
    #expect(lines.contains { $0.hasPrefix("#[Max") } && lines.contains { $0.hasPrefix("#[Mean") })
  }

  @Test("the chart is well-formed and finite, also of a run without an update", arguments: [true, false])
  func chart(hasUpdates: Bool) throws {
    let figures = hasUpdates ? ScriptedRun.good() : Figures()
    let seconds = (1...(hasUpdates ? 10 : 1)).map {
      LatencyChart.Second(
        at: Double($0), deliveries: hasUpdates ? 1_000 : 0, p50: hasUpdates ? 900 : nil, p99: hasUpdates ? 20_000 : nil)
    }
    let svg = LatencyChart(title: "a < b & \"c\"", latency: figures.latency, seconds: seconds).svg
    let parser = XMLParser(data: Data(svg.utf8))
    #expect(parser.parse(), "\(String(describing: parser.parserError))")
    #expect(!svg.contains("nan") && !svg.contains("inf"))
    #expect(svg.components(separatedBy: "<polyline").count == (hasUpdates ? 4 : 1))
    #expect(svg.contains(hasUpdates ? "99 %" : "no update came"))
  }
}
