import GRDB

/// The tables of one subsystem in the data file, as the migrations that create them.
///
///     extension SchemaPart {
///       static let alerts = SchemaPart("alerts", [
///         Migration("rules") { db in try db.execute(sql: "CREATE TABLE alert_rule (…)") }
///       ])
///     }
///
/// Never change or remove a released migration; add new ones at the end. Every version opens the file with all parts
/// that it knows, even if it does not use them. An unknown migration in the file means that a newer version has written
/// the file.
package struct SchemaPart: Sendable {
  /// One step from an older form of the tables to a newer one. It runs once per file, in a transaction of its own.
  package struct Migration: Sendable {
    package let name: String
    let body: @Sendable (Database) throws -> Void

    package init(_ name: String, _ body: @escaping @Sendable (Database) throws -> Void) {
      self.name = name
      self.body = body
    }
  }

  package let name: String
  package let migrations: [Migration]

  package init(_ name: String, _ migrations: [Migration]) {
    self.name = name
    self.migrations = migrations
  }

  /// All parts of this version, in the order in which they migrate.
  package static let all: [SchemaPart] = [.candles, .alerts, .portfolios, .topics, .streams, .names]
}
