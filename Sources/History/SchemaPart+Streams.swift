import GRDB

extension SchemaPart {
  /// What a run leaves to the next of its streams; empty while a gateway runs. Whole WebSocket frames are blobs.
  static let streams = SchemaPart(
    "streams",
    [
      Migration("tables") { db in
        try db.execute(
          sql: """
            CREATE TABLE stream_run (
              run INTEGER NOT NULL, epoch TEXT NOT NULL, highest INTEGER NOT NULL, loops INTEGER NOT NULL,
              ended INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE stream (
              number INTEGER PRIMARY KEY, symbol TEXT NOT NULL, interval INTEGER NOT NULL, seq INTEGER NOT NULL,
              last_id TEXT, last_time INTEGER
            ) STRICT;
            CREATE TABLE stream_message (
              stream INTEGER NOT NULL, seq INTEGER NOT NULL, prev INTEGER NOT NULL, events INTEGER NOT NULL,
              time INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (stream, seq)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE stream_session (
              token TEXT PRIMARY KEY, subject TEXT, paused INTEGER NOT NULL, expires INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
            """)
      }
    ])
}
