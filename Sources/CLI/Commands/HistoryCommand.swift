import ArgumentParser
import Foundation
import Gateway
import History
import MarketData
import Settings

struct HistoryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Show, export, import, check and complete stored candles.",
    discussion: """
      All of them work while the gateway runs.

        tidegate history list
        tidegate history export kraken:BTC-USD --interval 1h --format csv > btc.csv
        tidegate history import btc.csv
        tidegate history check
        tidegate history backfill kraken:BTC-USD
      """,
    subcommands: [List.self, Export.self, Import.self, Check.self, Backfill.self], defaultSubcommand: List.self)

  /// Selects the data file.
  struct FileOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The data directory (default: that of the configuration).", valueName: "folder"))
    var data: String?
    @Option(help: ArgumentHelp("Read settings from a .yaml or .json file.", valueName: "file"))
    var config: String?
    @Flag(help: "Use the history of simulated prices, which serve --demo stores.")
    var simulated = false

    /// - Parameter writes: whether the command stores candles. It then names a gateway that has the file.
    func open(writes: Bool = false) throws -> HistoryStore {
      let loaded = try loadConfiguration(file: config, flags: [], needsData: false)
      guard let directory = data ?? loaded.configuration.data.directory else {
        throw CommandFailure("there is no history: data.directory is none; give --data FOLDER")
      }
      let path = directory + "/" + HistoryKeeper.fileName(isSimulated: simulated)
      guard FileManager.default.fileExists(atPath: path) else {
        throw CommandFailure("there is no history yet: \(path) does not exist")
      }
      do throws(DataFileError) {
        let file = try DataFile(path: path, parts: SchemaPart.all, stamp: nil, access: .command)
        if writes, let owner = file.owner {
          printError("a gateway has \(path) (\(owner)); candles are stored beside its own")
        }
        return try HistoryStore(file: file, retention: loaded.configuration.data.retention)
      } catch {
        throw CommandFailure(error.description)
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show the stored candles, by symbol and interval.")
    @OptionGroup var file: FileOptions
    @Argument(help: ArgumentHelp("Only symbols that begin so: kraken:", valueName: "prefix")) var prefix: String = ""

    func run() throws {
      let store = try file.open()
      let kept = try store.kept().filter { $0.symbol.hasPrefix(prefix) }
      guard !kept.isEmpty else { return print("no candles are stored") }
      let width = kept.map(\.symbol.count).max() ?? 0
      print(
        "symbol".padded(to: width), "interval".padded(to: 8), "candles".padded(to: 9), "first".padded(to: 20),
        "last".padded(to: 20), "complete since".padded(to: 20), "open gaps")
      for series in kept {
        print(
          series.symbol.padded(to: width), series.resolution.name.padded(to: 8), "\(series.candles)".padded(to: 9),
          HistoryText.time(series.first), HistoryText.time(series.last),
          (series.coveredFrom.map(HistoryText.time) ?? "-").padded(to: 20), series.openGaps)
      }
      print("\(store.file.path): \(store.file.byteCount >> 10) KiB")
    }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print candles as CSV or one JSON object a line.")
    @OptionGroup var file: FileOptions
    @Argument(help: ArgumentHelp("kraken:BTC-USD; several, or none for all.", valueName: "symbol"))
    var symbols: [String] = []
    @Option(help: ArgumentHelp("1m, 15m, 1h or 1d.", valueName: "interval")) var interval = "1m"
    @Option(help: ArgumentHelp("csv or ndjson.", valueName: "format")) var format = "csv"
    @Option(help: ArgumentHelp("Not before this time: 2026-11-22T19:00:00Z.", valueName: "time")) var from: String?
    @Option(help: ArgumentHelp("Before this time.", valueName: "time")) var to: String?

    func run() throws {
      guard let resolution = Resolution(name: interval) else {
        throw ValidationError("--interval \(interval) is not allowed; give 1m, 15m, 1h or 1d.")
      }
      guard let format = HistoryText.Format(rawValue: format) else {
        throw ValidationError("--format \(format) is not allowed; give csv or ndjson.")
      }
      func time(_ text: String?, _ name: String, _ other: Timestamp) throws -> Timestamp {
        guard let text else { return other }
        guard let time = HistoryText.timestamp(text) else {
          throw ValidationError("\(name) \(text): a time is written 2026-11-22T19:00:00Z")
        }
        return time
      }
      let start = try time(from, "--from", Timestamp(microseconds: 0))
      let end = try time(to, "--to", .distantFuture)
      guard start < end else { throw ValidationError("--from is not before --to") }
      let store = try file.open()
      if format == .csv { print(HistoryText.header) }
      for symbol in symbols.isEmpty ? store.symbols.sorted() : symbols {
        let isKept = try store.forEachCandle(of: symbol, resolution, in: start..<end) { candle in
          print(HistoryText.line(symbol, resolution, candle, format))
        }
        if !isKept { throw CommandFailure("there is no history of \(symbol)") }
      }
    }
  }

  struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Store candles that export printed, or that have the same columns.",
      discussion: """
        The file must know the symbols already. Candles that the gateway observed itself are kept; others are replaced.
        """)
    @OptionGroup var file: FileOptions
    @Argument(help: ArgumentHelp("CSV or NDJSON; - for standard input.", valueName: "file")) var source: String

    func run() throws {
      let store = try file.open(writes: true)
      var importer = HistoryImport(
        store: store, now: Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6)))
      guard let input = source == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: source) else {
        throw CommandFailure("\(source) cannot be read")
      }
      var rest: [UInt8] = []
      while let chunk = try input.read(upToCount: 1 << 20), !chunk.isEmpty {
        rest += chunk
        var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let last = lines.removeLast()
        for line in lines { try importer.take(String(decoding: line, as: UTF8.self)) }
        rest = Array(last)
        guard rest.count < 1 << 20 else { throw CommandFailure("\(source) has a line of more than 1 MiB") }
      }
      try importer.take(String(decoding: rest, as: UTF8.self))
      try importer.finish()
      print("\(importer.taken) candles taken, \(importer.lines - importer.taken) lines left out")
      for problem in importer.problems { printError(problem) }
      if !importer.problems.isEmpty { throw ExitCode(1) }
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Read the whole data file and print what is wrong with it; exits with 1 if anything is.")
    @OptionGroup var file: FileOptions

    func run() throws {
      let store = try file.open()
      let problems = try store.file.check() + store.inconsistencies()
      guard problems.isEmpty else {
        for problem in problems { print(problem) }
        throw ExitCode(1)
      }
      print("OK: \(store.file.path), \(store.symbols.count) instruments, \(store.file.byteCount >> 10) KiB")
    }
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
