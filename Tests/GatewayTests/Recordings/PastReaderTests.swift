import Access
import Foundation
import HTTP1
import Settings
import TestSupport
import TestTraits
import Testing

@testable import Gateway

@Suite("Clients ask a gateway for the recorded past", .serialized, .realTime)
struct PastReaderTests {
  @Test("a book as it was, and pages of trades; each says that it is no present price")
  func past() async throws {
    try await RecordedGateway.run { harness in
      let at = RecordedGateway.start + 12_500_000
      let book = try await harness.get("/v1/books/coinbase:BTC-USD?at=\(at)&depth=2")
      #expect(book.status == 200 && book.json["replayed"] as? Bool == true && book.json["simulated"] as? Bool == true)
      #expect(book.json["bids"] as? [[String]] == [["11.22", "0.12"], ["11.21", "0.11"]], "\(book.text)")
      #expect(book.json["at"] as? Int == at && book.json["state"] as? String == "live")
      #expect(book.fields["Cache-Control"] == "no-store")
      var ids: [String] = []
      var next: Int? = RecordedGateway.start
      while let from = next {
        let page = try await harness.get(
          "/v1/trades/coinbase:BTC-USD?from=\(from)&to=\(RecordedGateway.start + 20_000_000)&limit=7")
        #expect(page.status == 200 && page.json["replayed"] as? Bool == true, "\(page.text)")
        ids += (page.json["trades"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
        next = page.json["next"] as? Int
      }
      #expect(ids == (101...119).map(String.init))
    }
  }

  @Test("a question that has no answer says why, and what to do")
  func refusals() async throws {
    try await RecordedGateway.run { harness in
      let book = "/v1/books/coinbase:BTC-USD"
      let trades = "/v1/trades/coinbase:BTC-USD"
      let cases: [(String, Int, String)] = [
        ("\(book)?at=\(RecordedGateway.start)", 404, "not_recorded"),
        ("\(book)?at=\(RecordedGateway.start + 100_000_000)", 404, "not_recorded"),
        ("\(book)?at=10000000000000000", 404, "not_recorded"), ("\(book)?at=0", 404, "not_recorded"),
        ("\(book)?at=9223372036854775807", 400, "bad_parameter"), ("\(book)?at=-1", 400, "bad_parameter"),
        ("\(book)?at=yesterday", 400, "bad_parameter"), ("\(book)?at=", 400, "bad_parameter"),
        ("/v1/books/coinbase:ETH-USD?at=\(RecordedGateway.start + 5_000_000)", 404, "not_recorded"),
        ("/v1/books/composite:BTC-USD?at=\(RecordedGateway.start + 5_000_000)", 400, "bad_parameter"),
        ("\(trades)?from=\(RecordedGateway.start)&to=\(RecordedGateway.start)", 400, "bad_parameter"),
        ("\(trades)?to=\(RecordedGateway.start)", 400, "bad_parameter"), ("\(trades)?limit=51", 400, "bad_parameter"),
        ("\(trades)?from=10000000000000000", 404, "not_recorded"),
        ("\(trades)?from=0&limit=1001", 400, "bad_parameter"),
      ]
      for (target, status, code) in cases {
        let answer = try await harness.get(target)
        #expect(answer.status == status && answer.json["code"] as? String == code, "\(target): \(answer.text)")
        #expect((answer.json["hint"] as? String)?.isEmpty == false, "\(target)")
      }
      let after = try await harness.get("\(book)?at=\(RecordedGateway.start + 100_000_000)")
      let last = "\(RecordedGateway.start + 30_000_000)"
      #expect((after.json["hint"] as? String)?.contains(last) == true, "\(after.text)")
    }
  }

  @Test("a token sees the recorded past of its channels and symbols only")
  func grants() async throws {
    let full = try NewKey(name: "desk-1")
    let other = try NewKey(name: "desk-2", fields: ["symbols=kraken:ZEC-USD"])
    let narrow = try NewKey(name: "desk-3", fields: ["channels=trades"])
    let policy = try KeyFile.parse(Array(NewKey.section(of: [full, other, narrow]).utf8), path: "keys.yaml") { _ in nil
    }
    try await RecordedGateway.run(access: Authenticator(policy: policy)) { harness in
      func status(_ target: String, _ key: NewKey?) async throws -> Int {
        let fields = key.map { [HTTPField("Authorization", "Bearer \($0.text)")] } ?? []
        return try await harness.get(target, fields: fields).status
      }
      let book = "/v1/books/coinbase:BTC-USD?at=\(RecordedGateway.start + 5_000_000)"
      let trades = "/v1/trades/coinbase:BTC-USD?from=\(RecordedGateway.start)"
      let expected: [(String, NewKey?, Int, Int)] = [
        ("all", full, 200, 200), ("another symbol", other, 403, 403), ("trades", narrow, 403, 200),
        ("none", nil, 401, 401),
      ]
      for (name, key, ofBook, ofTrades) in expected {
        let found = (try await status(book, key), try await status(trades, key))
        #expect(found == (ofBook, ofTrades), "\(name)")
      }
    }
  }
}
