import ArgumentParser
import Foundation
import TidegateClient

struct DecodeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "decode",
    abstract: "Print a captured session of tidegate.v1.bin as JSON.",
    discussion: """
      FILE has a line for each message of the gateway, in order: text messages as they are, binary messages as
      hexadecimal digits. With the package `websockets` of Python:

        print(message if isinstance(message, str) else message.hex(), file=capture)

      Prints one JSON message a line, as a client of tidegate.v1.json would get it. Exits with 1 at the first line that
      is not valid.
      """)

  @Argument(help: ArgumentHelp("The captured session; - is the standard input.", valueName: "file"))
  var file: String

  func run() throws {
    let input: FileHandle
    if file == "-" {
      input = .standardInput
    } else {
      guard let handle = FileHandle(forReadingAtPath: file) else {
        throw ValidationError("FILE \"\(file)\" cannot be read.")
      }
      input = handle
    }
    guard let data = try input.readToEnd() else { return }
    var session = CapturedSession()
    for (index, line) in String(decoding: data, as: UTF8.self).split(separator: "\n").enumerated() {
      do {
        print(try session.read(line))
      } catch {
        FileHandle.standardError.write(Data("error: line \(index + 1): \(error)\n".utf8))
        throw ExitCode.failure
      }
    }
  }
}
