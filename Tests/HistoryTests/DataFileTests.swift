import Foundation
import GRDB
import MarketData
import Testing

@testable import History

@Suite("The data file")
struct DataFileTests {
  private let folder: TemporaryFolder
  private static let notes = SchemaPart(
    "notes", [.init("table") { try $0.execute(sql: "CREATE TABLE note (text TEXT NOT NULL)") }])

  init() throws { folder = try TemporaryFolder() }

  private func open(_ parts: [SchemaPart] = [notes], stamp: String = "then") throws(DataFileError) -> DataFile {
    try DataFile(path: folder.file, parts: parts, stamp: stamp)
  }

  private func addNote(_ text: String, to file: DataFile) throws {
    try file.write { try $0.execute(sql: "INSERT INTO note VALUES (?)", arguments: [text]) }
  }

  private func notes(in file: DataFile) throws -> [String] {
    try file.read { try String.fetchAll($0, sql: "SELECT text FROM note ORDER BY rowid") }
  }

  @Test("what was written is there after it is opened again, and a new migration runs once")
  func reopened() throws {
    let first = try open()
    try addNote("a", to: first)
    first.close()
    let later = SchemaPart(
      "notes",
      Self.notes.migrations + [
        .init("author") { try $0.execute(sql: "ALTER TABLE note ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody'") }
      ])
    for _ in 0..<2 {
      let file = try open([later])
      #expect(try notes(in: file) == ["a"])
      #expect(try file.read { try String.fetchOne($0, sql: "SELECT author FROM note") } == "nobody")
      file.close()
    }
  }

  @Test("a file of a newer version is refused in words and left as it is")
  func newer() throws {
    let future = SchemaPart("notes", Self.notes.migrations + [.init("colours") { _ in }])
    try open([future]).close()
    #expect(throws: DataFileError.newer(path: folder.file, unknown: ["notes: colours"])) { try open() }
    #expect(folder.names == ["history.sqlite"])
    #expect(try notes(in: open([future])) == [])
  }

  @Test("whether a file can be used is found out while another has it, and changes nothing")
  func check() throws {
    func check(_ parts: [SchemaPart]) throws(DataFileError) { try DataFile.check(path: folder.file, parts: parts) }
    try check([Self.notes])
    #expect(folder.names == [])
    let future = SchemaPart("notes", Self.notes.migrations + [.init("colours") { _ in }])
    let file = try open([future])
    try addNote("a", to: file)
    try check([future])
    #expect(throws: DataFileError.newer(path: folder.file, unknown: ["notes: colours"])) { try check([Self.notes]) }
    // One that an older version has written is migrated when it is opened.
    try check([future, SchemaPart("more", [.init("table") { try $0.execute(sql: "CREATE TABLE more (x)") }])])
    try addNote("b", to: file)
    #expect(try notes(in: file) == ["a", "b"])
    file.close()
    try Data("not a database at all, and long enough to be looked at".utf8).write(to: URL(fileURLWithPath: folder.file))
    #expect(throws: DataFileError.self) { try check([future]) }
    #expect(folder.names.contains("history.sqlite"))
  }

  @Test("a file that is closed fails what is asked of it, and nothing else")
  func closed() async throws {
    let file = try open()
    file.close()
    #expect(throws: DataFileError.self) { try addNote("a", to: file) }
    #expect(throws: DataFileError.self) { try notes(in: file) }
    let isWritten = await withCheckedContinuation { continuation in
      let isTaken = file.submit({ try $0.execute(sql: "INSERT INTO note VALUES ('b')") }) { result in
        continuation.resume(returning: (try? result.get()) != nil)
      }
      if !isTaken { continuation.resume(returning: false) }
    }
    #expect(!isWritten)
  }

  @Test("a database of another program is refused and left as it is")
  func foreign() throws {
    let queue = try DatabaseQueue(path: folder.file)
    try queue.write { try $0.execute(sql: "CREATE TABLE song (title TEXT)") }
    try queue.close()
    #expect(throws: DataFileError.foreign(path: folder.file)) { try open() }
    #expect(folder.names == ["history.sqlite"])
  }

  @Test(
    "a damaged file is set aside by name, and an empty one takes its place",
    arguments: ["text", "header", "schema"])
  func damaged(kind: String) throws {
    let first = try open()
    for number in 0..<2_000 { try addNote("number \(number) of many", to: first) }
    first.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file))
    switch kind {
    case "text": bytes = Data("this is no database at all, and longer than a header of one hundred bytes".utf8)
    case "header": bytes.replaceSubrange(0..<16, with: Data(repeating: 7, count: 16))
    default: bytes.replaceSubrange(100..<2_000, with: Data(repeating: 0xEE, count: 1_900))
    }
    try bytes.write(to: URL(fileURLWithPath: folder.file))
    let file = try open()
    #expect(file.setAside == [folder.file + ".damaged-then"])
    #expect(try notes(in: file) == [])
    try addNote("new", to: file)
    #expect(try notes(in: file) == ["new"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file + ".damaged-then")).count == bytes.count)
  }

  @Test("damage that shows later is reported as such, and the file is replaced under those who have it open")
  func damagedLater() throws {
    let file = try open()
    try file.write { db in
      for number in 0..<5_000 { try db.execute(sql: "INSERT INTO note VALUES (?)", arguments: ["note \(number)"]) }
    }
    file.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file))
    let middle = bytes.count / 2 / 4096 * 4096
    bytes.replaceSubrange(middle..<(middle + 8_192), with: Data(repeating: 0xEE, count: 8_192))
    try bytes.write(to: URL(fileURLWithPath: folder.file))
    let again = try open()
    #expect(again.setAside == [])
    #expect(try !again.check().isEmpty)
    do {
      _ = try notes(in: again)
      Issue.record("the damage was not noticed")
    } catch DataFileError.damaged {}
    try again.replaceDamaged(stamp: "now")
    #expect(again.setAside == [folder.file + ".damaged-now"])
    #expect(try notes(in: again) == [])
    #expect(try again.check() == [])
  }

  @Test("a directory that cannot be made is named")
  func inaccessible() throws {
    try Data().write(to: URL(fileURLWithPath: folder.path + "/file"))
    let path = folder.path + "/file/history.sqlite"
    do {
      _ = try DataFile(path: path, parts: [Self.notes], stamp: "then")
      Issue.record("it opened")
    } catch {
      guard case .inaccessible = error else { return #expect(Bool(false), "\(error)") }
      #expect(error.description == "\(path) cannot be used: File exists")
    }
  }

  @Test("a transaction that throws leaves nothing behind")
  func rolledBack() throws {
    struct Stop: Error {}
    let file = try open()
    #expect(throws: DataFileError.self) {
      try file.write { db in
        try db.execute(sql: "INSERT INTO note VALUES ('half')")
        throw Stop()
      }
    }
    #expect(try notes(in: file) == [])
  }

  @Test("submitted transactions run in order, and past the limit they are refused at once")
  func submitted() throws {
    let file = try open()
    let gate = DispatchSemaphore(value: 0)
    let done = DispatchSemaphore(value: 0)
    let isFirstTaken = file.submit({ _ in gate.wait() }, completion: { _ in done.signal() })
    #expect(isFirstTaken)
    var taken = 1
    for number in 1..<(DataFile.submissionLimit + 10) {
      let isTaken = file.submit(
        { try $0.execute(sql: "INSERT INTO note VALUES (?)", arguments: ["\(number)"]) },
        completion: { _ in done.signal() })
      if isTaken { taken += 1 }
    }
    #expect(taken == DataFile.submissionLimit)
    gate.signal()
    for _ in 0..<taken { done.wait() }
    #expect(try notes(in: file) == (1..<taken).map(String.init))
    let isTakenAgain = file.submit({ _ in }, completion: { _ in })
    #expect(isTakenAgain)
  }

  @Test("two processes' objects may write to one file")
  func shared() throws {
    let (one, other) = (try open(), try open())
    try addNote("one", to: one)
    try addNote("other", to: other)
    #expect(try notes(in: one) == ["one", "other"])
  }

  @Test("one gateway at a time has a file; the next one is told which process has it, and since when")
  func gateways() throws {
    let before = Date().timeIntervalSince1970
    let first = try DataFile(path: folder.file, parts: [Self.notes], stamp: nil, access: .gateway)
    do throws(DataFileError) {
      _ = try DataFile(path: folder.file, parts: [Self.notes], stamp: nil, access: .gateway)
      Issue.record("two gateways have one file")
    } catch {
      guard case .owned(folder.file, let owner) = error else { throw error }
      #expect(owner.process == getpid())
      let since = try #require(owner.since).microseconds / 1_000_000
      #expect((Int64(before)...Int64(Date().timeIntervalSince1970)).contains(since))
      #expect(error.description.contains("process \(getpid()), since 20"))
    }
    first.close()
    let second = try DataFile(path: folder.file, parts: [Self.notes], stamp: nil, access: .gateway)
    #expect(second.owner == nil)
    second.close()
  }

  @Test("a lock ends with its process, and no child of it has the lock")
  func killed() throws {
    let lock = DataFileLock.path(of: folder.file)
    let other = Process()
    other.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
    other.arguments = ["-n", "-F", lock, "/bin/sleep", "60"]
    try other.run()
    defer { other.terminate() }
    while let mine = try? DataFileLock.take(folder.file, creates: true, seconds: 0) {
      mine.release()
      usleep(1_000)
    }
    #expect(throws: DataFileError.owned(path: folder.file, by: DataFileOwner())) {
      try DataFileLock.take(folder.file, creates: true, seconds: 0)
    }
    kill(other.processIdentifier, SIGKILL)
    let taken = try DataFileLock.take(folder.file, creates: true, seconds: 10)
    // A child of the owner lives on.
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/bin/sleep")
    child.arguments = ["60"]
    try child.run()
    defer { child.terminate() }
    taken?.release()
    _ = try #require(try DataFileLock.take(folder.file, creates: true, seconds: 0))
  }

  @Test("a command works beside a gateway and can name it, but leaves the tables as that gateway knows them")
  func commands() throws {
    let alone = try DataFile(path: folder.file, parts: [Self.notes], stamp: nil, access: .command)
    #expect(alone.owner == nil)
    #expect(!FileManager.default.fileExists(atPath: DataFileLock.path(of: folder.file)))
    alone.close()
    let gateway = try DataFile(path: folder.file, parts: [Self.notes], stamp: nil, access: .gateway)
    let beside = try DataFile(path: folder.file, parts: [Self.notes], stamp: nil, access: .command)
    #expect(beside.owner?.process == getpid())
    _ = try beside.write { try $0.execute(sql: "INSERT INTO note (text) VALUES ('beside')") }
    let newer = SchemaPart(
      "notes", Self.notes.migrations + [.init("more") { try $0.execute(sql: "CREATE TABLE more (a)") }])
    do throws(DataFileError) {
      _ = try DataFile(path: folder.file, parts: [newer], stamp: nil, access: .command)
      Issue.record("a command changed the tables of a running gateway")
    } catch {
      guard case .owned(_, let owner) = error else { throw error }
      #expect(owner.process == getpid())
    }
    gateway.close()
    _ = try DataFile(path: folder.file, parts: [newer], stamp: nil, access: .command)
  }
}
