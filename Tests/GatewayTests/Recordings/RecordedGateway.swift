import Access
import Bytes
import Foundation
import Settings

@testable import Gateway

/// A gateway with a recording.
enum RecordedGateway {
  static let start = 1_785_552_832_000_000

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
      let time = start + second * 1_000_000
      let stamp = CivilTime(microseconds: Int64(time)).description
      add(
        #"{"type":"l2update","product_id":"BTC-USD","time":"\#(stamp)","changes":[["buy","11.\#(10 + second % 80)","0.\#(second)"]]}"#,
        time)
      add(
        #"{"type":"match","trade_id":\#(100 + second),"side":"sell","size":"0.1","price":"20.50","product_id":"BTC-USD","time":"\#(stamp)"}"#,
        time)
    }
    try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: false, encoding: .utf8)
  }

  static func run(
    access: Authenticator? = nil, seconds: Int = 30, change: (inout GatewayConfiguration) -> Void = { _ in },
    _ body: (GatewayHarness) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try write(folder + "/a.ndjson", seconds: seconds)
    let harness = try GatewayHarness(venues: [], access: access) {
      $0.replay = [folder + "/"]
      change(&$0)
    }
    try await body(harness)
    await harness.stop()
  }
}
