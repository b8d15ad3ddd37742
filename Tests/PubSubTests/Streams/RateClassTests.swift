import Testing

@testable import PubSub

@Suite("Rate classes")
struct RateClassTests {
  @Test(
    "a channel has its classes, whatever is requested",
    arguments: [
      (ChannelName.trades, [0, 0, 100, 250, 1000, 5000, 5000]), (.quote, [0, 0, 100, 250, 1000, 5000, 5000]),
      (.book, [0, 0, 100, 250, 1000, 5000, 5000]), (.pulse, [100, 100, 100, 250, 1000, 5000, 5000]),
      (.ticker, [1000, 0, 1000, 1000, 1000, 5000, 5000]), (.sparkline, [1000, 0, 1000, 1000, 1000, 5000, 5000]),
      (.candles, [1000, 0, 1000, 1000, 1000, 5000, 5000]), (.rate, [1000, 250, 250, 250, 1000, 5000, 5000]),
      (.portfolio, [1000, 1000, 1000, 1000, 1000, 1000, 1000]), (.status, [0, 0, 0, 0, 0, 0, 0]),
      (.alerts, [0, 0, 0, 0, 0, 0, 0]), (.topic, [0, 0, 0, 0, 0, 0, 0]), (.deck, [0, 0, 0, 0, 0, 0, 0]),
    ] as [(ChannelName, [UInt16])])
  func classes(channel: ChannelName, expected: [UInt16]) {
    let requests: [Int?] = [nil, 0, 1, 101, 999, 1001, 60_000]
    #expect(requests.map { RateClass.interval(for: channel, asked: $0) } == expected)
  }

  @Test("only a stream at its natural rate publishes each change at once")
  func immediate() {
    let immediate = ChannelName.allCases.flatMap { channel in
      RateClass.intervals.filter { interval in
        PublishedStream(
          StreamStart(
            id: StreamID(rawValue: 1), seq: 0,
            key: StreamKey(channel: channel, symbol: "a", intervalMilliseconds: interval))
        ).isImmediate
      }.map { "\(channel) \($0)" }
    }
    #expect(Set(immediate) == Set(ChannelName.allCases.map { "\($0) 0" } + ["pulse 100"]))
  }
}
