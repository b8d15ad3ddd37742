import Foundation
import GRDB
import History
import Testing

@testable import Settings

@Suite("What keeps a gateway from starting")
struct StartCheckTests {
  /// The problems of a file with this text, in a folder of its own that `prepare` fills; `FOLDER` stands for it.
  private static func check(
    _ text: String, today: Int = 2026_11_23, environment: [String: String] = [:],
    prepare: (String) throws -> Void = { _ in }
  ) throws -> (refusals: [String], lasting: [String]) {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-start-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try prepare(folder.path)
    let file = folder.appendingPathComponent("t.yaml")
    try text.replacing("FOLDER", with: folder.path).write(to: file, atomically: true, encoding: .utf8)
    let variables = ["TIDEGATE_DATA_DIRECTORY": "none"].merging(environment) { $1 }.filter { !$0.value.isEmpty }
    let check = StartCheck(try ConfigurationLoader.load(file: file.path, environment: variables), today: today)
    return (check.refusals.map(\.description), check.lasting.map(\.description))
  }

  private static let feed = "feeds:\n  kraken: [BTC-USD]\n"

  @Test("nothing is wrong with a plain configuration, and its files stay as they are")
  func plain() throws {
    let check = try Self.check(Self.feed)
    #expect(check.refusals.isEmpty && check.lasting.isEmpty, "\(check)")
  }

  @Test("a file for the operators' token without a token is refused")
  func adminToken() throws {
    let check = try Self.check(Self.feed + "admin:\n  token-file: FOLDER/token\n") { folder in
      try "short".write(toFile: folder + "/token", atomically: true, encoding: .utf8)
    }
    #expect(check.refusals.count == 1 && check.refusals[0].contains("it must be 16 to 512 letters"), "\(check)")
  }

  @Test("a file of roots without roots is refused")
  func roots() throws {
    let check = try Self.check(Self.feed + "ca-file: FOLDER/ca.pem\n") { folder in
      try "no certificate".write(toFile: folder + "/ca.pem", atomically: true, encoding: .utf8)
    }
    #expect(check.refusals.count == 1 && check.refusals[0].hasPrefix("ca-file: "), "\(check)")
  }

  @Test("a recording that is none is refused")
  func recording() throws {
    let check = try Self.check("replay: [FOLDER/r.ndjson]\n") { folder in
      try "{}\n".write(toFile: folder + "/r.ndjson", atomically: true, encoding: .utf8)
    }
    #expect(check.refusals.count == 1 && check.refusals[0].hasPrefix("replay: "), "\(check)")
  }

  @Test("an address that no interface has is refused, and a port in use is not")
  func address() throws {
    let check = try Self.check(Self.feed + "listen: 192.0.2.1:8080\n")
    #expect(check.refusals.count == 1 && check.refusals[0].hasPrefix("listen: cannot listen there"), "\(check)")
  }

  @Test("a data folder under a file can keep nothing: a lasting problem, if somebody named it")
  func data() throws {
    let check = try Self.check(
      Self.feed + "data:\n  directory: FOLDER/file/data\n", environment: ["TIDEGATE_DATA_DIRECTORY": ""]
    ) { folder in try "".write(toFile: folder + "/file", atomically: true, encoding: .utf8) }
    #expect(check.refusals.isEmpty && check.lasting.count == 1, "\(check)")
    #expect(check.lasting.first?.contains("is not a folder") == true, "\(check)")
  }

  private static func foreignDatabase(_ path: String) throws {
    let file = try DatabaseQueue(path: path)
    try file.write { try $0.execute(sql: "CREATE TABLE recipes (id INTEGER PRIMARY KEY)") }
    try file.close()
  }

  @Test("the data file of another program is refused")
  func foreign() throws {
    let check = try Self.check(
      Self.feed + "data:\n  directory: FOLDER\n", environment: ["TIDEGATE_DATA_DIRECTORY": ""]
    ) { folder in try Self.foreignDatabase(folder + "/" + HistoryKeeper.fileName(isSimulated: false)) }
    #expect(check.refusals.count == 1, "\(check)")
    #expect(check.refusals.first?.contains("is a database of another program") == true, "\(check)")
  }

  @Test("a future is listed until the end of its day", arguments: [(2026_12_25, 0), (2026_12_26, 1), (2030_01_01, 1)])
  func futures(today: Int, count: Int) throws {
    let check = try Self.check("feeds:\n  okx: [BTC-USDT-20261225, BTC-USDT]\n", today: today)
    #expect(check.lasting.count == count && check.refusals.isEmpty, "\(check)")
    if count > 0 {
      #expect(check.lasting[0].contains("\"BTC-USDT-20261225\" has expired"), "\(check)")
    }
  }

  @Test("the present day has eight digits")
  func today() { #expect((2026_01_01...2200_12_31).contains(StartCheck.today)) }
}
