import GRDB

extension SchemaPart {
  /// Portfolios with their transactions, and the keys of requests that made one of either. Decimal numbers are text.
  package static let portfolios = SchemaPart(
    "portfolios",
    [
      Migration("tables") { db in
        try db.execute(
          sql: """
            CREATE TABLE portfolio (
              id INTEGER PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, currency TEXT NOT NULL,
              method TEXT NOT NULL, positions TEXT NOT NULL, next_transaction INTEGER NOT NULL,
              revision INTEGER NOT NULL, created INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE portfolio_transaction (
              portfolio INTEGER NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, asset TEXT NOT NULL,
              quantity TEXT NOT NULL, price TEXT, fee TEXT, time INTEGER NOT NULL, PRIMARY KEY (portfolio, number)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE portfolio_request (
              owner TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, portfolio INTEGER NOT NULL,
              number INTEGER, time INTEGER NOT NULL, PRIMARY KEY (owner, key)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE portfolio_next (next INTEGER NOT NULL) STRICT;
            INSERT INTO portfolio_next VALUES (1);
            """)
      }
    ])

  /// Published documents, the newest of each topic, and the epoch that their numbers belong to.
  package static let topics = SchemaPart(
    "topics",
    [
      Migration("tables") { db in
        try db.execute(
          sql: """
            CREATE TABLE topic_document (
              topic TEXT NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL, text TEXT NOT NULL,
              PRIMARY KEY (topic, number)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE topic_epoch (epoch TEXT NOT NULL) STRICT;
            """)
      }
    ])
}
