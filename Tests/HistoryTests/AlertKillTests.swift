import Alerts
import Foundation
import History
import TestSupport
import TestTraits
import Testing

@Suite("Alerts and sudden death")
struct AlertKillTests {
  /// `alert-trial`, beside the test bundle.
  private static var executable: URL {
    get throws {
      let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let beside = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("alert-trial")
      guard !FileManager.default.isExecutableFile(atPath: beside.path) else { return beside }
      let argument = try #require(CommandLine.arguments.first { $0.contains(".xctest") })
      return URL(fileURLWithPath: argument).deletingLastPathComponent().appendingPathComponent("alert-trial")
    }
  }

  /// One run of the trial, from its start to its death.
  private final class Run {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var rest: [UInt8] = []
    private var isOver = false

    init(_ executable: URL, file: String) throws {
      process.executableURL = executable
      process.arguments = [file]
      process.standardInput = input
      process.standardOutput = output
      try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    func send(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Array("\(line)\n".utf8)) }

    /// The next whole line; nil once it is dead and all is read.
    func line() -> String? {
      while true {
        if let end = rest.firstIndex(of: 10) {
          defer { rest.removeFirst(end + 1) }
          return String(decoding: rest[..<end], as: UTF8.self)
        }
        guard !isOver else { return nil }
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { isOver = true }
        rest += data
      }
    }

    var isRunning: Bool { process.isRunning }

    func killNow() {
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }
  }

  @Test(
    "200 × kill -9 at any moment: each crossing fired once, each firing told, always under the same number", .realTime)
  func twoHundred() throws {
    signal(SIGPIPE, SIG_IGN)
    let seed = testSeeds(1)[0]
    var random = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder()
    let executable = try Self.executable
    var told: [String: Set<Int>] = [:]
    var kills = 0
    var cycles = 0
    var run: Run?

    /// Takes what the run says up to a line; false if it died before.
    func read(upTo wanted: String) -> Bool {
      while let line = run?.line() {
        let words = line.split(separator: " ")
        if words.first == "told", words.count == 3, let number = Int(words[2]) {
          told[String(words[1]), default: []].insert(number)
        }
        if line == wanted { return true }
      }
      return false
    }
    /// Shows a price until it has been seen, over any number of deaths.
    func show(_ price: Int) throws {
      while true {
        if run == nil {
          run = try Run(executable, file: folder.file)
          guard read(upTo: "ready") else {
            run = nil
            continue
          }
        }
        run?.send("price \(price)")
        if Int.random(in: 0..<10, using: &random) < 6 {
          usleep(UInt32.random(in: 0...1_500, using: &random))
          run?.killNow()
          kills += 1
        }
        let isSeen = read(upTo: "seen \(price)")
        // A dead one says no more, though it may have said this.
        if let current = run, kills > 0, !current.isRunning { run = nil }
        if isSeen { return }
      }
    }
    while kills < 200 {
      try show(9_000)
      try show(11_000)
      cycles += 1
    }
    run?.killNow()
    let store = AlertStore(file: try DataFile(path: folder.file, parts: SchemaPart.all, stamp: "test"))
    let alerts = try store.load().alerts
    #expect(alerts.count == 20)
    for alert in alerts {
      #expect(Int(alert.progress.firings) == cycles, "seed \(seed), alert \(alert.name)")
      #expect(try store.firings(of: alert.id).first.map { Int($0.number) } == cycles)
      #expect(told["\(alert.id.rawValue)"] == Set(1...cycles), "seed \(seed), alert \(alert.name)")
    }
  }
}
