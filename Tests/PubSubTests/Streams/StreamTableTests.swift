import MarketData
import Testing

@testable import PubSub

@Suite("The table of streams")
struct StreamTableTests {
  private func table(_ numbering: KeptNumbering = KeptNumbering(epoch: "k7")) -> StreamTable {
    StreamTable(loop: 1, loops: 4, numbering: numbering)
  }

  private func key(_ index: Int) -> StreamKey { StreamKey(channel: .quote, symbol: "kraken:A\(index)-USD") }

  private func make(_ index: Int, in table: inout StreamTable) -> PublishedStream {
    table.make(key(index), market: 0, instrument: InstrumentID(index))
  }

  @Test("numbers streams by loop, from the first after 0 on, and finds them by number and by key")
  func numbers() {
    var table = table()
    let streams = (0..<3).map { make($0, in: &table) }
    #expect(streams.map(\.id.rawValue) == [5, 9, 13])
    #expect(streams.allSatisfy { table[$0.id] === $0 && table[$0.key] === $0 })
    #expect(table.count == 3)
    for number: UInt32 in [0, 1, 4, 6, 17, .max] { #expect(table[StreamID(rawValue: number)] == nil) }
    #expect(table[key(3)] == nil)
  }

  @Test("keeps reserved numbers for the streams of an earlier run, each for one, and begins above its numbers")
  func reserved() {
    var table = table(KeptNumbering(epoch: "k7", highest: 70, numbers: [4, 5, 6, 13]))
    #expect([5, 13].allSatisfy(table.isReserved) && ![4, 6, 9].contains(where: table.isReserved))
    #expect(make(0, in: &table).id.rawValue == 9)
    #expect(make(1, in: &table).id.rawValue == 17)
    #expect(table[key(0)]?.seq == 70)
    let start = StreamStart(id: StreamID(rawValue: 5), seq: 33, key: key(2))
    #expect(table.restore(start)?.seq == 33)
    #expect(table.restore(start) == nil)
    // Its key has a stream already, so the number is free.
    #expect(table.restore(StreamStart(id: StreamID(rawValue: 13), seq: 1, key: key(2))) == nil)
    #expect(!table.isReserved(13))
    #expect(table.restore(StreamStart(id: StreamID(rawValue: 9), seq: 1, key: key(3))) == nil)
  }

  @Test("gives the slot of the stream that is idle longest away past the limit, and never a lower number")
  func idle() {
    var table = table()
    let streams = (0...StreamTable.idleLimit).map { make($0, in: &table) }
    streams[1].loops = 1
    streams[2].seq = 500
    for stream in streams.dropFirst(2) { table.noteIdle(stream) }
    streams[0].clear()
    table.noteIdle(streams[0])
    // As many as the limit are idle.
    #expect(make(-1, in: &table).id.rawValue == UInt32(streams.count + 1) * 4 + 1)
    streams[1].loops = 0
    table.noteIdle(streams[1])
    let next = make(-2, in: &table)
    #expect(next.id == streams[2].id && next.seq == 500 && table[next.id] === next)
    #expect(table[key(2)] == nil && table[key(0)] === streams[0])
    #expect(table.highestSeq == 500)
  }

  @Test("drops notes of streams that run again, so that they are at most twice as many as streams")
  func notes() {
    var table = table()
    let stream = make(0, in: &table)
    for _ in 0..<100 {
      stream.clear()
      table.noteIdle(stream)
      #expect(table.idleCount <= 2 * table.streams.count)
    }
  }
}
