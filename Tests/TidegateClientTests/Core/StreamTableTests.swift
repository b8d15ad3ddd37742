import Testing

@testable import TidegateClient

@Suite("Streams by item and by number")
struct StreamTableTests {
  private let bitcoin = StreamItem(channel: .quote, symbol: "kraken:BTC-USD")
  private let ether = StreamItem(channel: .quote, symbol: "kraken:ETH-USD")
  private var table = StreamTable()

  init() {
    for (index, key) in [bitcoin, ether].enumerated() { #expect(table.add(key, serial: index) == true) }
  }

  private func accepted(_ number: Int64, _ key: StreamItem) -> ServerMessage.Accepted {
    .init(stream: number, channel: key.channel.rawValue, symbol: key.symbol, seq: 4)
  }

  @Test("a stream has one number, and a number its streams")
  mutating func numbers() {
    #expect(table.link(accepted(7, bitcoin), bitcoin) == false)
    #expect(table.link(accepted(7, bitcoin), bitcoin) == false)
    #expect(table.numbers == [7: [bitcoin]])
    #expect(table.link(accepted(8, bitcoin), bitcoin) == false)
    #expect(table.numbers == [8: [bitcoin]] && table[bitcoin]?.number == 8)
    #expect(table.remove(bitcoin) == 8)
    #expect(table.numbers.isEmpty && table.count == 1)
    #expect(table.remove(ether) == nil)
  }

  @Test("two sets of parameters that are one stream to the gateway share its number and value until the last one ends")
  mutating func shared() {
    var slow = bitcoin
    slow.cadence = 1_000
    #expect(table.add(slow, serial: 2) == true)
    #expect(table.link(accepted(7, bitcoin), bitcoin) == false)
    table[bitcoin]?.seq = 9
    #expect(table.link(accepted(7, bitcoin), slow) == true)
    #expect(table[slow]?.seq == 9 && table.numbers == [7: [bitcoin, slow]])
    #expect(table.remove(bitcoin) == nil)
    #expect(table.remove(slow) == 7)
  }

  @Test("a detached number takes all its streams with it, once")
  mutating func detached() {
    _ = table.link(accepted(7, bitcoin), bitcoin)
    _ = table.link(accepted(8, ether), ether)
    table[ether]?.gapDeadline = 50
    table.noteGap(ether)
    let all = table.detach([ether, ether, bitcoin])
    #expect(all.numbers == [8, 7] && all.keys == [ether, bitcoin])
    #expect(table.numbers.isEmpty && table.nextDeadline == nil && table[ether]?.gapDeadline == nil)
    #expect(table.detach(7) == nil)
  }

  @Test("a stream waits for a snapshot as long as it has a deadline")
  mutating func gaps() {
    for (key, deadline) in [(bitcoin, 60), (ether, 50)] as [(StreamItem, UInt64)] {
      table[key]?.gapDeadline = deadline
      table.noteGap(key)
    }
    #expect(table.nextDeadline == 50)
    #expect(table.late(49).isEmpty && table.late(50) == [ether] && table.late(60) == [bitcoin, ether])
    table[ether]?.gapDeadline = nil
    table.noteGap(ether)
    #expect(table.nextDeadline == 60)
    table.reset()
    #expect(table.nextDeadline == nil)
  }

  @Test("streams without a subscriber are removed, unless they have got one again")
  mutating func unfollowed() {
    _ = table.link(accepted(7, bitcoin), bitcoin)
    _ = table.link(accepted(8, ether), ether)
    table[ether]?.subscribers = [1]
    table.noteSubscribers(ether)
    #expect(!table.hasUnfollowed)
    table.noteSubscribers(bitcoin)
    table[ether]?.subscribers = []
    table.noteSubscribers(ether)
    table[ether]?.subscribers = [2]
    #expect(table.hasUnfollowed)
    #expect(table.removeUnfollowed() == [7])
    #expect(table.keys == [ether] && !table.hasUnfollowed)
  }
}
