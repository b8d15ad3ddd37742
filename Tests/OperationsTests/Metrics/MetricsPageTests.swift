import Access
import Bytes
import Foundation
import MarketData
import PubSub
import TestSupport
import Testing
import Venues

@testable import Operations
@testable import Recordings
@testable import Transport

@Suite("The text of metrics")
struct MetricsPageTests {
  static func numbered(_ histogram: Histogram, _ values: [UInt64]) -> Histogram {
    var histogram = histogram
    for value in values { histogram.record(value) }
    return histogram
  }

  static var node: NodeMetrics {
    var node = NodeMetrics(routes: ["/v1/tickers/{symbol}", "other"])
    node.clientsTotal = 1_001
    node.connections = 1_002
    node.requests = 1_003
    node.http.record(route: 0, status: 200, nanoseconds: 20_000)
    node.http.record(route: 1, status: 404, nanoseconds: 30_000_000)
    node.ends.came(isTLS: true, .plain)
    node.ends.came(isTLS: false, .events)
    node.ends.came(isTLS: false, .deflate)
    node.ends.left(isTLS: false, .deflate, code: 4108)
    node.delivery = numbered(.durations, [10_000, 2_000_000])
    node.queues = numbered(node.queues, [150, 12_345])
    node.framesSent = 1_004
    node.protocolErrors = 1_005
    node.evicted = 1_006
    node.parkedSessions = 1_007
    node.streams = 1_008
    node.streamsKept = 1_009
    node.replayBytes = 1_010
    node.closedOverBudget = 1_011
    node.endedForRoom = 1_012
    node.compressingClients = 1_013
    node.framesCompressed = 1_014
    node.compressedFramesSent = 1_015
    node.bytesBeforeCompression = 1_016
    node.bytesAfterCompression = 1_017
    return node
  }

  static var feeds: [FeedMetrics] {
    var feed = FeedMetrics(venue: "kraken", connection: "kraken", state: "live", startedAt: 0)
    (feed.messages, feed.rejected, feed.bytes, feed.connects) = (2_001, 2_002, 2_003, 2_004)
    feed.instruments = 2_005
    feed.books = [2_006, 2_007, 2_008, 2_009]
    (feed.gaps, feed.trades) = (2_010, 2_011)
    feed.lastMessage = 1_250_000
    feed.errors = [(.json, 2_012), (.answer, 2_013)]
    (feed.replaced, feed.handoversFailed, feed.silences) = (2_014, 2_015, 2_016)
    feed.isSimulated = true
    feed.refusedValues = 2_017
    feed.resyncs = ResyncReason.allCases.indices.map { 2_100 + $0 }
    feed.channelsSilent = MarketChannel.allCases.indices.map { 2_200 + $0 }
    feed.channelSilences = MarketChannel.allCases.indices.map { 2_300 + $0 }
    feed.tradesMissed = 2_018
    feed.tradesFound = 2_019
    feed.renumberings = 2_020
    feed.arrival = numbered(feed.arrival, [50_000_000])
    // An alert on the age must see a venue from which nothing ever came.
    var silent = FeedMetrics(venue: "okx", connection: "okx-\"2\\", state: "stale", startedAt: 500_000)
    silent.connects = 1
    return [feed, silent]
  }

  static var loops: [LoopMetrics] {
    [(1, 5_000), (0, 70_000_000)].map { index, value in
      var times = LoopTimes()
      times.turns.record(UInt64(value))
      times.lag.record(UInt64(value) / 2)
      return LoopMetrics(index: index, times: times)
    }
  }

  static var tls: TLSStatistics {
    var statistics = TLSStatistics()
    statistics.full = 3_001
    statistics.resumed = 3_002
    statistics.failures = [TLSFailure.Kind.allCases[0]: 3_003]
    statistics.underWay = 3_004
    statistics.reloads = 3_005
    statistics.reloadFailures = 3_006
    return statistics
  }

  static var recorders: [RecordingFigures] {
    var one = RecordingFigures(set: "kraken-spot", path: "f")
    (one.records, one.bytes, one.files, one.filesDeleted) = (4_001, 4_002, 4_003, 4_004)
    (one.lost, one.queuedBytes, one.failures, one.pausedBy) = (4_005, 4_006, 4_007, "full")
    return [one, RecordingFigures(set: "okx", path: "g")]
  }

  static let process = ProcessFigures(
    residentBytes: 5_001, virtualBytes: 5_002, cpuSeconds: 5.25, openDescriptors: 5_003, descriptorLimit: 5_004,
    startTime: 1_700_000_000.5)

  @Test("every figure is written as a Prometheus sample; the kept text shows all of them")
  func golden() throws {
    let refusals = Refusal.allCases.indices.map { UInt64(6_000 + $0) }
    var page = MetricsPage(Self.node, now: Timestamp(microseconds: 3_500_000))
    page.feeds = Self.feeds
    page.loops = Self.loops
    page.admission = Admission.Figures(connections: 7, addresses: 6_100, refusals: refusals)
    page.queuedBytes = 6_101
    page.shed = 6_102
    page.uptimeSeconds = 6.5
    let certificates = [
      TLSCertificateInfo(file: "/a \"b\"\n.pem", names: ["x.example", "y"], expiry: 3_007),
      TLSCertificateInfo(file: "", names: [], expiry: 3_008),
    ]
    let text =
      page.text + TLSMetrics(Self.tls, certificates).text + RecordingMetrics.text(Self.recorders)
      + ProcessMetrics.text(Self.process)
    // Nothing of these exists.
    let least =
      MetricsPage(NodeMetrics(), now: Timestamp(microseconds: 0)).text + TLSMetrics(TLSStatistics(), []).text
      + RecordingMetrics.text([])
      + ProcessMetrics.text(
        ProcessFigures(
          residentBytes: nil, virtualBytes: nil, cpuSeconds: 0, openDescriptors: nil, descriptorLimit: 0,
          startTime: nil))
    let lines = (text + "\n" + least).split(separator: "\n", omittingEmptySubsequences: false)
      // The version differs from build to build.
      .filter { !$0.hasPrefix("tidegate_build_info{") }
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("metrics.txt")
    let wanted = lines.joined(separator: "\n")
    if environment("TIDEGATE_UPDATE_DOCUMENTS") == "1" {
      try wanted.write(to: file, atomically: true, encoding: .utf8)
    }
    let kept = try String(contentsOf: file, encoding: .utf8)
    for (index, (one, other)) in zip(kept.split(separator: "\n"), wanted.split(separator: "\n")).enumerated()
    where one != other {
      Issue.record("line \(index + 1): \(other) and not \(one)")
      return
    }
    #expect(kept == wanted)
  }

  @Test("every sample belongs to a family with a help and a type")
  func families() {
    var page = MetricsPage(Self.node, now: Timestamp(microseconds: 0))
    page.feeds = Self.feeds
    page.loops = Self.loops
    let lines = page.text.split(separator: "\n")
    let families = Set(lines.filter { $0.hasPrefix("# TYPE") }.map { $0.split(separator: " ")[2] })
    #expect(families == Set(lines.filter { $0.hasPrefix("# HELP") }.map { $0.split(separator: " ")[2] }))
    for line in lines where !line.hasPrefix("#") {
      let name = line.prefix { $0 != " " && $0 != "{" }
      let isKnown = ["", "_bucket", "_sum", "_count"].contains { suffix in
        name.hasSuffix(suffix) && families.contains(name.dropLast(suffix.count))
      }
      #expect(isKnown, "\(line)")
    }
  }
}
