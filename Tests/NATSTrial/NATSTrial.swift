import Bytes
import Cluster
import Foundation
import NATS
import Transport

/// A client of a NATS server for `Tests/Peers/nats_client.py`, which speaks to it through the server with another
/// library: `nats-trial ADDRESS [CA SEED-FILE]`. It prints `ready`, does what messages on `trial.*` ask, and ends when
/// its input does.
@main
enum NATSTrial {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 2 || arguments.count == 4, let server = NATSServerAddress(arguments[1]) else {
      throw Problem("usage: nats-trial ADDRESS [CA SEED-FILE]")
    }
    var credentials = NATSCredentials.none
    var tls: TLSClientContext?
    if arguments.count == 4 {
      tls = try TLSClientContext(caFile: arguments[2])
      guard let file = FileManager.default.contents(atPath: arguments[3]) else { throw Problem("no \(arguments[3])") }
      credentials = try NATSCredentials(seedFile: Array(file))
    }
    let loop = try EventLoop(index: 0, label: "trial")
    let settings = NATSLink.Settings(
      servers: [server], options: NATSOptions(name: "trial", credentials: credentials), tls: tls)
    let trial = UncheckedTrial(NATSLink(settings, loop: loop))
    loop.execute { trial.start() }
    while readLine() != nil {}
  }

  struct Problem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}

private final class UncheckedTrial: NATSLinkHandler, @unchecked Sendable {
  // `@unchecked`: used on the link's loop only.
  private let link: NATSLink

  init(_ link: NATSLink) {
    self.link = link
    link.handler = self
  }

  func start() {
    guard let pattern = try? NATSSubjectPattern("trial.*"), link.subscribe(pattern, tag: 0) != nil else { return }
    link.start()
  }

  func linkDidConnect(_ link: NATSLink) { print("ready", terminator: "\n", to: &StandardOutput.shared) }
  func linkDidDisconnect(_ link: NATSLink, reason: String) { print(reason, to: &StandardOutput.shared) }
  func link(_ link: NATSLink, wasRefused reason: String) { print(reason, to: &StandardOutput.shared) }

  func link(_ link: NATSLink, didReceive message: NATSMessage, tag: Int) {
    let payload = Array(message.payload)
    let text = String(decoding: payload, as: UTF8.self)
    switch String(decoding: message.subject, as: UTF8.self) {
    case "trial.echo":
      // The answer has the headers and the payload of the request.
      guard let reply = try? NATSSubject(Array(message.reply)) else { return }
      link.publish(reply, reply: nil, headers: message.headers.isEmpty ? nil : Array(message.headers), payload: payload)
    case "trial.burst":
      for index in 0..<(Int(text) ?? 0) {
        guard let subject = try? NATSSubject("burst.\(index)") else { return }
        var headers = ByteBuffer()
        NATSHeaders.append([("Number", "\(index)")], to: &headers)
        link.publish(subject, reply: nil, headers: headers.takeBytes(), payload: Array("message \(index)".utf8))
      }
    case "trial.request":
      // Requests the subject in the payload, and publishes what comes of it.
      guard let subject = try? NATSSubject(text) else { return }
      link.request(subject, payload: Array("question".utf8), timeout: .seconds(2)) { [weak self] answer in
        let said =
          switch answer {
          case .success(let message): "answer " + String(decoding: message.payload, as: UTF8.self)
          case .failure(let failure): "\(failure)"
          }
        guard let result = try? NATSSubject("result") else { return }
        self?.link.publish(result, reply: nil, payload: Array(said.utf8))
      }
    default: break
    }
  }
}

/// Standard output, a line at a time.
private struct StandardOutput: TextOutputStream {
  nonisolated(unsafe) static var shared = StandardOutput()
  func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
