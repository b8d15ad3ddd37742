import Bytes
import MarketData
import Portfolio
import Testing

@testable import PubSub

@Suite("The parameters of subscriptions")
struct StreamParameterTests {
  private func text(_ parameter: StreamParameter, _ key: StreamKey) -> String {
    var out = ByteBuffer(capacity: 64)
    parameter.append(key, to: &out)
    return String(decoding: out.takeBytes(), as: UTF8.self)
  }

  private func key(_ parameter: StreamParameter, _ item: ClientRequest.Item = .init()) -> StreamKey {
    var key = StreamKey(channel: .status, symbol: "")
    parameter.set(from: item, in: &key)
    return key
  }

  @Test(
    "what a request leaves out has a default, which replies repeat",
    arguments: [
      (StreamParameter.depth, #","depth":25"#), (.range, #","range":"24h""#), (.points, #","points":96"#),
      (.interval, #","interval":"1m""#), (.last, #","last":1"#), (.zone, #","zone":"UTC""#), (.portfolio, ""),
    ])
  func defaults(parameter: StreamParameter, expected: String) {
    #expect(text(parameter, key(parameter)) == expected)
  }

  @Test("what a request names is in the key, and replies repeat it")
  func named() {
    var item = ClientRequest.Item()
    (item.depth, item.points, item.last, item.zone) = (0, 7, 3, "Europe/\"Berlin")
    (item.range, item.candle) = (.all, .hour)
    #expect(text(.depth, key(.depth, item)) == #","depth":"full""#)
    #expect(text(.points, key(.points, item)) == #","points":7"#)
    #expect(text(.last, key(.last, item)) == #","last":3"#)
    #expect(text(.zone, key(.zone, item)) == #","zone":"Europe/\"Berlin""#)
    #expect(text(.range, key(.range, item)) == #","range":"\#(ChartRange.all.name)""#)
    #expect(text(.interval, key(.interval, item)) == #","interval":"\#(CandleInterval.hour.name)""#)
  }

  @Test("a portfolio repeats its id and its currency, if it has them")
  func portfolio() {
    var key = StreamKey(channel: .portfolio, symbol: "")
    key.portfolio = PortfolioSubject(.kept(id: "p1", owner: "local"), currency: "EUR", scope: [])
    #expect(text(.portfolio, key) == #","portfolio":"p1","currency":"EUR""#)
    let contents = PortfolioContents(currency: "USD", holdings: [], positions: [])
    key.portfolio = PortfolioSubject(.sent(contents), currency: nil, scope: [])
    #expect(text(.portfolio, key) == "")
  }

  @Test("no two parameters have a field in common, and each belongs to a channel")
  func fields() {
    let fields = StreamParameter.allCases.flatMap(\.fields)
    #expect(Set(fields).count == fields.count)
    let used = ChannelName.allCases.flatMap(\.facts.parameters)
    #expect(Set(used) == Set(StreamParameter.allCases))
  }
}
