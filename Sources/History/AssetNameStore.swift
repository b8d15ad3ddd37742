import GRDB
import MarketData

/// The names of assets from one source, and their time.
package struct StoredNames: Sendable, Equatable {
  package var time: Timestamp
  /// By code.
  package var names: [String: String]

  package init(time: Timestamp, names: [String: String]) {
    self.time = time
    self.names = names
  }
}

/// Names of assets in the data file, so that a gateway knows them from its first moment. `load` waits for the disk.
package struct AssetNameStore: Sendable {
  /// The most sources that are read: more than there are venues, and few enough for memory.
  private static let sourceLimit = 64

  package let file: DataFile

  package init(file: DataFile) { self.file = file }

  /// All stored names, by source.
  package func load() throws(DataFileError) -> [String: StoredNames] {
    try file.read { db in
      var lists: [String: StoredNames] = [:]
      let sources = try Row.fetchAll(
        db, sql: "SELECT source, time FROM asset_list ORDER BY source LIMIT ?", arguments: [Self.sourceLimit])
      for source in sources {
        let key: String = source[0]
        var list = StoredNames(time: StoredNumber.time(source[1]), names: [:])
        let rows = try Row.fetchCursor(
          db, sql: "SELECT code, name FROM asset_name WHERE source = ? LIMIT ?",
          arguments: [key, AssetNames.listLimit])
        while let row = try rows.next() { list.names[row[0]] = row[1] }
        lists[key] = list
      }
      return lists
    }
  }

  /// Replaces the names of a source, without waiting.
  /// - Returns: false, without effect, if too many transactions wait already.
  package func submit(
    _ list: StoredNames, of source: String, completion: @escaping @Sendable (Result<Void, DataFileError>) -> Void
  ) -> Bool {
    file.submit(
      { db in
        try db.execute(
          sql: "INSERT OR REPLACE INTO asset_list (source, time) VALUES (?, ?)",
          arguments: [source, list.time.rawValue])
        try db.execute(sql: "DELETE FROM asset_name WHERE source = ?", arguments: [source])
        let insert = try db.cachedStatement(sql: "INSERT INTO asset_name (source, code, name) VALUES (?, ?, ?)")
        for (code, name) in list.names.sorted(by: { $0.key < $1.key }) {
          try insert.execute(arguments: [source, code, name])
        }
      }, completion: completion)
  }
}
