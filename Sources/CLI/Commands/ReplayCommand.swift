import ArgumentParser
import Foundation
import Gateway
import MarketData
import Recordings

struct ReplayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Run recordings through the gateway's parsers and books, and report their contents.",
    discussion: """
      Counts messages, gaps, checksums and trades per symbol. Serves nothing; for that, see serve --replay.
      The files of one set in a folder are played one after the other. Several recordings are merged by time.
      Published messages (--digest, --published) have the times of the recording: they are the same at every speed.
      A file, a market or a line that cannot be replayed is left out and reported.

      --from, --to and --at play a part of the recordings. With an index (tidegate recordings index) that begins at once,
      and otherwise after everything before it was read. Books are those of a whole replay; tickers, candles and the
      list of recent trades begin with the part.

      Exit codes:
        0   replayed
        1   nothing could be replayed, or a file could not be read to its end
        2   replayed, but no book is in sync at the end of any recording; also if none has a book
        3   with --strict: something was left out, unreadable, missing or out of sync
        64  wrong usage

        tidegate replay recordings/ --digest
        tidegate replay kraken.ndjson.gz coinbase.ndjson.gz --speed 10x --published published.ndjson
        tidegate replay recordings/ --from 2026-08-21T14:30:00Z --to 2026-08-21T14:35:00Z
      """)

  @Argument(help: ArgumentHelp("Recordings, or folders of them.", valueName: "file"), completion: .file())
  var files: [String]
  @Option(help: ArgumentHelp("1x as recorded, 10x ten times as fast, max as fast as possible.", valueName: "speed"))
  var speed = "max"
  @Option(help: ArgumentHelp("Play records from this time on: 2026-08-21T14:30:00Z.", valueName: "time"))
  var from: String?
  @Option(help: ArgumentHelp("Play records before this time.", valueName: "time"))
  var to: String?
  @Option(help: ArgumentHelp("Report the books as they were at this time.", valueName: "time"))
  var at: String?
  @Option(
    help: ArgumentHelp(
      "Write every message that would be published, one a line; - for standard output.", valueName: "file"))
  var published: String?
  @Flag(help: "Print a digest of everything that would be published.")
  var digest = false
  @Flag(help: "Print the report as JSON: one document, on standard error if messages are published on standard output.")
  var json = false
  @Flag(help: "Exit with 3 unless everything was read and replayed, and every book is in sync.")
  var strict = false

  func validate() throws {
    if ReplaySpeed(speed) == nil {
      throw ValidationError("--speed \"\(speed)\" is not allowed; give \(ReplaySpeed.allowed).")
    }
    _ = try window()
    if files.isEmpty { throw ValidationError("give a recording, or a folder of them.") }
    for file in files where !FileManager.default.isReadableFile(atPath: file) {
      throw ValidationError("file \"\(file)\" cannot be read; give a recording made by record or serve --record.")
    }
  }

  /// The records that are played.
  func window() throws -> Range<Timestamp> {
    guard let at else { return try RecordingWindow.read(from: from, to: to) }
    guard from == nil, to == nil else { throw ValidationError("--at cannot be given with --from or --to.") }
    let time = try RecordingWindow.time(at, "--at")
    return time..<time
  }

  func run() async throws {
    try await replay(self, speed: ReplaySpeed(speed) ?? .fastest)
  }
}
