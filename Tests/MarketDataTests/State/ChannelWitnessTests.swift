import Bytes
import Testing

@testable import MarketData

/// Trades that die alone where only figures by REST, or quotes that name the last trade, show it.
@Suite("Channels that die alone, by what else shows trades")
struct ChannelWitnessTests {
  // MARK: Figures by REST

  @Test("without tickers, a last price that is left behind asks for figures, and those show that trades are dead")
  func witnesses() {
    let scene = DoubtsScene(tickerInterval: nil, hasWitness: true)
    scene.trade(105)
    var number: Int64 = 0
    var asked = 0
    while !scene.state.isSilent(.trades), number < 60 {
      scene.wait(1)
      number += 1
      scene.book(.snapshot, bid: 200 + number, ask: 300 + number)
      if scene.told.count(where: { $0 == "trades doubted" }) > asked {
        asked += 1
        scene.ticker(last: 200 + number, volumeBy: 1, isWitness: true)
      }
    }
    #expect(number <= 10)
    #expect(scene.told.last == "trades silent 1")
    scene.trade(300)
    #expect(scene.told.last == "trades live")
  }

  @Test("figures that stay the same leave a market green for an hour, and are asked for ever more rarely")
  func quietWitnesses() {
    let scene = DoubtsScene(tickerInterval: nil, hasWitness: true)
    scene.trade(105)
    var asked = 0
    for number in 1...3_600 as ClosedRange<Int64> {
      scene.wait(1)
      scene.book(.snapshot, bid: 200 + number % 7, ask: 300 + number % 5)
      if scene.told.count > asked {
        asked += 1
        scene.ticker(volumeBy: -1, isWitness: true)
      }
    }
    #expect(scene.told.allSatisfy { $0 == "trades doubted" })
    #expect((5...30).contains(asked), "\(asked)")
  }

  @Test("figures that are some seconds old show nothing")
  func oldWitnesses() {
    let scene = DoubtsScene(tickerInterval: nil, hasWitness: true)
    for round in 0..<20 as Range<Int64> {
      scene.trade(105 + round)
      var asked = 0
      for number in 1...60 as ClosedRange<Int64> {
        scene.wait(1)
        scene.book(.snapshot, bid: 200 + number, ask: 300 + number)
        guard scene.told.count(where: { $0 == "trades doubted" }) > asked else { continue }
        asked += 1
        // The first are from before the trade.
        scene.ticker(last: asked == 1 ? 104 + round : 105 + round, volumeBy: 1, isWitness: true)
      }
      #expect(asked > 3)
      #expect(scene.told.allSatisfy { $0 == "trades doubted" }, "\(scene.told)")
      scene.forgetTold()
    }
  }

  @Test("before the first trade of a connection another price alone says nothing")
  func restoredTrade() {
    let scene = DoubtsScene(tickerInterval: nil, hasWitness: true)
    scene.trade(105, age: 3_600 * Microseconds.second, backlog: true)
    var asked = 0
    for number in 1...600 as ClosedRange<Int64> {
      scene.wait(1)
      scene.book(.snapshot, bid: 200 + number % 9, ask: 300 + number % 9)
      guard scene.told.count > asked else { continue }
      asked += 1
      // One trade was made in all of that time.
      scene.ticker(last: asked < 3 ? 250 : 251, volumeBy: asked == 3 ? 1 : 0, isWitness: true)
    }
    #expect(asked > 4 && scene.told.allSatisfy { $0 == "trades doubted" }, "\(scene.told)")
  }

  // MARK: Quotes that name the last trade

  @Test("trades that quotes name show within 10 s that their channel is dead")
  func shown() {
    let scene = DoubtsScene(tickerInterval: nil)
    scene.trade(100)
    let died = scene.now
    while scene.told.isEmpty, scene.now - died < 60 * Microseconds.second {
      scene.wait(1)
      scene.showTrade()
    }
    #expect(scene.told == ["trades silent 1"])
    #expect(scene.now - died <= 10 * Microseconds.second)
    scene.trade(101)
    #expect(scene.told == ["trades silent 1", "trades live"])
  }

  @Test("a quote that names a trade before or after it comes shows nothing, however rare trades are")
  func quietShown() {
    let scene = DoubtsScene(tickerInterval: nil)
    for number in 1...80 as ClosedRange<Int64> {
      scene.wait(90)
      if number % 2 == 0 { scene.showTrade() }
      scene.wait(0.5)
      scene.trade(100 + number)
      scene.wait(2)
      if number % 2 == 1 { scene.showTrade() }
    }
    #expect(scene.told == [])
  }

  @Test("one named trade that does not come is no death")
  func singleShown() {
    let scene = DoubtsScene(tickerInterval: nil)
    for _ in 1...20 {
      scene.showTrade()
      scene.wait(15 * 60)
    }
    #expect(scene.told == [])
  }
}
