import ArgumentParser
import Foundation
import Gateway
import Transport

struct PublishCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "publish",
    abstract: "Publish a JSON document to a topic of a running gateway.",
    discussion: """
      Clients read it with GET /v1/topics/NAME.

        tidegate publish risk-state state.json
        echo '{"state":"NORMAL"}' | tidegate publish risk-state -

      Exits with 1 if the gateway refuses it or is not there.
      """)

  @Argument(help: ArgumentHelp("The topic: 1 to 64 letters a-z 0-9 . _ -", valueName: "name"))
  var name: String
  @Argument(help: ArgumentHelp("A file with one JSON value; - for standard input.", valueName: "file"))
  var file: String
  @Option(help: ArgumentHelp("The gateway's internal address.", valueName: "host:port"))
  var to = "127.0.0.1:9090"

  func run() async throws {
    guard let address = try? SocketAddress(parsing: to) else {
      throw ValidationError("--to \"\(to)\" is not allowed; give an address like 127.0.0.1:9090.")
    }
    let document =
      file == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: file)
    guard let document else { throw ValidationError("FILE: \(file) cannot be read.") }
    let loop = try EventLoop(index: 0, label: "tidegate.publish")
    switch await TopicPublisher.publish([UInt8](document), to: name, at: address, loop: loop) {
    case .published(let answer): print(answer)
    case .refused(let reason):
      printError("error: \(reason)")
      throw ExitCode.failure
    }
  }
}
