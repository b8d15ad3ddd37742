import ArgumentParser
import Dispatch
import Feeds
import Foundation
import Gateway
import HTTP1
import History
import Logging
import MarketData
import Synchronization
import Transport

/// Whether Ctrl-C was pressed.
private final class InterruptFlag: Sendable {
  private let flag = Atomic<Bool>(false)
  var isRaised: Bool { flag.load(ordering: .relaxed) }
  func raise() { flag.store(true, ordering: .relaxed) }
}

extension HistoryCommand {
  struct Backfill: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Request missing candles from venues.",
      discussion: """
        Without --from, it requests what charts show: a day of 1m, a week of 15m, 90 days of 1h (a year if the venue has
        no 1d), a year of 1d. It stays within a quarter of the venue's limits, since a gateway may run. Candles that the
        gateway observed itself are kept. A running gateway shows the new ones in /v1/candles at once, and in its
        sparklines after its next start.

          tidegate history backfill kraken:BTC-USD
          tidegate history backfill 'coinbase:*' --interval 1d --from 2016-01-01T00:00:00Z

        Ctrl-C ends it; received candles are kept, and are not requested again. Exits with 0 if every request was
        answered, 1 if one was not, 130 after Ctrl-C.
        """)
    @OptionGroup var file: FileOptions
    @Argument(help: ArgumentHelp("kraken:BTC-USD, or kraken:* for all stored symbols of a venue.", valueName: "symbol"))
    var symbols: [String]
    @Option(
      help: ArgumentHelp("1m, 15m, 1h or 1d; repeatable (default: all that the venue has).", valueName: "interval"))
    var interval: [String] = []
    @Option(help: ArgumentHelp("Not before this time: 2026-11-22T19:00:00Z.", valueName: "time")) var from: String?
    @Option(help: ArgumentHelp("Before this time (default: now).", valueName: "time")) var to: String?
    @Flag(help: "Request stored candles again, too.") var again = false
    @Flag(help: "Print the number of requests, and send none.") var dryRun = false
    @Option(help: ArgumentHelp("Use this REST URL instead of the venue's.", valueName: "url")) var restEndpoint: String?
    @Option(help: ArgumentHelp("Trust the roots in this PEM file instead of the system's.", valueName: "file"))
    var ca: String?

    func validate() throws {
      for name in interval where Resolution(name: name) == nil {
        throw ValidationError("--interval \(name) is not allowed; give 1m, 15m, 1h or 1d.")
      }
      for (name, text) in [("--from", from), ("--to", to)] {
        if let text, HistoryText.timestamp(text) == nil {
          throw ValidationError("\(name) \(text): a time is written 2026-11-22T19:00:00Z")
        }
      }
      if to != nil, from == nil { throw ValidationError("--to needs --from") }
      if let from = from.flatMap(HistoryText.timestamp), let to = to.flatMap(HistoryText.timestamp), from >= to {
        throw ValidationError("--from is not before --to")
      }
      if let restEndpoint, EndpointURL(restEndpoint).map({ $0.scheme == .http || $0.scheme == .https }) != true {
        throw ValidationError("--rest-endpoint \"\(restEndpoint)\" is not allowed; give a URL like https://host:port.")
      }
    }

    func run() async throws {
      let store = try file.open(writes: true)
      defer { store.file.close() }
      let loop = try EventLoop(index: 0, label: "tidegate.backfill")
      defer { loop.shutdown {} }
      let backfill = HistoryBackfill(
        store: store, loop: loop, tls: try TLSClientContext(caFile: ca), log: makeLog(.warning))
      let now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6))
      let jobs = try jobs(store, backfill, now)
      let requests = HistoryBackfill.requests(jobs, now: now)
      guard requests > 0 else { return print("nothing is missing") }
      print("\(requests) requests, \(Self.words(HistoryBackfill.seconds(jobs, now: now))) at least")
      if dryRun { return }
      try await follow(backfill, jobs, of: requests, now)
    }

    private func jobs(
      _ store: HistoryStore, _ backfill: HistoryBackfill, _ now: Timestamp
    ) throws
      -> [HistoryBackfill.Job]
    {
      var wanted: [String] = []
      for symbol in symbols {
        guard symbol.hasSuffix(":*") else {
          wanted.append(symbol)
          continue
        }
        let found = store.symbols.filter { $0.hasPrefix(symbol.dropLast()) }.sorted()
        guard !found.isEmpty else { throw CommandFailure("there is no history of \(symbol)") }
        wanted += found
      }
      let range = from.flatMap(HistoryText.timestamp).map { start in
        start..<max(start, to.flatMap(HistoryText.timestamp) ?? now)
      }
      var seen: Set<String> = []
      return try wanted.filter { seen.insert($0).inserted }.map { symbol in
        do {
          return try backfill.job(
            symbol, interval.isEmpty ? nil : interval.compactMap { Resolution(name: $0) }, in: range, again: again,
            restEndpoint: restEndpoint, now: now)
        } catch {
          throw CommandFailure("\(error)")
        }
      }
    }

    private func follow(
      _ backfill: HistoryBackfill, _ jobs: [HistoryBackfill.Job], of requests: Int, _ now: Timestamp
    ) async throws {
      let interrupted = InterruptFlag()
      let sources = Interrupt.sources([SIGINT, SIGTERM]) { _ in interrupted.raise() }
      defer { for source in sources { source.cancel() } }
      do {
        try backfill.begin(jobs, now: now)
      } catch {
        throw CommandFailure("\(error)")
      }
      let line = ProgressLine(everySeconds: 2)
      var progress = await backfill.progress()
      while progress.waiting > 0, !interrupted.isRaised {
        try await Task.sleep(for: .milliseconds(100))
        progress = await backfill.progress()
        line.show { [progress] in
          "\(max(0, requests - progress.waiting)) of \(requests) requests, \(progress.candles) candles, "
            + "\(progress.failures) failures"
        }
      }
      await backfill.stop()
      line.clear()
      if let failure = progress.failure { throw CommandFailure(failure) }
      print("\(progress.requests) requests, \(progress.candles) candles taken, \(progress.failures) failures")
      if interrupted.isRaised {
        printError("interrupted; the candles received so far are kept")
        throw ExitCode(130)
      }
      if progress.failures > 0 { throw ExitCode(1) }
    }

    private static func words(_ seconds: Int64) -> String {
      seconds < 120 ? "\(seconds) s" : seconds < 7_200 ? "\(seconds / 60) min" : "\(seconds / 3_600) h"
    }
  }
}
