import GRDB

extension SchemaPart {
  /// Owners, their rules with progress, and firings.
  ///
  /// A firing's key is its rule and its number, so that repeated writes store it once. `id` is `AlertID.rawValue`, the
  /// same bits as a signed integer.
  package static let alerts = SchemaPart(
    "alerts",
    [
      Migration("tables") { db in
        try db.execute(
          sql: """
            CREATE TABLE alert_owner (id INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE) STRICT;
            CREATE TABLE alert_rule (
              id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, name TEXT NOT NULL, rule TEXT NOT NULL,
              progress TEXT NOT NULL, revision INTEGER NOT NULL, created INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE alert_firing (
              alert INTEGER NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL, symbol TEXT,
              value INTEGER, value_scale INTEGER, late_by INTEGER NOT NULL, missed INTEGER NOT NULL,
              PRIMARY KEY (alert, number)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE alert_source (symbol TEXT PRIMARY KEY, live_until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
            CREATE TABLE alert_generation (next INTEGER NOT NULL) STRICT;
            INSERT INTO alert_generation VALUES (1);
            """)
      },
      Migration("requests") { db in
        try db.execute(
          sql: """
            CREATE TABLE alert_request (
              owner INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, alert INTEGER NOT NULL,
              time INTEGER NOT NULL, PRIMARY KEY (owner, key)
            ) STRICT, WITHOUT ROWID;
            """)
      },
      Migration("webhooks") { db in
        try db.execute(
          sql: """
            CREATE TABLE alert_webhook (
              id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, url TEXT NOT NULL, secret TEXT NOT NULL,
              created INTEGER NOT NULL
            ) STRICT;
            CREATE TABLE alert_delivery (
              id INTEGER PRIMARY KEY, webhook INTEGER NOT NULL, alert INTEGER NOT NULL, number INTEGER NOT NULL,
              body TEXT NOT NULL, created INTEGER NOT NULL, attempts INTEGER NOT NULL, next INTEGER NOT NULL,
              reason TEXT, dead INTEGER
            ) STRICT;
            """)
      },
      // Delivered rows are deleted: without this table the next run would use their numbers again.
      Migration("webhook-numbers") { db in
        try db.execute(
          sql: """
            CREATE TABLE alert_webhook_number (webhook INTEGER NOT NULL, delivery INTEGER NOT NULL) STRICT;
            INSERT INTO alert_webhook_number SELECT
              1 + coalesce((SELECT max(id) FROM alert_webhook), 0),
              1 + coalesce((SELECT max(id) FROM alert_delivery), 0);
            """)
      },
    ])
}
