import ArgumentParser
import Foundation

struct ReplayCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Run recordings through the gateway's parsers and books, and report what they hold.",
    discussion: "Counts messages, gaps, checksums and trades per symbol. Serves nothing; for that, see serve --replay.")

  @Argument(help: ArgumentHelp("Recordings, of one venue each.", valueName: "file"), completion: .file())
  var files: [String]
  @Flag(help: "Print the report as JSON.")
  var json = false

  func validate() throws {
    for file in files where !FileManager.default.isReadableFile(atPath: file) {
      throw ValidationError("file \"\(file)\" cannot be read; give a recording made by record or serve --record.")
    }
  }

  func run() async throws { try await replay(files: files, json: json) }
}
