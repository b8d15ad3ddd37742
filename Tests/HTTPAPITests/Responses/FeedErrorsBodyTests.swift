import Foundation
import MarketData
import Testing
import Venues

@testable import HTTPAPI

@Suite("What /v1/feeds/{venue}/errors answers")
struct FeedErrorsBodyTests {
  private static func entry(
    _ time: Int64, _ kind: FeedError.Kind, _ text: String, isCut: Bool = false
  ) -> FeedErrorRing.Entry {
    FeedErrorRing.Entry(
      time: Timestamp(microseconds: time), kind: kind, detail: "detail \(time)", text: text, length: 700, isCut: isCut)
  }

  private static let reports = [
    FeedErrorReport(
      venue: "binance", connection: "binance", counts: [(.json, 2)],
      entries: [entry(30, .json, "{\"a\u{1}\n"), entry(10, .json, "b", isCut: true)]),
    FeedErrorReport(
      venue: "binance", connection: "binance-usdm", counts: [(.json, 1), (.answer, 4)],
      entries: [entry(20, .answer, "c")]),
    FeedErrorReport(venue: "kraken", connection: "kraken", counts: [], entries: []),
  ]

  private static func json(_ response: HTTPResponse) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
  }

  @Test("all connections of a venue, newest first, with the sums by kind")
  func joined() throws {
    let response = FeedErrorsBody.response("binance", Self.reports, now: Timestamp(microseconds: 99))
    #expect(response.status == 200 && response.contentType == "application/json")
    let json = try Self.json(response)
    #expect(json["venue"] as? String == "binance" && json["time"] as? Int == 99 && json["total"] as? Int == 7)
    #expect(json["connections"] as? [String] == ["binance", "binance-usdm"])
    #expect(json["counts"] as? [String: Int] == ["json": 3, "answer": 4])
    let errors = try #require(json["errors"] as? [[String: Any]])
    #expect(errors.map { $0["time"] as? Int } == [30, 20, 10])
    #expect(errors.map { $0["connection"] as? String } == ["binance", "binance-usdm", "binance"])
    #expect(errors.map { $0["kind"] as? String } == ["json", "answer", "json"])
    #expect(errors.map { $0["text"] as? String } == ["{\"a\u{1}\n", "c", "b"])
    #expect(errors.map { $0["cut"] as? Bool } == [nil, nil, true])
    #expect(errors[0]["bytes"] as? Int == 700 && errors[0]["detail"] as? String == "detail 30")
  }

  @Test("one connection by its own name; a name that is none is told with what is near")
  func names() throws {
    let one = try Self.json(FeedErrorsBody.response("binance-usdm", Self.reports, now: .distantPast))
    #expect(one["connections"] as? [String] == ["binance-usdm"] && one["total"] as? Int == 5)
    let unknown = FeedErrorsBody.response("krakn", Self.reports, now: .distantPast)
    #expect(unknown.status == 404)
    let text = String(decoding: unknown.body, as: UTF8.self)
    #expect(text.contains("unknown_venue") && text.contains("did you mean kraken?"))
    #expect(text.contains("binance, binance-usdm, kraken"))
    #expect(FeedErrorsBody.response("x", [], now: .distantPast).status == 404)
  }
}
