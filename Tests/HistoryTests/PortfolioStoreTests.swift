import Bytes
import Foundation
import GRDB
import History
import MarketData
import Portfolio
import Testing

@Suite("The store of portfolios")
struct PortfolioStoreTests {
  private let folder = NSTemporaryDirectory() + "tidegate-portfolio-store-" + UUID().uuidString

  private func store() throws -> PortfolioStore {
    PortfolioStore(file: try DataFile(path: folder + "/history.sqlite", parts: SchemaPart.all, stamp: "test"))
  }

  private let portfolio = StoredPortfolio(
    id: 4, owner: "key:a", name: "Sävings \"1\"", currency: "EUR", method: .fifo,
    positions: [
      .init(
        symbol: "a:B-C", side: .short, size: Decimal64(mantissa: 1, scale: 18),
        leverage: Decimal64(mantissa: 25, scale: 1), entry: Decimal64(mantissa: .max, scale: 2))
    ], nextNumber: 9, revision: 3, created: Timestamp(microseconds: 5))

  @Test("what is written is read again, exactly, and a number that was given is not given again")
  func roundTrip() throws {
    let first = try store()
    var batch = PortfolioBatch(now: Timestamp(microseconds: 10))
    batch.heads = [portfolio]
    var whole = portfolio
    for (number, time) in [(1, 30), (2, 10), (3, 20)] as [(Int64, Int64)] {
      let entry = StoredPortfolio.Entry(
        number: number,
        transaction: PortfolioTransaction(
          .buy, "BTC", quantity: Decimal64(mantissa: 1, scale: 18), price: Decimal64(mantissa: .max, scale: 0),
          fee: number == 1 ? nil : Decimal64(mantissa: 0, scale: 0), time: Timestamp(microseconds: time)))
      batch.entries.append((portfolio.id, entry))
      whole.insert(entry)
    }
    #expect(whole.entries.map(\.number) == [2, 3, 1])
    let key = StoredPortfolioKey(
      owner: "key:a", key: "k", digest: [1, 2], portfolio: 4, number: nil, time: Timestamp(microseconds: 10))
    batch.keys = [key]
    try first.write(batch)
    first.file.close()
    let second = try store()
    var contents = try second.load()
    #expect(contents.portfolios == [whole] && contents.keys == [key] && contents.nextID == 5)
    var removal = PortfolioBatch(now: Timestamp(microseconds: 11))
    removal.removed = [4]
    try second.write(removal)
    contents = try second.load()
    #expect(contents.portfolios.isEmpty && contents.nextID == 5)
    #expect(try second.file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM portfolio_transaction") } == 0)
    try? FileManager.default.removeItem(atPath: folder)
  }

  @Test("one that cannot be read is left alone and named, and the others are there")
  func unreadable() throws {
    let store = try store()
    var batch = PortfolioBatch(now: Timestamp(microseconds: 10))
    batch.heads = [portfolio]
    var other = portfolio
    other.id = 5
    batch.heads.append(other)
    try store.write(batch)
    try store.file.write { try $0.execute(sql: "UPDATE portfolio SET method = 'lifo' WHERE id = 4") }
    let contents = try store.load()
    #expect(contents.portfolios.map(\.id) == [5] && contents.unreadable.map(\.id) == [4])
    try? FileManager.default.removeItem(atPath: folder)
  }
}
