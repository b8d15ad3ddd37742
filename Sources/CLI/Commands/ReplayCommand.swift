import ArgumentParser
import Foundation
import Gateway
import Recordings

struct ReplayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Run recordings through the gateway's parsers and books, and report what they hold.",
    discussion: """
      Counts messages, gaps, checksums and trades per symbol. Serves nothing; for that, see serve --replay.
      The files of a set that record made in a folder are played one after the other, several recordings together in the order of time.
      What is published of them (--digest, --published) has the times of the recording: it is the same bytes at every speed.
      What cannot be replayed, a file, a market or a line, is left out and told.

      Exit codes:
        0   replayed
        1   nothing could be replayed, or a file could not be read to its end
        2   replayed, but no book is in sync at the end of any recording
        3   with --strict: something was left out, unreadable, missing or out of sync
        64  wrong usage

        tidegate replay recordings/ --digest
        tidegate replay kraken.ndjson.gz coinbase.ndjson.gz --speed 10x --published published.ndjson
      """)

  @Argument(help: ArgumentHelp("Recordings, or folders of them.", valueName: "file"), completion: .file())
  var files: [String]
  @Option(help: ArgumentHelp("1x as recorded, 10x ten times as fast, max as fast as possible.", valueName: "speed"))
  var speed = "max"
  @Option(help: ArgumentHelp("Write every message that would be published, one a line; - for here.", valueName: "file"))
  var published: String?
  @Flag(help: "Print a digest of everything that would be published.")
  var digest = false
  @Flag(help: "Print the report as JSON: one document, on standard error if messages are published on standard output.")
  var json = false
  @Flag(help: "Fail (3) unless all of it was read, understood and in sync.")
  var strict = false

  func validate() throws {
    if ReplaySpeed(speed) == nil {
      throw ValidationError("--speed \"\(speed)\" is not allowed; give \(ReplaySpeed.allowed).")
    }
    if files.isEmpty { throw ValidationError("give a recording, or a folder of them.") }
    for file in files where !FileManager.default.isReadableFile(atPath: file) {
      throw ValidationError("file \"\(file)\" cannot be read; give a recording made by record or serve --record.")
    }
  }

  func run() async throws {
    try await replay(self, speed: ReplaySpeed(speed) ?? .fastest)
  }
}
