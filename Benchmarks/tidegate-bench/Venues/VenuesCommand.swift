import ArgumentParser

/// What a message of each venue costs, from its text to the market's changes.
struct VenuesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "venues",
    abstract: "What a message of each venue costs: CPU time and allocations, from text to the market's changes.",
    discussion: """
      Every kind of connection is run against its simulation for a while, in memory and on a clock of its own; then what it was sent is \
      given to another pipeline, and that is measured. The same seed gives the same messages.
      """)

  @Option(help: "Only connections whose name contains this.") var filter = ""
  @Option(help: "Measured messages of each connection, in rounds of 1000.") var messages = 20_000
  @Option(help: "Messages before the first that counts.") var warmUp = 5_000
  @Option(help: "Seed of the markets.") var seed: UInt64 = 7
  @Option(help: "Fail if a thousand messages of a connection allocate more often than this.") var allocationLimit:
    Double?
  @Option(help: "Say of so many allocations of each connection where they come from, on standard error.") var trace = 0

  func validate() throws {
    guard messages >= VenueMeasurement.round, warmUp >= 0, messages + warmUp <= 2_000_000 else {
      throw ValidationError("--messages takes 1000 and more, --warm-up 0 and more; together up to 2000000")
    }
  }

  func run() throws {
    print(
      Table.row(
        "connection", width: 20,
        ["B/msg", "% book", "% trade", "% quote", "levels", "parse ns", "path ns", "median", "book ns", "ns/level"])
        + "  allocations/1000")
    var failed: [String] = []
    for setup in SimulatedFeed.setups where filter.isEmpty || setup.name.contains(filter) {
      do {
        let script = try SimulatedFeed.script(setup, seed: seed, messages: messages / 1_000 * 1_000 + warmUp)
        let figures = try VenueMeasurement(setup, script, warmUp: warmUp, traces: trace)
        print(Self.row(setup.name, figures))
        let perThousand = Double(figures.allocations) * 1_000 / Double(figures.messages)
        if let allocationLimit, perThousand > allocationLimit { failed.append(setup.name) }
      } catch {
        print("\(setup.name): \(error)")
        failed.append(setup.name)
      }
    }
    guard failed.isEmpty else {
      print("failed: \(failed.joined(separator: ", "))")
      throw ExitCode.failure
    }
  }

  private static func row(_ name: String, _ figures: VenueMeasurement) -> String {
    func percent(_ kind: VenueMeasurement.Kind) -> String { "\(Int((figures.share[kind.rawValue] * 100).rounded()))" }
    let columns = [
      Table.number(figures.bytes), percent(.book), percent(.trade), percent(.quote), Table.number(figures.levels),
      Table.number(figures.engine.least), Table.number(figures.path.least), Table.number(figures.path.median),
      Table.number(figures.book), Table.number(figures.levels > 0 ? figures.book / figures.levels : 0),
    ]
    let thousands = Double(figures.messages) / 1_000
    return Table.row(name, width: 20, columns)
      + "  \(Table.number(Double(figures.allocations) / thousands))"
      + " (\(figures.allocations) in \(figures.allocatingMessages) of \(figures.messages);"
      + " parse \(figures.engineAllocations))"
  }
}
