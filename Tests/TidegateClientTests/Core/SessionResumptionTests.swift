import Testing

@testable import TidegateClient

@Suite("Resuming a session")
struct SessionResumptionTests {
  private let trades = StreamItem(channel: .trades, symbol: "kraken:BTC-USD")
  private let quote = StreamItem(channel: .quote, symbol: "kraken:BTC-USD")
  private var resumption = SessionResumption()

  private mutating func ask(_ items: (number: Int64, item: StreamItem)...) {
    resumption.ask(items.map { ($0.number, ClientStream(item: $0.item, serial: 0)) })
  }

  private func accepted(_ number: Int64, _ key: StreamItem) -> ServerMessage.Accepted {
    .init(stream: number, channel: "\(key.channel)", symbol: key.symbol)
  }

  @Test("streams are matched by number, or else by name, each once")
  mutating func matches() {
    ask((1, trades), (2, quote))
    #expect(Set(resumption.items) == [trades, quote])
    let taken = resumption.take([accepted(9, quote), accepted(1, trades), accepted(1, trades), accepted(5, quote)])
    #expect(taken.map(\.key) == [quote, trades] && taken.map(\.accepted.stream) == [9, 1])
    #expect(resumption.items.isEmpty && resumption.take([accepted(1, trades)]).isEmpty)
  }

  @Test("a number of another name is not the stream's")
  mutating func names() {
    ask((1, trades), (2, quote))
    #expect(resumption.take([accepted(1, quote)]).map(\.key) == [quote])
  }

  @Test("a connection that ends takes what it asked for with it, and leaves the session")
  mutating func reset() {
    resumption.session = "s"
    ask((1, trades))
    resumption.reset()
    #expect(resumption.items.isEmpty && resumption.session == "s")
  }
}
