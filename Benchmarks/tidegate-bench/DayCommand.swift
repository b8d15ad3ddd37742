import ArgumentParser
import CAllocations
import Simulation

/// What a gateway holds after an hour, and after a day.
struct DayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "day",
    abstract: "A gateway's memory over a simulated day of trades, faults and clients that come and go.",
    discussion: """
      The whole gateway with four venues and its clients in one thread, in memory and on a clock that jumps (Tests/Simulation): connections \
      to venues are dropped, reset, announced to end, go silent and dead; clients subscribe, vanish and come back. The figures are of \
      the whole process: venues, network and clients are in them. A line every simulated hour.
      """)

  @Option(help: "Simulated hours.") var hours = 24
  @Option(help: "Seed of the world.") var seed: UInt64 = 7
  @Option(help: "Fail if more than so many KiB are in use at the end beyond what was after the first hour.")
  var growthLimit: Int?

  func validate() throws {
    guard (1...1_000).contains(hours) else { throw ValidationError("--hours takes 1 to 1000") }
  }

  private static let columns: [(title: String, metric: String, isTotal: Bool)] = [
    ("clients", "clients", false), ("conns", "connections", false), ("parked", "sessions_parked", false),
    ("streams", "streams", false), ("kept", "streams_kept", false), ("ring KiB", "replay_bytes", false),
    ("addrs", "addresses", false),
    ("queued", "queued_bytes", false), ("books", "feed_books_live", false), ("joined", "clients_total", true),
    ("connects", "feed_connects_total", true), ("gaps", "feed_gaps_total", true), ("errors", "feed_errors_total", true),
    ("trades", "feed_trades_total", true),
  ]

  func run() throws {
    print(
      Table.row("hour", width: 5, ["in use KiB", "RSS KiB", "links", "descr."] + Self.columns.map(\.title)))
    var first: UInt64?
    var last: UInt64 = 0
    let report = World.day(Scenario.day(seed: seed), hours: hours) { hour in
      last = allocations_in_use()
      allocations_trim()
      first = first ?? last
      let figures = Self.columns.map { column in
        let value = hour.metrics[column.metric] ?? 0
        return "\(Int(column.metric == "replay_bytes" ? value / 1_024 : value))"
      }
      print(
        Table.row(
          "\(hour.number)", width: 5,
          ["\(last / 1_024)", "\(allocations_resident() / 1_024)", "\(hour.links)", "\(hour.descriptors)"] + figures))
    }
    let growth = Int(last) - Int(first ?? last)
    print("growth after the first hour: \(growth / 1_024) KiB")
    print(
      "\(report.venueConnections) connections to venues, \(report.linesReplaced) replaced before they were left,",
      "\(report.venueFaults) faults at venues, \(report.network.resets) resets, \(report.network.halfOpens) dead;",
      "\(report.clients.connects) of clients, \(report.clients.resumes) sessions resumed,",
      "\(report.clients.messages) messages; \(report.booksCompared) books compared at the end")
    for fault in report.faults { print("FAULT \(fault)") }
    if !report.faults.isEmpty { throw ExitCode.failure }
    if let growthLimit, growth > growthLimit * 1_024 {
      print("failed: more than \(growthLimit) KiB")
      throw ExitCode.failure
    }
  }
}
