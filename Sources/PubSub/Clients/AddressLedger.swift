import MarketData

/// The unit of limits per address: an IPv4 address, or an IPv6 /64.
package struct ClientAddress: Hashable, Sendable {
  private let high: UInt64
  private let low: UInt64

  /// - Parameters:
  ///   - high: the first 64 bits of an IPv6 address.
  ///   - low: the last 64 bits.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }
}

/// The work that the clients of each address have done together, in the unit of `ClientAllowance`. Sans-IO.
///
/// Each client has its own rate of work, and a few hundred clients may share one address. So the address has a rate,
/// too: that of `clientsAtFullRate` clients, with a burst of a second. While its clients have done more, they have no
/// bursts, their requests cost more, clients of other addresses go first, and the address can open no new streams. A
/// client with few requests is served as before.
///
/// Bounded by the number of clients, and of those that left within the last `longest`: their address keeps its debt.
struct AddressLedger {
  /// Work that an address may have done ahead, µs at its rate; more is a debt.
  static let burst = Microseconds.second
  /// An address that is further ahead may not open streams, µs.
  static let newcomerLimit = 3 * Microseconds.second
  /// Work beyond it is not remembered, µs.
  static let longest = 10 * Microseconds.second
  /// How many times its price work may cost while the address is in debt.
  static let highestPrice = 4

  struct Account {
    fileprivate var address: ClientAddress
    fileprivate var clients = 0
    /// All work is paid for by then.
    fileprivate var paid = Timestamp.distantPast
    /// Whether it is in `owing`.
    fileprivate var isOwing = false
  }

  /// Clients of one address that may do work at their full rates at the same time.
  private(set) var clientsAtFullRate: Int
  /// Units a second that an address pays for.
  private var perSecond: Int64
  private var accounts: [Account] = []
  private var indices: [ClientAddress: Int32] = [:]
  private var free: [Int32] = []
  /// Those that had no clients left, and may be in debt.
  private var owing: [Int32] = []

  /// - Parameters:
  ///   - clientsAtFullRate: 1 and above.
  ///   - workPerClient: units a second that one client may cost, 1 and above.
  init(clientsAtFullRate: Int, workPerClient: Int) {
    (self.clientsAtFullRate, perSecond) = (0, 0)
    apply(clientsAtFullRate: clientsAtFullRate, workPerClient: workPerClient)
  }

  /// The limits from now on; debts stay. Parameters as of `init`.
  mutating func apply(clientsAtFullRate: Int, workPerClient: Int) {
    precondition(clientsAtFullRate > 0 && workPerClient > 0, "an address pays for one client at least")
    self.clientsAtFullRate = clientsAtFullRate
    perSecond = Int64(clientsAtFullRate) * Int64(workPerClient)
  }

  /// Addresses that are remembered.
  var count: Int { indices.count }

  /// Whether an address may open another stream. O(1).
  func admits(_ address: ClientAddress, at now: Timestamp) -> Bool {
    guard let index = indices[address] else { return true }
    return accounts[Int(index)].paid - now <= Self.newcomerLimit
  }

  /// Counts a client. O(1).
  /// - Returns: the index of its address, valid until it leaves.
  mutating func enter(_ address: ClientAddress) -> Int32 {
    if let index = indices[address] {
      accounts[Int(index)].clients += 1
      return index
    }
    let index = free.popLast() ?? Int32(accounts.count)
    if Int(index) == accounts.count { accounts.append(Account(address: address)) }
    accounts[Int(index)] = Account(address: address, clients: 1)
    indices[address] = index
    return index
  }

  /// A client is gone. O(1).
  mutating func leave(_ index: Int32) {
    accounts[Int(index)].clients -= 1
    guard accounts[Int(index)].clients == 0, !accounts[Int(index)].isOwing else { return }
    accounts[Int(index)].isOwing = true
    owing.append(index)
  }

  /// Forgets addresses that have no clients and no debt. O(addresses without clients).
  mutating func expire(at now: Timestamp) {
    owing.removeAll { index in
      guard accounts[Int(index)].clients == 0 else {
        accounts[Int(index)].isOwing = false
        return true
      }
      guard accounts[Int(index)].paid <= now else { return false }
      indices[accounts[Int(index)].address] = nil
      free.append(index)
      return true
    }
  }

  func isInDebt(_ index: Int32, at now: Timestamp) -> Bool { accounts[Int(index)].paid - now > Self.burst }

  /// Books work.
  /// - Returns: what it costs the client: more while its address is in debt, the more clients the address has.
  mutating func charge(_ work: Int, at index: Int32, now: Timestamp) -> Int {
    let account = accounts[Int(index)]
    let paid = max(account.paid, now) + Int64(work) * Microseconds.second / perSecond
    accounts[Int(index)].paid = min(paid, now + Self.longest)
    guard account.paid - now > Self.burst else { return work }
    return work * min(Self.highestPrice, max(1, account.clients / clientsAtFullRate))
  }
}
