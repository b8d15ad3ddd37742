import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("What the clients of an address may cost together")
struct AddressLedgerTests {
  private let start = Timestamp(microseconds: 1_790_000_000_000_000)
  private let address = ClientAddress(high: 0, low: 0xFFFF_7F00_0001)
  private let other = ClientAddress(high: 0, low: 0xFFFF_7F00_0002)

  @Test("work within the address's rate costs what it costs, and leaves no debt")
  func within() {
    var ledger = AddressLedger(clientsAtFullRate: 4, workPerClient: 1_000)
    let indices = (0..<8).map { _ in ledger.enter(address) }
    #expect(Set(indices).count == 1)
    for step in 0..<40 {
      let now = start + Int64(step) * 100_000
      #expect(!ledger.isInDebt(indices[0], at: now))
      #expect(ledger.charge(400, at: indices[0], now: now) <= 800)
    }
    #expect(ledger.admits(address, at: start + 4_000_000))
  }

  @Test("an address over its rate is in debt, its work costs more, it opens no streams; another one's is as before")
  func debt() {
    var ledger = AddressLedger(clientsAtFullRate: 4, workPerClient: 1_000)
    let indices = (0..<12).map { _ in ledger.enter(address) }
    let stranger = ledger.enter(other)
    #expect(ledger.charge(4_000, at: indices[0], now: start) == 4_000)
    #expect(!ledger.isInDebt(indices[1], at: start))
    #expect(ledger.charge(4_000, at: indices[0], now: start) == 4_000)
    #expect(ledger.isInDebt(indices[1], at: start) && ledger.admits(address, at: start))
    #expect(ledger.charge(4_001, at: indices[1], now: start) == 3 * 4_001)
    #expect(!ledger.admits(address, at: start))
    #expect(ledger.admits(address, at: start + 1_000))
    #expect(!ledger.isInDebt(stranger, at: start) && ledger.admits(other, at: start))
    // Three seconds' worth and a little are within the burst after two.
    #expect(ledger.isInDebt(indices[0], at: start + 2_000_000))
    #expect(!ledger.isInDebt(indices[0], at: start + 2_000_250))
    // No more than four times its price, and never more than ten seconds of it are remembered.
    let crowd = (0..<1_000).map { _ in ledger.enter(address) }
    #expect(ledger.charge(1_000_000, at: crowd[0], now: start) == 4_000_000)
    #expect(ledger.isInDebt(indices[0], at: start + 8_999_999))
    #expect(!ledger.isInDebt(indices[0], at: start + 9_000_000))
  }

  @Test("other limits apply at once, to a debt as well")
  func otherLimits() {
    var ledger = AddressLedger(clientsAtFullRate: 4, workPerClient: 1_000)
    let index = ledger.enter(address)
    _ = ledger.charge(16_000, at: index, now: start)
    #expect(!ledger.admits(address, at: start))
    ledger.apply(clientsAtFullRate: 8, workPerClient: 2_000)
    #expect(!ledger.admits(address, at: start) && ledger.admits(address, at: start + Microseconds.second))
    _ = ledger.charge(16_000, at: index, now: start + Microseconds.second)
    #expect(ledger.isInDebt(index, at: start + 4 * Microseconds.second - 1))
    #expect(!ledger.isInDebt(index, at: start + 4 * Microseconds.second))
  }

  @Test("an address keeps its debt when its clients leave, and is forgotten when it is paid")
  func leaving() {
    var ledger = AddressLedger(clientsAtFullRate: 1, workPerClient: 1_000)
    _ = ledger.charge(4_000, at: ledger.enter(address), now: start)
    ledger.leave(0)
    ledger.expire(at: start + 3_999_999)
    #expect(ledger.count == 1 && !ledger.admits(address, at: start))
    // It comes back and goes again before that: one place all along.
    #expect(ledger.enter(address) == 0)
    ledger.leave(0)
    ledger.expire(at: start + 4_000_000)
    #expect(ledger.count == 0)
    #expect(ledger.enter(other) == 0)
    ledger.expire(at: start + 9_000_000)
    #expect(ledger.count == 1)
  }

  @Test("against a model that keeps every entry", arguments: testSeeds(20))
  func model(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var ledger = AddressLedger(clientsAtFullRate: 2, workPerClient: 1_000)
    var clients: [(address: Int, index: Int32)] = []
    var paid: [Int: Timestamp] = [:]
    var now = start
    for _ in 0..<2_000 {
      now = now + Int64.random(in: 0...300_000, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0:
        let address = Int.random(in: 0..<6, using: &random)
        clients.append((address, ledger.enter(ClientAddress(high: 0, low: UInt64(address)))))
      case 1 where !clients.isEmpty:
        ledger.leave(clients.remove(at: Int.random(in: 0..<clients.count, using: &random)).index)
      case 2: ledger.expire(at: now)
      default:
        guard let client = clients.randomElement(using: &random) else { continue }
        let work = Int.random(in: 0...4_000, using: &random)
        let before = max(paid[client.address] ?? now, now)
        paid[client.address] = min(before + Int64(work) * 500, now + AddressLedger.longest)
        let isInDebt = before - now > AddressLedger.burst
        let count = clients.count { $0.address == client.address }
        let price = isInDebt ? min(4, max(1, count / 2)) : 1
        #expect(ledger.charge(work, at: client.index, now: now) == work * price, "seed \(seed)")
      }
      for client in clients {
        let isInDebt = (paid[client.address] ?? now) - now > AddressLedger.burst
        #expect(ledger.isInDebt(client.index, at: now) == isInDebt, "seed \(seed)")
      }
      for address in 0..<6 {
        let debt = (paid[address] ?? now) - now
        let isFree = debt <= AddressLedger.newcomerLimit
        #expect(ledger.admits(ClientAddress(high: 0, low: UInt64(address)), at: now) == isFree, "seed \(seed)")
      }
    }
    for client in clients { ledger.leave(client.index) }
    ledger.expire(at: now + AddressLedger.longest)
    #expect(ledger.count == 0, "seed \(seed)")
  }
}
