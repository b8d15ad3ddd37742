import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("The memory of all rings")
struct RingMemoryTests {
  private let now = Timestamp(microseconds: 1_790_000_000_000_000)

  private func stream(_ channel: ChannelName, _ number: UInt32 = 1) -> PublishedStream {
    PublishedStream(
      StreamStart(id: StreamID(rawValue: number), seq: 0, key: StreamKey(channel: channel, symbol: "kraken:BTC-USD")))
  }

  private func frame(_ seq: UInt64, bytes: Int) -> StreamFrame {
    StreamFrame(
      stream: StreamID(rawValue: 1), kind: .update, prev: seq - 1, seq: seq, events: 1,
      bytes: SharedBytes([UInt8](repeating: 0, count: bytes)))
  }

  @Test("counts what the rings of all streams hold, and nothing of a channel whose messages are whole")
  func count() {
    var memory = RingMemory(isEnabled: true)
    let (trades, quotes) = (stream(.trades), stream(.quote, 2))
    memory.remember(frame(1, bytes: 100), of: trades, time: now)
    memory.remember(frame(2, bytes: 50), of: trades, time: now)
    memory.remember(frame(1, bytes: 70), of: quotes, time: now)
    #expect(memory.bytes == 150 && trades.ring.count == 2 && quotes.ring.count == 0)
    memory.forget(trades)
    #expect(memory.bytes == 0 && trades.ring.count == 0)
  }

  @Test("holds nothing if it is off")
  func off() {
    var memory = RingMemory(isEnabled: false)
    let trades = stream(.trades)
    memory.remember(frame(1, bytes: 100), of: trades, time: now)
    #expect(memory.bytes == 0 && trades.ring.count == 0)
  }

  @Test("a stream that publishes beyond the limit of all drops the older half of its own")
  func limit() {
    var memory = RingMemory(isEnabled: true)
    let size = 500 << 10
    let streams = (1...200 as ClosedRange<UInt32>).map { stream(.trades, $0) }
    for stream in streams {
      memory.remember(frame(1, bytes: size / 2), of: stream, time: now)
      memory.remember(frame(2, bytes: size / 2), of: stream, time: now)
      #expect(memory.bytes <= RingMemory.limit + size)
    }
    #expect(memory.bytes == streams.reduce(0) { $0 + $1.ring.bytes })
    #expect(streams.first?.ring.count == 2 && (streams.last?.ring.count ?? 2) < 2)
  }
}
