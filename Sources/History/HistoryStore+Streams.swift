import Bytes
import Foundation
import GRDB
import MarketData

/// The numbering of streams from one run to the next.
///
/// A record is in the file only between the end of a run and the start of the next one, which deletes it before it
/// answers the first client. So a killed run leaves none, and no two runs continue from the same numbers.
extension HistoryStore {
  /// Stores the record of this run and replaces any other.
  package func keepStreams(_ streams: StoredStreams, now: Timestamp) throws(DataFileError) {
    guard let run else { return }
    try file.write { db in
      try StreamTables.removeAll(db)
      try StreamTables.put(streams, run: run, now: now, db)
    }
  }

  /// Reads and deletes the record of the previous run. Nil if there is none: that run was killed, ended too long ago,
  /// or another run has started since. The record is deleted from the disk itself before this returns, so even a power
  /// failure does not bring it back.
  package func takeStreams(now: Timestamp) throws(DataFileError) -> StoredStreams? {
    guard let run else { return nil }
    let found = try file.read { db in try StreamTables.record(before: run, now: now, db) }
    // If a power failure lost this transaction, two runs would continue from the record.
    try file.writeDurably { db in try StreamTables.removeAll(db) }
    return found
  }
}

private enum StreamTables {
  static func removeAll(_ db: Database) throws {
    for table in ["stream_run", "stream", "stream_message", "stream_session"] {
      try db.execute(sql: "DELETE FROM \(table)")
    }
  }

  static func put(_ streams: StoredStreams, run: Int64, now: Timestamp, _ db: Database) throws {
    try db.execute(
      sql: "INSERT INTO stream_run (run, epoch, highest, loops, ended) VALUES (?, ?, ?, ?, ?)",
      arguments: [run, streams.epoch, Int64(clamping: streams.highest), streams.loops, now.rawValue])
    for stream in streams.streams {
      try db.cachedStatement(
        sql: """
          INSERT INTO stream (number, symbol, interval, seq, last_id, last_time, base, price_digits, size_digits)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
          """
      ).execute(arguments: [
        Int64(stream.number), stream.symbol, Int64(stream.interval), Int64(clamping: stream.seq), stream.last?.id,
        stream.last?.time.rawValue, stream.scale?.base, stream.scale.map { Int64($0.priceDigits) },
        stream.scale.map { Int64($0.sizeDigits) },
      ])
      for message in stream.messages {
        try db.cachedStatement(
          sql: "INSERT INTO stream_message (stream, seq, prev, events, time, bytes) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
          Int64(stream.number), Int64(clamping: message.seq), Int64(clamping: message.prev), Int64(message.events),
          message.time.rawValue, Data(message.bytes.unsafeBytes),
        ])
      }
    }
    for session in streams.sessions {
      try db.cachedStatement(
        sql: "INSERT OR REPLACE INTO stream_session (token, subject, paused, expires) VALUES (?, ?, ?, ?)"
      ).execute(arguments: [session.token, session.subject, session.isPaused ? 1 : 0, session.expires.rawValue])
    }
  }

  static func record(before run: Int64, now: Timestamp, _ db: Database) throws -> StoredStreams? {
    guard let row = try Row.fetchOne(db, sql: "SELECT run, epoch, highest, loops, ended FROM stream_run"),
      let before = try Int64.fetchOne(db, sql: "SELECT max(id) FROM run WHERE id < ?", arguments: [run]),
      before == row[0] as Int64
    else { return nil }
    let age = now - StoredNumber.time(row[4])
    guard age >= 0, age <= StoredStreams.patience else { return nil }
    var streams = StoredStreams(
      epoch: row[1], highest: UInt64(StoredNumber.count(row[2])), loops: row[3], streams: [], sessions: [])
    let messages = try db.makeStatement(
      sql: "SELECT prev, seq, events, time, bytes FROM stream_message WHERE stream = ? ORDER BY seq")
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT number, symbol, interval, seq, last_id, last_time, base, price_digits, size_digits
        FROM stream ORDER BY number
        """)
    for row in rows {
      let last = (row[4] as String?).map { id in
        StoredStreams.Last(id: id, time: StoredNumber.time(row[5] as Int64? ?? 0))
      }
      let rows = try Row.fetchAll(messages, arguments: [row[0] as Int64])
      let scale = (row[6] as Int64?).map { base in
        StoredStreams.Scale(
          base: base, priceDigits: UInt8(clamping: row[7] as Int64? ?? 0),
          sizeDigits: UInt8(clamping: row[8] as Int64? ?? 0))
      }
      streams.streams.append(
        .init(
          number: UInt32(clamping: row[0] as Int64), symbol: row[1], interval: UInt16(clamping: row[2] as Int64),
          seq: UInt64(StoredNumber.count(row[3])), last: last,
          messages: rows.map { message in
            .init(
              prev: UInt64(StoredNumber.count(message[0])), seq: UInt64(StoredNumber.count(message[1])),
              events: UInt32(clamping: message[2] as Int64), time: StoredNumber.time(message[3]),
              bytes: SharedBytes(Array(message[4] as Data)))
          }, scale: scale))
    }
    streams.sessions = try Row.fetchAll(
      db, sql: "SELECT token, subject, paused, expires FROM stream_session ORDER BY expires, token"
    ).map { .init(token: $0[0], subject: $0[1], isPaused: $0[2], expires: StoredNumber.time($0[3])) }
    return streams
  }
}
