import MarketData
import Testing

@testable import Operations
@testable import HTTPAPI

@Suite("The figures of routes")
struct RouteFiguresTests {
  @Test("a request counts for its route, one for a file of the console as such, and any other path for one label")
  func labels() {
    var node = NodeMetrics(routes: NodeMetrics.routes)
    node.http.record("/v1/tickers/kraken:BTC-USD", status: 200, nanoseconds: 20_000)
    node.http.record(ConsoleFiles.embedded.paths.sorted().last, status: 304, nanoseconds: 30_000)
    // A stranger's path makes no series of its own.
    node.http.record("/%00\"\n", status: 404, nanoseconds: 30_000)
    node.http.record(nil, status: 400)
    let lines = MetricsPage(node, now: Timestamp(microseconds: 0)).text.split(separator: "\n")
    #expect(
      lines.filter { $0.hasPrefix("tidegate_http_requests_total") } == [
        "tidegate_http_requests_total{route=\"/v1/tickers/{symbol}\",code=\"200\"} 1",
        "tidegate_http_requests_total{route=\"console\",code=\"304\"} 1",
        "tidegate_http_requests_total{route=\"other\",code=\"400\"} 1",
        "tidegate_http_requests_total{route=\"other\",code=\"404\"} 1",
      ])
    // There was no wait for an answer to what could not be read.
    #expect(lines.contains("tidegate_http_request_seconds_count{route=\"other\"} 1"))
  }
}
