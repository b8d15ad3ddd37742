import GRDB

extension SchemaPart {
  /// Instruments, their candles and gaps, and the newest trades of each.
  ///
  /// Each resolution has one table of candles, ordered by instrument and time, so that a chart is one run of pages.
  /// `start` counts intervals since 1970. Prices and sizes are integers at the scales that the row names (256 × price
  /// scale + size scale), so that a candle outlives a change of its instrument's scales. A sum that does not fit in 64
  /// bits is a blob of 16 bytes, most significant first.
  static let candles = SchemaPart(
    "candles",
    [
      Migration("tables") { db in
        try db.execute(
          sql: """
            CREATE TABLE instrument (
              id INTEGER PRIMARY KEY, symbol TEXT NOT NULL UNIQUE, venue TEXT NOT NULL, venue_symbol TEXT NOT NULL,
              base TEXT NOT NULL, quote TEXT NOT NULL, family TEXT NOT NULL, expiry TEXT,
              contract_mantissa INTEGER NOT NULL, contract_scale INTEGER NOT NULL,
              price_scale INTEGER NOT NULL, size_scale INTEGER NOT NULL,
              first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL
            ) STRICT
            """)
        for resolution in Resolution.allCases {
          try db.execute(
            sql: """
              CREATE TABLE \(resolution.table) (
                instrument INTEGER NOT NULL, start INTEGER NOT NULL,
                open INTEGER NOT NULL, high INTEGER NOT NULL, low INTEGER NOT NULL, close INTEGER NOT NULL,
                volume ANY NOT NULL, quote_volume ANY, trades INTEGER, scales INTEGER NOT NULL,
                quality INTEGER NOT NULL, revision INTEGER NOT NULL,
                PRIMARY KEY (instrument, start)
              ) STRICT, WITHOUT ROWID
              """)
        }
        try db.execute(
          sql: """
            CREATE TABLE coverage (
              instrument INTEGER NOT NULL, resolution INTEGER NOT NULL, start INTEGER NOT NULL,
              PRIMARY KEY (instrument, resolution)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE gap (
              instrument INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, filled INTEGER NOT NULL,
              PRIMARY KEY (instrument, start)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE rollup (resolution INTEGER PRIMARY KEY, until INTEGER NOT NULL) STRICT;
            CREATE TABLE run (
              id INTEGER PRIMARY KEY, started INTEGER NOT NULL, alive INTEGER NOT NULL, ended INTEGER
            ) STRICT;
            CREATE TABLE latest (
              instrument INTEGER PRIMARY KEY, time INTEGER NOT NULL, scales INTEGER NOT NULL,
              trade_id TEXT, trade_price INTEGER, trade_size INTEGER, trade_is_buy INTEGER, trade_time INTEGER,
              start INTEGER, open INTEGER, high INTEGER, low INTEGER, close INTEGER, volume ANY, quote_volume ANY,
              trades INTEGER
            ) STRICT;
            """)
      },
      Migration("last trades") { db in try db.execute(sql: "ALTER TABLE latest ADD COLUMN last_trades BLOB") },
      // They replace the columns from `start` to `trades`, which had room for one minute without the time of its close.
      Migration("open minutes") { db in try db.execute(sql: "ALTER TABLE latest ADD COLUMN open_minutes BLOB") },
    ])

  /// The streams that a run passes to the next one; empty while a gateway runs. Whole WebSocket frames are blobs.
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
      },
      // Of a stream of binary records.
      Migration("binary") { db in
        for column in ["base", "price_digits", "size_digits"] {
          try db.execute(sql: "ALTER TABLE stream ADD COLUMN \(column) INTEGER")
        }
      },
    ])

  /// The names of assets at each venue, and the time of each list.
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
