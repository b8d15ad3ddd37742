import Testing

@testable import TidegateClient

@Suite("Model")
struct ModelTests {
  @Test("a decimal keeps its digits and compares by value")
  func decimals() throws {
    let a = try #require(ExactDecimal("0.10"))
    let b = try #require(ExactDecimal("0.1"))
    let c = try #require(ExactDecimal("64123.50000001"))
    #expect(a.description == "0.10" && a.doubleValue == 0.1)
    #expect(!(a < b) && !(b < a) && a != b)
    #expect(b < c && ExactDecimal("-1")! < b && ExactDecimal("1e-7")! < b)
    #expect(ExactDecimal("0.123456789012345678901")! < ExactDecimal("0.2")!)
    #expect(ExactDecimal("0e5")!.isZero && ExactDecimal("0.000")!.isZero)
  }

  @Test("what is no number is refused", arguments: ["", "1.2.3", "nan", "inf", "0x1p3", " 1", "1 ", "1e400", "٣"])
  func notNumbers(text: String) { #expect(ExactDecimal(text) == nil) }

  @Test("URLs are read with their defaults")
  func urls() throws {
    let plain = try #require(TidegateURL("ws://localhost"))
    #expect(plain.port == 80 && plain.target == "/v1/stream" && !plain.isSecure)
    #expect(TidegateURL("wss://[::1]:8443/x?y=1")?.description == "wss://[::1]:8443/x?y=1")
    #expect(TidegateURL("wss://gw.example/")?.port == 443)
  }

  @Test(
    "what is no gateway URL is refused",
    arguments: [
      "", "http://a", "ws://", "ws://:80", "ws://a:0", "ws://a:99999", "ws://a:", "ws://[::1", "ws://u@a", "ws://a/#b",
      "ws://a b",
    ])
  func notURLs(text: String) { #expect(TidegateURL(text) == nil) }

  @Test("a book puts snapshot and updates together and waits after a gap")
  func book() {
    let info = EventBufferTests.info(1, .book)
    let level = EventBufferTests.level
    var view = BookView()
    let early = view.apply(.update(info, .book(BookLevels(bids: [level("1", "1")], asks: []))))
    #expect(!early)
    view.apply(
      .snapshot(
        info, .book(BookLevels(bids: [level("99", "1"), level("98.5", "2")], asks: [level("101", "3")], time: 1))))
    view.apply(
      .update(
        info,
        .book(BookLevels(bids: [level("99.0", "0"), level("98.7", "4")], asks: [level("100.5", "1")], time: 2))))
    #expect(view.bids == [level("98.7", "4"), level("98.5", "2")])
    #expect(view.asks == [level("100.5", "1"), level("101", "3")])
    #expect(view.time == 2)
    view.apply(.gap(info))
    let late = view.apply(.update(info, .book(BookLevels(bids: [], asks: []))))
    #expect(!view.isSynced && !late)
  }
}
