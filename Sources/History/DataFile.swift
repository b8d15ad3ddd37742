import Foundation
import GRDB
import Synchronization

/// The SQLite file with everything that survives a restart: candles, gaps, rules, portfolios, topics, streams.
///
/// The file has a write-ahead log, one writer and a few readers. GRDB runs the writer on a serial queue of its own, so
/// no event loop ever waits for a disk: loops hand their data to a bounded mailbox, and only threads that may wait call
/// `write` and `read`. One gateway at a time has the file (`Access.gateway`); commands may use it beside that.
///
/// A type that stores data in the file names its tables in a `SchemaPart`. A damaged file is renamed and replaced by an
/// empty one, at the start and at any later time.
package final class DataFile: Sendable {
  /// The most transactions that may wait for the writer. Beyond that, `submit` refuses.
  package static let submissionLimit = 1_024
  /// `application_id` of the file's header: "Tide".
  static let applicationID: Int32 = 0x5469_6465

  /// How a process uses the file.
  package enum Access: Sendable {
    /// As the gateway whose file it is, alone, until `close`. Waits up to 5 s for a gateway that is ending.
    case gateway
    /// Beside a gateway that may run. Its version's tables then stay as they are.
    case command
    /// Without a look at others, for tests and programs that use no gateway's file.
    case unguarded
  }

  /// How long a gateway waits for another one that has the file, s: that one may be ending.
  private static let patience = 5.0

  package let path: String
  /// The gateway that has the file, if this process uses it beside that one.
  package let owner: DataFileOwner?
  private let lock: DataFileLock?
  let parts: [SchemaPart]
  private let state: Mutex<State>

  private struct State {
    var pool: DatabasePool
    /// The names of damaged files, newest last.
    var setAside: [String]
    var submissions = 0
  }

  /// Opens the file at `path`, creates it and its directory if they do not exist, and migrates every part to its newest
  /// version. Renames a damaged file first: `setAside` is its new name. Takes milliseconds, and longer after a
  /// migration.
  /// - Parameter stamp: the end of a damaged file's new name, such as the time: `20261122T191500Z`. Nil: a damaged file
  ///   is not renamed.
  /// - Throws: `.owned` if another gateway has the file, or has it in an older form than this version's.
  package init(
    path: String, parts: [SchemaPart], stamp: String?, access: Access = .unguarded
  ) throws(DataFileError) {
    precondition(Set(parts.map(\.name)).count == parts.count, "two parts of the schema have one name")
    self.path = path
    self.parts = parts
    let folder = (path as NSString).deletingLastPathComponent
    do {
      try FileManager.default.createDirectory(
        atPath: folder.isEmpty ? "." : folder, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      throw .inaccessible(path: path, reason: Self.words(error))
    }
    var (lock, owner): (DataFileLock?, DataFileOwner?) = (nil, nil)
    switch access {
    case .gateway: lock = try DataFileLock.take(path, creates: true, seconds: Self.patience)
    case .command:
      do throws(DataFileError) {
        // Released at the end of `init`, when the file has its newest form.
        lock = try DataFileLock.take(path, creates: false, seconds: 0)
      } catch {
        guard case .owned(_, let gateway) = error else { throw error }
        owner = gateway
        try Self.checkForm(path, parts, gateway)
      }
    case .unguarded: break
    }
    self.owner = owner
    var setAside: [String] = []
    let pool: DatabasePool
    do throws(DataFileError) {
      pool = try Self.open(path, parts)
    } catch {
      guard case .damaged = error, let stamp else { throw error }
      setAside.append(try Self.rename(path, stamp))
      pool = try Self.open(path, parts)
    }
    self.state = Mutex(State(pool: pool, setAside: setAside))
    if case .command = access {
      lock?.release()
      lock = nil
    }
    self.lock = lock
  }

  /// Throws `.owned` if the file is not in this version's form: only its gateway may change that.
  private static func checkForm(
    _ path: String, _ parts: [SchemaPart], _ owner: DataFileOwner
  ) throws(DataFileError) {
    do {
      let file = try DatabaseQueue(path: path, configuration: readOnly())
      let isCurrent = try file.read { db in
        _ = try isEmpty(db, migrator(parts), path)
        return try migrator(parts).hasCompletedMigrations(db)
      }
      try file.close()
      guard isCurrent else { throw DataFileError.owned(path: path, by: owner) }
    } catch {
      throw failure(error, path)
    }
  }

  /// The files that were set aside because they were damaged, newest last.
  package var setAside: [String] { state.withLock { $0.setAside } }

  /// The size of the file and its log together, bytes; 0 if they do not exist.
  package var byteCount: Int64 {
    ["", "-wal"].reduce(0) { sum, suffix in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
      return sum + ((attributes?[.size] as? NSNumber)?.int64Value ?? 0)
    }
  }

  // MARK: Transactions

  /// Runs `body` in a transaction of the writer and waits for its end. Never on an event loop.
  package func write<Value>(_ body: (Database) throws -> Value) throws(DataFileError) -> Value {
    try run { try $0.write(body) }
  }

  /// The same, and waits until the data is fsynced, so that even a power failure loses nothing of it.
  package func writeDurably(_ body: (Database) throws -> Void) throws(DataFileError) {
    try run { pool in
      try pool.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA synchronous = FULL")
        defer { try? db.execute(sql: "PRAGMA synchronous = NORMAL") }
        try db.inTransaction {
          try body(db)
          return .commit
        }
      }
    }
  }

  /// Runs `body` on a reader, which sees one state of the file, and waits for its end. Readers do not wait for the
  /// writer. Never on an event loop.
  package func read<Value>(_ body: (Database) throws -> Value) throws(DataFileError) -> Value {
    try run { try $0.read(body) }
  }

  /// Gives the writer a transaction and returns at once, so a loop may call it. Calls `completion` on the writer's
  /// queue. Transactions run in the order of their submission.
  /// - Returns: false, without effect, if `submissionLimit` transactions wait already.
  package func submit(
    _ body: @escaping @Sendable (Database) throws -> Void,
    completion: @escaping @Sendable (Result<Void, DataFileError>) -> Void
  ) -> Bool {
    let pool: DatabasePool? = state.withLock { state in
      guard state.submissions < Self.submissionLimit else { return nil }
      state.submissions += 1
      return state.pool
    }
    guard let pool else { return false }
    pool.asyncWrite(body) { [self] _, result in
      state.withLock { $0.submissions -= 1 }
      switch result {
      case .success: completion(.success(()))
      case .failure(let error): completion(.failure(Self.failure(error, path)))
      }
    }
    return true
  }

  /// Writes everything into the file itself, closes it and leaves it to the next gateway. Nothing may be read or
  /// written afterwards.
  package func close() {
    let pool = state.withLock { $0.pool }
    _ = try? pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    try? pool.close()
    lock?.release()
  }

  private func run<Value>(_ body: (DatabasePool) throws -> Value) throws(DataFileError) -> Value {
    let pool = state.withLock { $0.pool }
    do {
      return try body(pool)
    } catch {
      throw Self.failure(error, path)
    }
  }

  // MARK: Damage

  /// Replaces a damaged file with an empty one, for all users of this object. The main writer calls it after a
  /// transaction has thrown `.damaged`; transactions that run at the same time fail. Returns the new name of the
  /// damaged file.
  @discardableResult
  package func replaceDamaged(stamp: String) throws(DataFileError) -> String {
    do {
      return try state.withLock { state in
        try? state.pool.close()
        let name = try Self.rename(path, stamp)
        state.pool = try Self.open(path, parts)
        state.setAside.append(name)
        return name
      }
    } catch {
      throw Self.failure(error, path)
    }
  }

  /// Reads the whole file and returns its problems in SQLite's words; empty if there are none. O(file).
  package func check() throws(DataFileError) -> [String] {
    do throws(DataFileError) {
      return try read { db in
        try String.fetchAll(db, sql: "PRAGMA integrity_check(100)").filter { $0 != "ok" }
      }
    } catch .damaged(_, let reason) {
      return [reason]
    }
  }

  private static func rename(_ path: String, _ stamp: String) throws(DataFileError) -> String {
    let files = FileManager.default
    var name = "\(path).damaged-\(stamp)"
    var number = 1
    while files.fileExists(atPath: name) {
      number += 1
      name = "\(path).damaged-\(stamp)-\(number)"
    }
    do {
      try files.moveItem(atPath: path, toPath: name)
      // The log belongs to the damaged file; SQLite would apply it to the new one.
      for suffix in ["-wal", "-shm"] where files.fileExists(atPath: path + suffix) {
        try files.moveItem(atPath: path + suffix, toPath: name + suffix)
      }
    } catch {
      throw .inaccessible(path: path, reason: words(error))
    }
    return name
  }

  // MARK: Opening

  private static func open(_ path: String, _ parts: [SchemaPart]) throws(DataFileError) -> DatabasePool {
    do {
      let pool = try DatabasePool(path: path, configuration: configuration())
      let migrations = migrator(parts)
      let isNew = try pool.read { try isEmpty($0, migrations, path) }
      if isNew {
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA application_id = \(applicationID)") }
      }
      try migrations.migrate(pool)
      return pool
    } catch {
      throw failure(error, path)
    }
  }

  private static func migrator(_ parts: [SchemaPart]) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    for part in parts {
      for migration in part.migrations {
        migrator.registerMigration("\(part.name): \(migration.name)", migrate: migration.body)
      }
    }
    return migrator
  }

  /// Whether a file is still empty. Throws `.foreign` and `.newer`.
  private static func isEmpty(_ db: Database, _ migrations: DatabaseMigrator, _ path: String) throws -> Bool {
    let id = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
    let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
    guard id == applicationID || (id == 0 && tables == 0) else { throw DataFileError.foreign(path: path) }
    let unknown = try migrations.appliedIdentifiers(db).subtracting(migrations.migrations)
    guard unknown.isEmpty else { throw DataFileError.newer(path: path, unknown: unknown.sorted()) }
    return id == 0
  }

  /// Checks whether this version can use the file, which another process may have open. Changes nothing. A missing file
  /// is fine: it can be created.
  package static func check(path: String, parts: [SchemaPart]) throws(DataFileError) {
    guard FileManager.default.fileExists(atPath: path) else { return }
    do {
      let file = try DatabaseQueue(path: path, configuration: readOnly())
      _ = try file.read { try isEmpty($0, migrator(parts), path) }
      try file.close()
    } catch {
      throw failure(error, path)
    }
  }

  private static func readOnly() -> Configuration {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(5)
    return configuration
  }

  private static func configuration() -> Configuration {
    var configuration = Configuration()
    configuration.label = "tidegate.history"
    configuration.maximumReaderCount = 4
    configuration.qos = .default
    // Another process may hold the writer's lock: an import, or the gateway that this one takes over from.
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { db in
      // With a write-ahead log, data survives the death of the process. Only a power failure can lose the newest
      // transactions; it never tears one.
      try db.execute(sql: "PRAGMA synchronous = NORMAL")
      // 16 MiB: the pages that the newest minute of 2,000 instruments changes.
      try db.execute(sql: "PRAGMA cache_size = -16384")
      try db.execute(sql: "PRAGMA journal_size_limit = 67108864")
    }
    return configuration
  }

  /// Converts an error of SQLite, the system or a body.
  static func failure(_ error: any Error, _ path: String) -> DataFileError {
    switch error {
    case let error as DataFileError: return error
    case let error as DatabaseError:
      let reason = error.message ?? error.resultCode.description
      switch error.resultCode {
      case .SQLITE_CORRUPT, .SQLITE_NOTADB: return .damaged(path: path, reason: reason)
      case .SQLITE_FULL: return .full(path: path)
      case .SQLITE_BUSY, .SQLITE_LOCKED: return .busy(path: path)
      case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_IOERR, .SQLITE_AUTH:
        return .inaccessible(path: path, reason: reason)
      default: return .failed(path: path, reason: reason)
      }
    default: return .failed(path: path, reason: words(error))
    }
  }

  private static func words(_ error: any Error) -> String {
    // Foundation's own words begin with "The operation could not be completed".
    guard let cause = (error as? CocoaError)?.underlying as? POSIXError ?? error as? POSIXError else {
      return error.localizedDescription
    }
    return String(cString: strerror(cause.code.rawValue))
  }
}
