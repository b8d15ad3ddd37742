import Foundation
import Testing

/// A nats-server of the machine, on a port of its own choice on loopback. Tests that need one are skipped where none is
/// installed: install Debian's `nats-server`, or name one in `TIDEGATE_NATS_SERVER`.
final class NATSServerProcess {
  /// Nil: none is installed. `Tests/Peers/run.sh` unpacks one into `.build/peers-tools`.
  static let path: String? = {
    var tree = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { tree.deleteLastPathComponent() }
    var indices = ["/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"]
    indices.append(tree.appendingPathComponent(".build/peers-tools/usr/sbin/nats-server").path)
    if let named = ProcessInfo.processInfo.environment["TIDEGATE_NATS_SERVER"] { indices.insert(named, at: 0) }
    return indices.first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  let folder: URL
  private let process = Process()
  private(set) var port: UInt16 = 0

  /// - Parameters:
  ///   - configuration: lines of its configuration file; `FOLDER` stands for a folder of its own.
  ///   - port: of an earlier server, to take its place.
  init(_ configuration: String = "", port: UInt16? = nil, files: [String: String] = [:]) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("nats-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, text) in files { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
    let file = folder.appendingPathComponent("nats.conf")
    let text = """
      listen: "127.0.0.1:\(port.map(String.init) ?? "-1")"
      ports_file_dir: "\(folder.path)"
      \(configuration.replacingOccurrences(of: "FOLDER", with: folder.path))
      """
    try Data(text.utf8).write(to: file)
    process.executableURL = URL(fileURLWithPath: try #require(Self.path))
    process.arguments = ["-c", file.path, "-l", folder.appendingPathComponent("log").path]
    try process.run()
    self.port = try waitForPort()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }

  var log: String {
    (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? "no log"
  }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Ends it and waits for its end.
  func end() {
    signal(SIGKILL)
    process.waitUntilExit()
  }

  private func waitForPort() throws -> UInt16 {
    let name = folder.appendingPathComponent("nats-server_\(process.processIdentifier).ports")
    for _ in 0..<3_000 {
      if let text = try? String(contentsOf: name, encoding: .utf8),
        let found = text.firstMatch(of: #/127\.0\.0\.1:([0-9]+)"/#), let port = UInt16(found.1)
      {
        return port
      }
      guard process.isRunning else { break }
      usleep(10_000)
    }
    throw NoServer(description: "nats-server did not start: \(log)")
  }

  struct NoServer: Error, CustomStringConvertible { let description: String }
}
