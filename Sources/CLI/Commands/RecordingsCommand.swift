import ArgumentParser
import Foundation
import Gateway
import MarketData
import Recordings

struct RecordingsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recordings",
    abstract: "List, check, index, cut and export recordings.",
    discussion: """
        tidegate recordings list recordings/
        tidegate recordings verify recordings/
        tidegate recordings index recordings/
        tidegate recordings cut recordings/ --from 2026-08-21T14:30:00Z --to 2026-08-21T14:35:00Z --out crash.ndjson.gz
        tidegate recordings export recordings/ --what trades > trades.csv
      """,
    subcommands: [List.self, Verify.self, Index.self, Cut.self, Export.self], defaultSubcommand: List.self)

  /// Selects recordings.
  struct FileArguments: ParsableArguments {
    @Argument(help: ArgumentHelp("Recordings, or folders of them.", valueName: "file"), completion: .file())
    var files: [String]

    func validate() throws {
      if files.isEmpty { throw ValidationError("give a recording, or a folder of them.") }
      for file in files where !FileManager.default.isReadableFile(atPath: file) {
        throw ValidationError("file \"\(file)\" cannot be read; give a recording made by record or serve --record.")
      }
    }
  }

  /// Selects a part of recordings.
  struct WindowOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Not before this time: 2026-08-21T14:30:00Z.", valueName: "time")) var from: String?
    @Option(help: ArgumentHelp("Before this time.", valueName: "time")) var to: String?

    func validate() throws { _ = try range() }
    func range() throws -> Range<Timestamp> { try RecordingWindow.read(from: from, to: to) }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Show what is in each file: venue, times, messages, size, gaps.",
      discussion: "Files with an index are not read. Exit codes: 0; 1 if a file cannot be read.")
    @OptionGroup var arguments: FileArguments
    @Flag(help: "Print one JSON document.") var json = false

    func run() throws {
      let progress = ProgressLine(everySeconds: 10)
      let survey = RecordingSurvey.list(try ReplayPlan(arguments.files)) { path, records in
        progress.show { "\(path): \(records) records" }
      }
      progress.clear()
      print(json ? survey.json : survey.text(isVerified: false))
      if !survey.unreadable.isEmpty { throw ExitCode.failure }
    }
  }

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Read and play everything, and report the first damage and what is lost.",
      discussion: """
        Checks each line, the links between a venue's messages and its checksums, where it sends such, and the indexes.

        Exit codes:
          0   everything is readable; gaps that the recorder noted count as no damage
          1   something is damaged, cut off, out of order or unreadable, or an index is wrong
        """)
    @OptionGroup var arguments: FileArguments
    @Flag(help: "Print one JSON document.") var json = false

    func run() throws {
      let progress = ProgressLine(everySeconds: 10)
      let survey = RecordingSurvey.verify(try ReplayPlan(arguments.files)) { path, records in
        progress.show { "\(path): \(records) records" }
      }
      progress.clear()
      print(json ? survey.json : survey.text(isVerified: true))
      let isDamaged = survey.files.contains { !$0.damage.isEmpty }
      if isDamaged || !survey.unreadable.isEmpty { throw ExitCode.failure }
    }
  }

  struct Index: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make the indexes by which replay, cut and export begin in the middle.",
      discussion: """
        Writes NAME.index beside each file, at most about half as large. Recordings whose indexes fit are left out.
        Exit codes: 0; 1 if a file could not be indexed, or not to its end.
        """)
    @OptionGroup var arguments: FileArguments
    @Flag(help: "Make indexes that fit anew as well.") var force = false

    func run() throws {
      let plan = try ReplayPlan(arguments.files)
      var problems = plan.skipped.map(\.description)
      let progress = ProgressLine(everySeconds: 10)
      for track in plan.tracks {
        guard force || !track.paths.allSatisfy(RecordingIndex.fits) else {
          print("\(track.paths.count == 1 ? track.paths[0] : "\(track.paths.count) files"): indexed already")
          continue
        }
        do throws(RecordingError) {
          let indexed = try RecordingIndexer(paths: track.paths).run { state in
            let percent = track.bytes > 0 ? min(100, 100 * state.bytesRead / track.bytes) : 100
            progress.show { "\(state.path): \(percent) %, \(state.records) records" }
          }
          progress.clear()
          for file in indexed {
            print("\(file.path): \(file.contents.records) records, \(file.points) points, \(file.bytes >> 10) KiB")
            if let stopped = file.contents.stoppedBy { problems.append("\(file.path), \(stopped)") }
          }
        } catch {
          progress.clear()
          problems.append(error.description)
        }
      }
      for problem in problems { printError(problem) }
      if !problems.isEmpty { throw ExitCode.failure }
    }
  }

  struct Cut: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Copy a part of a recording to a file that can be replayed alone.",
      discussion: """
        The file begins with what the part would lack: instrument lists, the messages that set up the connection, and
        the books. Give one recording, or the files of one connection.
        """)
    @OptionGroup var arguments: FileArguments
    @OptionGroup var window: WindowOptions
    @Option(help: ArgumentHelp("The file to make: NAME.ndjson.gz.", valueName: "file")) var out: String
    @Flag(help: "Print the result as JSON.") var json = false

    func validate() throws {
      if window.from == nil, window.to == nil { throw ValidationError("give --from, --to, or both.") }
      if FileManager.default.fileExists(atPath: out) { throw ValidationError("--out \"\(out)\" exists.") }
    }

    func run() throws {
      let plan = try ReplayPlan(arguments.files)
      guard plan.tracks.count == 1 else {
        throw CommandFailure("these are \(plan.tracks.count) recordings; give the files of one connection")
      }
      let progress = ProgressLine(everySeconds: 10)
      let cut = try RecordingCut.make(plan.tracks[0].paths, window: try window.range(), output: out) { time in
        progress.show { "cut: \(RecordingTime.text(time))" }
      }
      progress.clear()
      for note in plan.notes + cut.notes { printError("note: \(note)") }
      let (first, last) = (cut.first.map(RecordingTime.text) ?? "", cut.last.map(RecordingTime.text) ?? "")
      print(
        json
          ? #"{"records":\#(cut.records),"bytes":\#(cut.bytes),"from":"\#(first)","to":"\#(last)"}"#
          : "\(out): \(cut.records) records from \(first) to \(last), \(cut.bytes >> 10) KiB")
    }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print trades, or the best bid and ask, as CSV or one JSON object a line.",
      discussion: "Parquet is not written: export CSV or NDJSON, which its tools read.")
    @OptionGroup var arguments: FileArguments
    @OptionGroup var window: WindowOptions
    @Option(help: ArgumentHelp("trades, or top: the best bid and ask whenever they change.", valueName: "what"))
    var what = "trades"
    @Option(help: ArgumentHelp("csv or ndjson.", valueName: "format")) var format = "csv"
    @Option(help: ArgumentHelp("Only this symbol: kraken:BTC-USD; may be repeated.", valueName: "symbol"))
    var symbol: [String] = []
    @Option(help: ArgumentHelp("Write to this file (default: standard output).", valueName: "file")) var out = "-"

    func validate() throws {
      if RecordingExport.Subject(rawValue: what) == nil {
        throw ValidationError("--what \(what) is not allowed; give trades or top.")
      }
      if RecordingExport.Format(rawValue: format) == nil {
        throw ValidationError("--format \(format) is not allowed; give csv or ndjson.")
      }
    }

    func run() throws {
      guard let subject = RecordingExport.Subject(rawValue: what), let form = RecordingExport.Format(rawValue: format)
      else { throw ExitCode.validationFailure }
      let file = try OutputFile(out)
      let export = RecordingExport(subject, form, symbols: Set(symbol)) { (line) throws(RecordingError) in
        try file.append(line)
      }
      try export.begin()
      let run = try ReplayRun(
        try ReplayPlan(arguments.files), window: try window.range(),
        onChanges: { (replayer, time) throws(RecordingError) in try export.take(replayer, at: time) })
      for note in run.notes + run.skipped.map(\.description) { printError("note: \(note)") }
      let progress = ProgressLine(everySeconds: 10)
      let results = try run.run(onProgress: { state in progress.show { "export: \(state.description)" } })
      progress.clear()
      try file.close()
      let stopped = results.compactMap(\.stoppedBy)
      for error in stopped { printError(error.description) }
      if !stopped.isEmpty { throw ExitCode.failure }
    }
  }
}

/// Reads the options that select a part of recordings.
enum RecordingWindow {
  static func read(from: String?, to: String?) throws -> Range<Timestamp> {
    let start = try from.map { try time($0, "--from") } ?? .distantPast
    let end = try to.map { try time($0, "--to") } ?? .distantFuture
    guard start < end else { throw ValidationError("--from is not before --to.") }
    return start..<end
  }

  static func time(_ text: String, _ option: String) throws -> Timestamp {
    guard let time = RecordingTime.read(text) else {
      throw ValidationError("\(option) \(text) is not allowed; \(RecordingTime.form).")
    }
    return time
  }
}
