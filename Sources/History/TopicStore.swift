import Bytes
import GRDB
import MarketData

/// A document as it is stored.
package struct StoredDocument: Sendable, Equatable {
  package var topic: String
  package var number: UInt64
  package var time: Timestamp
  package var text: SharedBytes

  package init(topic: String, number: UInt64, time: Timestamp, text: SharedBytes) {
    self.topic = topic
    self.number = number
    self.time = time
    self.text = text
  }

  package static func == (a: StoredDocument, b: StoredDocument) -> Bool {
    a.topic == b.topic && a.number == b.number && a.time == b.time
      && a.text.unsafeBytes.elementsEqual(b.text.unsafeBytes)
  }
}

/// Published documents in the data file. `load` waits for the disk.
package struct TopicStore: Sendable {
  package let file: DataFile
  /// The most documents of a topic, and their most bytes; the newest document is always kept.
  package let kept: Int
  package let bytes: Int

  package init(file: DataFile, kept: Int, bytes: Int) {
    self.file = file
    self.kept = kept
    self.bytes = bytes
  }

  /// The epoch of the numbers, and all documents, by topic and number. Leaves out documents without a
  /// number of their own: one below 1, and of several above the bound all but the first.
  /// - Parameter fresh: the epoch of a file that has none yet.
  package func load(epoch fresh: String) throws(DataFileError) -> (epoch: String, documents: [StoredDocument]) {
    try file.write { db in
      let epoch = try String.fetchOne(db, sql: "SELECT epoch FROM topic_epoch")
      if epoch == nil { try db.execute(sql: "INSERT INTO topic_epoch VALUES (?)", arguments: [fresh]) }
      var documents: [StoredDocument] = []
      let rows = try Row.fetchCursor(db, sql: "SELECT * FROM topic_document ORDER BY topic, number")
      while let row = try rows.next() {
        let document = StoredDocument(
          topic: row["topic"], number: UInt64(StoredNumber.count(row["number"])), time: StoredNumber.time(row["time"]),
          text: SharedBytes(Array((row["text"] as String).utf8)))
        let before = documents.last.flatMap { $0.topic == document.topic ? $0.number : nil } ?? 0
        if document.number > before { documents.append(document) }
      }
      return (epoch ?? fresh, documents)
    }
  }

  /// Writes documents without waiting, and deletes older ones of their topics. Calls `completion` on the writer's queue
  /// when they are in the file, or have failed. Batches are written in the order of their submission.
  /// - Parameter epoch: the epoch of their numbers, for a file that has none yet.
  /// - Returns: false, without effect, if too many batches wait already.
  package func submit(
    _ documents: [StoredDocument], epoch: String, completion: @escaping @Sendable (Result<Void, DataFileError>) -> Void
  ) -> Bool {
    file.submit({ try write(documents, epoch, $0) }, completion: completion)
  }

  private func write(_ documents: [StoredDocument], _ epoch: String, _ db: Database) throws {
    try db.cachedStatement(sql: "INSERT INTO topic_epoch SELECT ? WHERE NOT EXISTS (SELECT * FROM topic_epoch)")
      .execute(arguments: [epoch])
    for document in documents {
      try db.cachedStatement(
        sql: "INSERT OR REPLACE INTO topic_document (topic, number, time, text) VALUES (?, ?, ?, ?)"
      ).execute(arguments: [
        document.topic, Int64(clamping: document.number), document.time.rawValue,
        String(decoding: document.text.unsafeBytes, as: UTF8.self),
      ])
    }
    for topic in Set(documents.map(\.topic)).sorted() {
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT number, length(CAST(text AS BLOB)) AS size FROM topic_document WHERE topic = ? ORDER BY number DESC
          """, arguments: [topic])
      var sum = 0
      for (index, row) in rows.enumerated() {
        sum += row["size"] as Int
        guard index > 0, index >= kept || sum > bytes else { continue }
        try db.cachedStatement(sql: "DELETE FROM topic_document WHERE topic = ? AND number <= ?")
          .execute(arguments: [topic, row["number"] as Int64])
        break
      }
    }
  }
}
