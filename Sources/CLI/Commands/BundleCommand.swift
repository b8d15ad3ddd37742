import ArgumentParser
import Build
import Foundation
import Gateway
import Operations
import Transport

struct BundleCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bundle",
    abstract: "Collect what a fault report needs from a running gateway into one archive.",
    discussion: """
      Health, metrics and the rejected messages of every feed; with the operators' token also the configuration, the
      feeds and the clients. The archive contains addresses and paths, but no token or key. Exits with 3 if no gateway
      answers.

        tidegate bundle --token-file /etc/tidegate/admin-token
      """)

  @Option(help: ArgumentHelp("The gateway's internal address.", valueName: "host:port"))
  var at = "127.0.0.1:9090"
  @Option(
    help: ArgumentHelp(
      "The file of admin.token-file (default: the variable TIDEGATE_ADMIN_TOKEN_FILE, else the demo's own file).",
      valueName: "file"))
  var tokenFile: String?
  @Option(help: ArgumentHelp("Write this archive (default: tidegate-TIME.tar.gz).", valueName: "file"))
  var out: String?

  func run() async throws {
    let address = try internalAddress(at)
    let token = try TopCommand.token(tokenFile)
    let loop = try EventLoop(index: 0, label: "tidegate.bundle")
    let health: String
    switch await InternalRequest.send("GET", "/healthz", at: address, loop: loop) {
    case .answered(404, _):
      printError("error: \(address.description) is not an internal port of Tidegate")
      throw ExitCode(3)
    case .answered(_, let text): health = text
    case .failed(let reason):
      printError("error: no gateway answers at \(address.description): \(reason)")
      throw ExitCode(3)
    }
    let stamp = ISO8601DateFormatter().string(from: Date()).replacingOccurrences(of: ":", with: "")
    let name = "tidegate-\(stamp)"
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func keep(_ file: String, _ text: String) throws {
      try (text + "\n").write(to: folder.appendingPathComponent(file), atomically: true, encoding: .utf8)
    }
    try keep("version.txt", TidegateVersion.full)
    try keep("health.json", health)
    var targets = [("ready.txt", "/readyz"), ("loops.txt", "/livez"), ("metrics.txt", "/metrics")]
    if token != nil {
      targets += [
        ("configuration.json", "/admin/configuration"), ("feeds.json", "/admin/feeds"),
        ("clients.json", "/admin/clients?limit=1000"),
      ]
    }
    var metrics = ""
    for (file, target) in targets {
      let isAdmin = target.hasPrefix("/admin/")
      switch await InternalRequest.send("GET", target, token: isAdmin ? token : nil, at: address, loop: loop) {
      case .answered(let status, let text):
        if isAdmin, status != 200 {
          printError("\(file) is left out: \(GatewayRefusal(status: status, text: text).words)")
          continue
        }
        if target == "/metrics" { metrics = text }
        try keep(file, text)
      case .failed(let reason): try keep(file, "no answer: \(reason)")
      }
    }
    for venue in Self.venues(in: metrics) {
      if case .answered(200, let text) = await InternalRequest.send(
        "GET", "/v1/feeds/\(venue)/errors", at: address, loop: loop)
      {
        try keep("errors-\(venue).json", text)
      }
    }
    let archive = out ?? "\(name).tar.gz"
    try Self.pack(folder, into: archive)
    print(archive)
  }

  /// The venues that have a feed.
  private static func venues(in metrics: String) -> [String] {
    let names = metrics.split(separator: "\n").filter { $0.hasPrefix("tidegate_feed_age_seconds{venue=\"") }
      .compactMap { $0.split(separator: "\"").dropFirst().first.map(String.init) }
    return Set(names).sorted()
  }

  private static func pack(_ folder: URL, into archive: String) throws {
    let tar = Process()
    tar.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    tar.arguments = ["tar", "-czf", archive, "-C", folder.deletingLastPathComponent().path, folder.lastPathComponent]
    try tar.run()
    tar.waitUntilExit()
    guard tar.terminationStatus == 0 else { throw CommandFailure("\(archive) could not be written") }
  }
}
