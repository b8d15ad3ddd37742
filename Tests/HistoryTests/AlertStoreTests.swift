import Alerts
import Bytes
import GRDB
import History
import MarketData
import Testing

@Suite("The store of alerts")
struct AlertStoreTests {
  private static let now = Timestamp(microseconds: 1_795_348_800_000_000)
  private static let rule = AlertRule(
    .threshold(AlertThreshold("kraken:BTC-USD", .price, .above, Decimal64(mantissa: 70_000, scale: 0))))

  private func alert(_ number: UInt64, generation: UInt64 = 1, firings: UInt32 = 0) -> StoredAlert {
    var progress = AlertProgress()
    progress.firings = firings
    progress.phases = [1]
    progress.quietUntil = Self.now
    progress.snoozedUntil = Self.now + 1
    progress.lastDay = 20_779
    progress.nextRing = 7
    progress.countdown = 9
    return StoredAlert(
      id: AlertID(rawValue: generation << 32 | number), owner: AlertOwner(rawValue: 1), name: "\"\(number)\"",
      rule: Self.rule, progress: progress, created: Self.now)
  }

  private func firing(_ alert: StoredAlert, _ number: UInt32) -> StoredFiring {
    StoredFiring(
      AlertFiring(
        alert: alert.id, owner: alert.owner, number: number, time: Self.now, value: Decimal64(mantissa: 7, scale: 1),
        lateBy: 5, missed: 2), symbol: "kraken:BTC-USD")
  }

  private func store(_ folder: TemporaryFolder) throws -> AlertStore {
    AlertStore(file: try DataFile(path: folder.file, parts: SchemaPart.all, stamp: "test"))
  }

  @Test("rules, progress, firings, owners and when markets were live come back as they were")
  func roundTrip() throws {
    let folder = try TemporaryFolder()
    let store = try store(folder)
    let owner = try store.owner(of: "key alice")
    #expect(try store.owner(of: "key alice") == owner)
    #expect(try store.owner(of: "key bob") != owner)
    var batch = AlertBatch(now: Self.now)
    batch.rules = [alert(0), alert(1, generation: 9, firings: 1)]
    batch.firings = [firing(batch.rules[1], 1)]
    batch.live = ["kraken:BTC-USD"]
    try store.write(batch)
    let contents = try store.load()
    #expect(contents.alerts == batch.rules)
    #expect(contents.owners.map(\.subject) == ["key alice", "key bob"])
    #expect(contents.nextGeneration == 10)
    #expect(contents.liveUntil == ["kraken:BTC-USD": Self.now])
    #expect(try store.firings(of: batch.rules[1].id) == batch.firings)
  }

  @Test("a batch with a firing that is there already changes nothing: neither it nor the progress beside it")
  func exactlyOnce() throws {
    let folder = try TemporaryFolder()
    let store = try store(folder)
    var batch = AlertBatch(now: Self.now)
    batch.rules = [alert(0, firings: 1)]
    batch.firings = [firing(batch.rules[0], 1)]
    try store.write(batch)
    var again = AlertBatch(now: Self.now)
    again.progress = [(batch.rules[0].id, AlertProgress())]
    again.firings = batch.firings
    #expect(throws: DataFileError.self) { try store.write(again) }
    #expect(try store.load().alerts == batch.rules)
  }

  @Test("the newest firings of a rule are kept, and none of a rule that is gone; its number is not given again")
  func bounds() throws {
    let folder = try TemporaryFolder()
    let store = try store(folder)
    var batch = AlertBatch(now: Self.now)
    batch.rules = [alert(3, generation: 44)]
    batch.firings = (1...250).map { firing(batch.rules[0], $0) }
    try store.write(batch)
    let kept = try store.firings(of: batch.rules[0].id, limit: 1_000)
    #expect(kept.map(\.number) == (151...250).reversed())
    var removal = AlertBatch(now: Self.now)
    removal.removed = [batch.rules[0].id]
    try store.write(removal)
    #expect(try store.firings(of: batch.rules[0].id).isEmpty)
    #expect(try store.load().alerts.isEmpty)
    #expect(try store.load().nextGeneration == 45)
  }

  @Test("a rule that this version cannot read is named and left where it is")
  func unreadable() throws {
    let folder = try TemporaryFolder()
    let store = try store(folder)
    var batch = AlertBatch(now: Self.now)
    batch.rules = [alert(0), alert(1)]
    try store.write(batch)
    try store.file.write {
      try $0.execute(sql: "UPDATE alert_rule SET rule = '{\"condition\":{\"type\":\"rain\"}}' WHERE name = '\"1\"'")
    }
    let contents = try store.load()
    #expect(contents.alerts == [batch.rules[0]])
    #expect(contents.unreadable.map(\.id) == [batch.rules[1].id])
    #expect(try store.file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM alert_rule") } == 2)
  }

  @Test("what is of an owner who cannot be is left out, and never becomes another's")
  func impossibleOwners() throws {
    let folder = try TemporaryFolder()
    let store = try store(folder)
    var batch = AlertBatch(now: Self.now)
    batch.rules = (0..<5).map { alert($0) }
    batch.keys = (0..<5).map {
      StoredRequestKey(
        owner: AlertOwner(rawValue: 1), key: "\($0)", digest: [1], alert: batch.rules[$0].id, time: Self.now)
    }
    batch.webhooks.made = (1...5).map {
      StoredWebhook(id: $0, owner: AlertOwner(rawValue: 1), url: "https://\($0)", secret: "s", created: Self.now)
    }
    try store.write(batch)
    let owners: [Int64] = [.min, 0, 7, 1 << 32, .max]
    try store.file.write { db in
      for (index, owner) in owners.enumerated() {
        let id = Int64(bitPattern: batch.rules[index].id.rawValue)
        try db.execute(sql: "INSERT INTO alert_owner VALUES (?, ?)", arguments: [owner, "key \(index)"])
        try db.execute(sql: "UPDATE alert_rule SET owner = ? WHERE id = ?", arguments: [owner, id])
        try db.execute(sql: "UPDATE alert_request SET owner = ? WHERE key = ?", arguments: [owner, "\(index)"])
        try db.execute(sql: "UPDATE alert_webhook SET owner = ? WHERE id = ?", arguments: [owner, index + 1])
      }
    }
    let contents = try store.load()
    #expect(contents.owners.map(\.subject) == ["key 2"])
    #expect(contents.alerts.map(\.id) == [batch.rules[2].id] && contents.unreadable.count == 4)
    #expect(contents.keys.map(\.key) == ["2"] && contents.webhooks.map(\.url) == ["https://3"])
    // The subject of such a row gets another number, which stays.
    batch = AlertBatch(now: Self.now)
    batch.owners = [(AlertOwner(rawValue: 8), "key 4")]
    try store.write(batch)
    #expect(try store.load().owners.map(\.owner.rawValue) == [7, 8])
  }

  @Test("a batch that is submitted is in the file when its completion is called")
  func submitted() async throws {
    let folder = try TemporaryFolder()
    let store = try store(folder)
    var batch = AlertBatch(now: Self.now)
    batch.rules = [alert(0)]
    let written = batch
    try await withCheckedThrowingContinuation { continuation in
      #expect(store.submit(written) { continuation.resume(with: $0) })
    }
    #expect(try store.load().alerts == batch.rules)
  }
}
