import ArgumentParser
import Foundation
import Gateway
import HTTP1
import Operations
import Transport

struct PublishCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "publish",
    abstract: "Publish a JSON document to a topic of a running gateway.",
    discussion: """
      Clients read it with GET /v1/topics/NAME. Without a token it goes to the internal port. With a token that may
      publish, it goes to the client port.

        tidegate publish risk-state state.json
        echo '{"state":"NORMAL"}' | tidegate publish risk-state -
        tidegate publish risk-state state.json --url https://gateway.example --token-file desk.token

      Exits with 1 if the gateway refuses it or does not answer.
      """)

  @Argument(help: ArgumentHelp("The topic: 1 to 64 letters a-z 0-9 . _ -", valueName: "name"))
  var name: String
  @Argument(help: ArgumentHelp("A file with one JSON value; - for standard input.", valueName: "file"))
  var file: String
  @Option(
    help: ArgumentHelp("The gateway's internal address (default: 127.0.0.1:9090).", valueName: "host:port"))
  var to: String?
  @Option(
    help: ArgumentHelp(
      "The gateway's client port, to publish with a token (default: http://127.0.0.1:8080).", valueName: "url"))
  var url: String?
  @Option(
    help: ArgumentHelp(
      "Read the key or token from this file (default: the variable TIDEGATE_TOKEN).", valueName: "file"))
  var tokenFile: String?
  @Option(help: ArgumentHelp("Trust the roots in this PEM file instead of the system's.", valueName: "file"))
  var ca: String?

  func run() async throws {
    let port = try port()
    let document =
      file == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: file)
    guard let document else { throw ValidationError("FILE: \(file) cannot be read.") }
    let loop = try EventLoop(index: 0, label: "tidegate.publish")
    switch await TopicPublisher.publish([UInt8](document), to: name, at: port, loop: loop) {
    case .published(let answer): print(answer)
    case .refused(let reason):
      printError("error: \(reason)")
      throw ExitCode.failure
    }
  }

  /// The port to publish to: the client port if a token is given and no internal address.
  private func port() throws -> TopicPublisher.Port {
    var token: String?
    if let tokenFile {
      token = WatchCommand.token(inFile: tokenFile)
      guard token != nil else {
        throw ValidationError(
          "--token-file \"\(tokenFile)\" cannot be read or is empty; give a file with one key or token.")
      }
    } else if to == nil, let text = ProcessInfo.processInfo.environment["TIDEGATE_TOKEN"], !text.isEmpty {
      token = text
    }
    guard let token else {
      guard url == nil else {
        throw ValidationError("--url needs a token; give --token-file or the variable TIDEGATE_TOKEN.")
      }
      let text = to ?? "127.0.0.1:9090"
      guard let address = try? SocketAddress(parsing: text) else {
        throw ValidationError("--to \"\(text)\" is not allowed; give an address like 127.0.0.1:9090.")
      }
      return .internal(address)
    }
    guard to == nil else {
      throw ValidationError("--to takes no token; give --url instead, or leave --token-file out.")
    }
    let text = url ?? "http://127.0.0.1:8080"
    guard let endpoint = EndpointURL(text), endpoint.scheme == .http || endpoint.scheme == .https else {
      throw ValidationError("--url \"\(text)\" is not allowed; give a URL like https://gateway.example.")
    }
    return .client(endpoint, token: token, tls: endpoint.isSecure ? try TLSClientContext(caFile: ca) : nil)
  }
}
