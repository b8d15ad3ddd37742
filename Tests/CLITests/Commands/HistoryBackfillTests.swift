import Foundation
import TestTraits
import Testing

@Suite("tidegate history backfill", .realTime)
struct HistoryBackfillTests {
  private static func backfill(
    _ arguments: [String], of exchange: Int, in folder: URL
  ) throws -> TidegateProcess {
    try TidegateProcess(
      ["history", "backfill", "--data", folder.path, "--rest-endpoint", "http://127.0.0.1:\(exchange)"] + arguments)
  }

  private static func end(_ process: TidegateProcess) async throws -> (status: Int32, printed: String, logged: String) {
    (try await process.status(), process.printed, process.logged)
  }

  @Test("it says what is missing, fetches it, tells its progress, and keeps what has come when it is ended")
  func run() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-backfill-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let exchange = try TidegateProcess(["simulate", "--venue", "binance", "--listen", "127.0.0.1:0"])
    try await exchange.waitUntilOutput(contains: "Follow it")
    let url = try #require(exchange.printed.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("ws://") })
    let port = try #require(URL(string: String(url))?.port)
    // What comes from an endpoint of one's own is kept under a name with the endpoint in it.
    let symbol = "binance:*"

    let none = try await Self.end(try Self.backfill([symbol], of: port, in: folder))
    #expect(none.status == 1 && none.logged.contains("there is no history yet"), "\(none)")

    // A gateway leaves a data file that knows the market.
    let gateway = try await TidegateProcess.serving(
      ["--feed", "binance=BTC-USDT", "--endpoint", "binance=ws://127.0.0.1:\(port)"],
      environment: ["TIDEGATE_DATA_DIRECTORY": folder.path, "TIDEGATE_DATA_BACKFILL": "false"])
    try await gateway.waitUntilLog(contains: "feed live")
    gateway.send(SIGTERM)
    _ = try await gateway.status()

    let wrong = try await Self.end(try Self.backfill(["binance:NO-SUCH"], of: port, in: folder))
    #expect(wrong.status == 1 && wrong.logged.contains("NO-SUCH"), "\(wrong)")
    let unreadable = try await Self.end(try Self.backfill([symbol, "--interval", "2m"], of: port, in: folder))
    #expect(unreadable.status == 64 && unreadable.logged.contains("1m, 15m, 1h or 1d"), "\(unreadable)")

    let hours = [symbol, "--interval", "1h"]
    let plan = try await Self.end(try Self.backfill(hours + ["--dry-run"], of: port, in: folder))
    #expect(plan.status == 0 && plan.printed.contains("requests") && plan.printed.contains("at least"), "\(plan)")
    #expect(!plan.printed.contains("candles"), "\(plan)")

    let done = try await Self.end(try Self.backfill(hours, of: port, in: folder))
    #expect(done.status == 0 && done.printed.contains("candles taken, 0 failures"), "\(done)")

    // More than it gets in a while, and Ctrl-C in the midst of it.
    let long = [symbol, "--interval", "1m", "--from", "2024-01-01T00:00:00Z"]
    let process = try Self.backfill(long, of: port, in: folder)
    try await process.waitUntilLog { log in
      log.split(separator: "\n").contains { $0.contains(" requests, ") && !$0.contains(" 0 candles") }
    }
    process.send(SIGINT)
    let ended = try await Self.end(process)
    #expect(ended.status == 130 && ended.logged.contains("the candles received so far are kept"), "\(ended)")
    #expect(ended.logged.contains("of") && ended.printed.contains("candles taken"), "\(ended)")
    let list = try TidegateProcess(["history", "list", "--data", folder.path])
    #expect(try await list.status() == 0)
    #expect(list.printed.contains("binance:BTC-USDT") && list.printed.contains("1m"), "\(list.printed)")

    // Nobody answers: it says so, and does not ask for ever.
    exchange.send(SIGTERM)
    _ = try await exchange.status()
    let days = [symbol, "--interval", "1d"]
    let lost = try await Self.end(try Self.backfill(days, of: port, in: folder))
    #expect(lost.status == 1 && !lost.printed.contains(" 0 failures"), "\(lost)")
  }
}
