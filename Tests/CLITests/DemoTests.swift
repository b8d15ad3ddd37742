import Foundation
import TestTraits
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("tidegate serve --demo, again and again", .realTime)
struct DemoTests {
  private struct Shown: Decodable {
    struct Trade: Decodable {
      let id: String, price: String
      let time: Int64
      let gap: Bool?
    }
    struct Candle: Decodable { let trades: Int? }
    var trades: [Trade]?
    var candles: [Candle]?
  }

  private static func get(_ path: String, of gateway: TidegateProcess) async throws -> Shown {
    let line = try #require(gateway.printed.split(separator: "\n").first { $0.contains("/v1/instruments") })
    let text = try #require(line.split(separator: " ").last.map(String.init))
    let url = try #require(URL(string: text.replacing("/v1/instruments", with: path)))
    return try JSONDecoder().decode(Shown.self, from: try await URLSession.shared.data(from: url).0)
  }

  /// When a venue's feed was live, µs since 1970, by the log.
  private static func live(_ venue: String, _ gateway: TidegateProcess) throws -> Int64 {
    let line = try #require(gateway.logLines("feed live").first { $0.contains("venue=\(venue)") })
    let text = try #require(line.split(separator: " ").first { $0.hasPrefix("time=") }).dropFirst(5)
    let date = try Date(String(text), strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    return Int64(date.timeIntervalSince1970 * 1_000_000)
  }

  @Test("goes on with what the run before has left: trades at once, each once, at prices that fit")
  func runAgain() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-test-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let symbols = ["kraken:BTC-USD", "coinbase:ETH-USD", "binance:BTC-USDT"]
    var ids: [String: [UInt64]] = [:]
    var last: [String: Double] = [:]
    for run in 1...5 {
      let gateway = try await TidegateProcess.serving(["--demo"], environment: ["TIDEGATE_DATA_DIRECTORY": folder.path])
      try await gateway.waitUntilLog { log in
        ["kraken", "coinbase", "binance"].allSatisfy { venue in
          log.split(separator: "\n").contains { $0.contains("feed live") && $0.contains("venue=\(venue)") }
        }
      }
      for symbol in symbols {
        let live = try Self.live(String(symbol.prefix { $0 != ":" }), gateway)
        var trades: [Shown.Trade] = []
        // What is there after the feed was live, and then some more of it.
        while trades.count(where: { $0.time > live }) < 3 {
          try await Task.sleep(for: .milliseconds(50))
          trades = try await Self.get("/v1/trades/\(symbol)?limit=50", of: gateway).trades ?? []
          try #require(gateway.isRunning)
        }
        let first = try #require(trades.first { $0.time > live })
        // On a busy machine fifty more may have come.
        let wait = trades[0].time > live ? 0 : first.time - live
        #expect(wait < 2_000_000, "run \(run), \(symbol): \(wait) µs without a trade")
        let shown = trades.compactMap { UInt64($0.id) }
        #expect(shown.count == trades.count && zip(shown, shown.dropFirst()).allSatisfy { $0 < $1 }, "\(shown)")
        let before = ids[symbol] ?? []
        if run > 1 {
          #expect(trades.count { $0.gap == true } <= 1, "\(symbol)")
          let price = try #require(Double(first.price)), other = try #require(last[symbol])
          #expect(abs(price / other - 1) < 0.01, "run \(run), \(symbol): \(other), then \(price)")
          #expect(shown.last! > before.last!)
        }
        ids[symbol] = shown
        last[symbol] = Double(trades.last!.price)
        let candles = try await Self.get("/v1/candles/\(symbol)?interval=1m&limit=2", of: gateway).candles ?? []
        #expect(candles.contains { ($0.trades ?? 0) > 0 }, "run \(run), \(symbol)")
      }
      gateway.send(SIGINT)
      #expect(try await gateway.status() == 0)
    }
  }
}
