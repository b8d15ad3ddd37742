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
  private static let start = 1_785_552_832_000_000

  /// A Coinbase book, an update each second, and a trade with each.
  private static func write(_ path: String, seconds: Int) throws {
    var lines = [
      #"{"recording":1,"venue":"coinbase","market":"spot","symbols":["BTC-USD"],"channels":[],"started":\#(start)}"#,
      #"{"t":\#(start),"c":0,"k":"open","url":"wss://ws-feed.exchange.coinbase.com"}"#,
    ]
    func add(_ message: String, _ time: Int) {
      let text = message.replacing("\"", with: "\\\"")
      lines.append(#"{"t":\#(time),"c":0,"k":"text","m":"\#(text)"}"#)
    }
    add(
      #"{"type":"snapshot","product_id":"BTC-USD","bids":[["10.00","1.5"]],"asks":[["20.60","3"]]}"#, start)
    for second in 1...seconds {
      let stamp = "2026-08-01T02:53:\(second < 10 ? "0" : "")\(second).000000Z"
      let time = start + second * 1_000_000
      add(
        #"{"type":"l2update","product_id":"BTC-USD","time":"\#(stamp)","changes":[["buy","11.\#(10 + second)","0.\#(second)"]]}"#,
        time)
      add(
        #"{"type":"match","trade_id":\#(100 + second),"side":"sell","size":"0.1","price":"20.50","product_id":"BTC-USD","time":"\#(stamp)"}"#,
        time)
    }
    try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: false, encoding: .utf8)
  }

  private static func withGateway(
    access: Authenticator? = nil, _ body: (GatewayHarness) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try write(folder + "/a.ndjson", seconds: 30)
    let harness = try GatewayHarness(venues: [], access: access) { $0.replay = [folder + "/"] }
    try await body(harness)
    await harness.stop()
  }

  @Test("a book as it was, and pages of trades; each says that it is no present price")
  func past() async throws {
    try await Self.withGateway { harness in
      let at = Self.start + 12_500_000
      let book = try await harness.get("/v1/books/coinbase:BTC-USD?at=\(at)&depth=2")
      #expect(book.status == 200 && book.json["replayed"] as? Bool == true && book.json["simulated"] as? Bool == true)
      #expect(book.json["bids"] as? [[String]] == [["11.22", "0.12"], ["11.21", "0.11"]], "\(book.text)")
      #expect(book.json["at"] as? Int == at && book.json["state"] as? String == "live")
      #expect(book.fields["Cache-Control"] == "no-store")
      var ids: [String] = []
      var next: Int? = Self.start
      while let from = next {
        let page = try await harness.get(
          "/v1/trades/coinbase:BTC-USD?from=\(from)&to=\(Self.start + 20_000_000)&limit=7")
        #expect(page.status == 200 && page.json["replayed"] as? Bool == true, "\(page.text)")
        ids += (page.json["trades"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
        next = page.json["next"] as? Int
      }
      #expect(ids == (101...119).map(String.init))
    }
  }

  @Test("a question that has no answer says why, and what to do")
  func refusals() async throws {
    try await Self.withGateway { harness in
      let book = "/v1/books/coinbase:BTC-USD"
      let trades = "/v1/trades/coinbase:BTC-USD"
      let cases: [(String, Int, String)] = [
        ("\(book)?at=\(Self.start)", 404, "not_recorded"),
        ("\(book)?at=\(Self.start + 100_000_000)", 404, "not_recorded"),
        ("\(book)?at=10000000000000000", 404, "not_recorded"), ("\(book)?at=0", 404, "not_recorded"),
        ("\(book)?at=9223372036854775807", 400, "bad_parameter"), ("\(book)?at=-1", 400, "bad_parameter"),
        ("\(book)?at=yesterday", 400, "bad_parameter"), ("\(book)?at=", 400, "bad_parameter"),
        ("/v1/books/coinbase:ETH-USD?at=\(Self.start + 5_000_000)", 404, "not_recorded"),
        ("/v1/books/composite:BTC-USD?at=\(Self.start + 5_000_000)", 400, "bad_parameter"),
        ("\(trades)?from=\(Self.start)&to=\(Self.start)", 400, "bad_parameter"),
        ("\(trades)?to=\(Self.start)", 400, "bad_parameter"), ("\(trades)?limit=51", 400, "bad_parameter"),
        ("\(trades)?from=10000000000000000", 404, "not_recorded"),
        ("\(trades)?from=0&limit=1001", 400, "bad_parameter"),
      ]
      for (target, status, code) in cases {
        let answer = try await harness.get(target)
        #expect(answer.status == status && answer.json["code"] as? String == code, "\(target): \(answer.text)")
        #expect((answer.json["hint"] as? String)?.isEmpty == false, "\(target)")
      }
      let after = try await harness.get("\(book)?at=\(Self.start + 100_000_000)")
      #expect((after.json["hint"] as? String)?.contains("\(Self.start + 30_000_000)") == true, "\(after.text)")
    }
  }

  @Test("a token sees the recorded past of its channels and symbols only")
  func grants() async throws {
    let full = try NewKey(name: "desk-1")
    let other = try NewKey(name: "desk-2", fields: ["symbols=kraken:ZEC-USD"])
    let narrow = try NewKey(name: "desk-3", fields: ["channels=trades"])
    let policy = try KeyFile.parse(Array(NewKey.section(of: [full, other, narrow]).utf8), path: "keys.yaml") { _ in nil
    }
    try await Self.withGateway(access: Authenticator(policy: policy)) { harness in
      func status(_ target: String, _ key: NewKey?) async throws -> Int {
        let fields = key.map { [HTTPField("Authorization", "Bearer \($0.text)")] } ?? []
        return try await harness.get(target, fields: fields).status
      }
      let book = "/v1/books/coinbase:BTC-USD?at=\(Self.start + 5_000_000)"
      let trades = "/v1/trades/coinbase:BTC-USD?from=\(Self.start)"
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
