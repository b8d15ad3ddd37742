import GRDB

extension SchemaPart {
  /// What venues call assets, and when each was asked.
  package static let names = SchemaPart(
    "names",
    [
      Migration("tables") { db in
        try db.execute(
          sql: """
            CREATE TABLE asset_list (source TEXT PRIMARY KEY, time INTEGER NOT NULL) STRICT, WITHOUT ROWID;
            CREATE TABLE asset_name (
              source TEXT NOT NULL, code TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (source, code)
            ) STRICT, WITHOUT ROWID;
            """)
      }
    ])
}
