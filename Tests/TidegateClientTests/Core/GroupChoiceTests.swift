import Testing

@testable import TidegateClient

@Suite("Symbols that are requested together, as a group")
struct GroupChoiceTests {
  private static let symbols = ["kraken:A-USD", "kraken:B-USD", "kraken:C-USD", "kraken:D-USD", "kraken:E-USD"]

  private static func group(_ stream: Int, _ symbols: [String], _ more: String = "") -> String {
    let list = symbols.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"stream":\#(stream),"channel":"pulse","group":true,"symbols":[\#(list)],"epoch":"e","seq":10\#(more)}"#
  }

  private static func pulse(_ index: Int, _ price: Int, _ more: String = "") -> String {
    #"{"i":\#(index)\#(more),"data":{"price":"\#(price)","merged":0,"time":1}}"#
  }

  private static func whole(_ stream: Int, seq: Int, _ symbols: [String], _ elements: String...) -> String {
    let list = symbols.map { "\"\($0)\"" }.joined(separator: ",")
    return
      #"{"type":"snapshot","channel":"pulse","group":true,"stream":\#(stream),"seq":\#(seq),"reason":"subscribe","#
      + #""time":1,"data":{"members":[\#(list)],"updates":[\#(elements.joined(separator: ","))]}}"#
  }

  private static func update(_ stream: Int, prev: Int, _ elements: String...) -> String {
    #"{"type":"update","channel":"pulse","group":true,"stream":\#(stream),"prev":\#(prev),"seq":\#(prev + 1),"#
      + #""time":1,"data":{"updates":[\#(elements.joined(separator: ","))]}}"#
  }

  private static func prices(_ step: CoreHarness.Step) -> [String] {
    step.events.compactMap {
      guard case .value(.pulse(let pulse), let info) = $0 else { return nil }
      return "\(info.symbol) \(pulse.price)"
    }
  }

  /// Stream 1 is a group of all symbols, with prices of the first two.
  private func live() -> CoreHarness {
    var it = CoreHarness(StreamRequest.pulse(Self.symbols).untyped)
    _ = it.start()
    let sent = it.opened().sent
    #expect(sent.contains { $0.contains(#""group":true"#) })
    _ = it.welcome()
    _ = it.receive(
      CoreHarness.subscribed(id: 3, Self.group(1, Self.symbols, #","price_increments":["0.1","0","0","0","0"]"#)))
    let step = it.receive(Self.whole(1, seq: 10, Self.symbols, Self.pulse(0, 1), Self.pulse(1, 2)))
    #expect(Self.prices(step) == ["kraken:A-USD 1", "kraken:B-USD 2"])
    return it
  }

  @Test("each symbol has its own values, and the price increment of its market")
  func values() {
    var it = live()
    let step = it.receive(Self.update(1, prev: 10, Self.pulse(2, 3, #","snapshot":true"#), Self.pulse(0, 4)))
    #expect(Self.prices(step) == ["kraken:C-USD 3", "kraken:A-USD 4"])
    guard case .value(_, let info)? = step.events.last else { return #expect(Bool(false)) }
    #expect(info.priceIncrement?.description == "0.1")
    // A heartbeat counts messages.
    #expect(it.receive(#"{"type":"heartbeat","time":1,"sent":2,"feeds":{}}"#).sent.isEmpty)
  }

  @Test("after a gap every member is stale until a snapshot; without one they are subscribed to again")
  func gap() {
    var it = live()
    let step = it.receive(Self.update(1, prev: 11, Self.pulse(0, 4)))
    #expect(step.values.isEmpty && step.events.count == 5)
    #expect(it.receive(Self.update(1, prev: 12, Self.pulse(0, 4))).values.isEmpty)
    let after = it.receive(Self.whole(1, seq: 14, Self.symbols, Self.pulse(0, 5)))
    #expect(Self.prices(after) == ["kraken:A-USD 5"])
    _ = it.receive(Self.update(1, prev: 19))
    let sent = it.passToDeadline().sent
    #expect(sent.contains { $0.contains(#""op":"unsubscribe""#) && $0.contains(#""streams":[1]"#) })
    #expect(sent.contains { $0.contains(#""group":true"#) })
  }

  @Test("a group that ends with a right is asked for again: some members may still be allowed")
  func forbidden() {
    var it = live()
    let step = it.receive(#"{"type":"notice","code":"forbidden","streams":[1,5],"total":0}"#)
    #expect(step.sent.count == 1 && step.sent[0].contains(#""group":true"#))
    #expect(step.connection.contains { if case .notice(.unknown("forbidden")) = $0 { true } else { false } })
  }

  @Test("once most symbols are cancelled, the others become a smaller group")
  func thinned() {
    var it = CoreHarness(StreamRequest.pulse("kraken:A-USD", "kraken:B-USD").untyped)
    _ = it.start()
    let first = it.subscribe(StreamRequest.pulse(Array(Self.symbols[2...3])).untyped).id
    let second = it.subscribe(StreamRequest.pulse(Self.symbols[4]).untyped).id
    _ = it.opened()
    _ = it.welcome()
    _ = it.receive(CoreHarness.subscribed(id: 3, Self.group(1, Self.symbols)))
    #expect(it.cancel(first).sent.isEmpty)
    let sent = it.cancel(second).sent
    #expect(sent.contains { $0.contains(#""op":"unsubscribe""#) && $0.contains(#""streams":[1]"#) })
    #expect(sent.contains { $0.contains(#""symbols":["kraken:A-USD","kraken:B-USD"],"group":true"#) })
  }

  @Test("a stream that has become a member of a pattern's group is left")
  func replaced() {
    var it = CoreHarness(StreamRequest.pulse("kraken:A-USD").untyped)
    _ = it.start()
    _ = it.opened()
    _ = it.welcome()
    _ = it.receive(
      CoreHarness.subscribed(id: 3, #"{"stream":7,"channel":"pulse","symbol":"kraken:A-USD","epoch":"e","seq":1}"#))
    let all = it.subscribe(StreamRequest.pulse("kraken:*").untyped)
    #expect(all.step.sent.count == 1)
    let sent = it.receive(CoreHarness.subscribed(id: 4, Self.group(1, Self.symbols))).sent
    #expect(sent.count == 1 && sent[0].contains(#""op":"unsubscribe""#) && sent[0].contains(#""streams":[7]"#))
    let step = it.receive(Self.whole(1, seq: 10, Self.symbols, Self.pulse(0, 1)))
    #expect(Self.prices(step) == ["kraken:A-USD 1"])
  }

  @Test("another rate moves all members")
  func moved() {
    var it = live()
    let move = Self.group(5, Self.symbols, #","from":1"#)
    _ = it.receive(#"{"type":"configured","id":9,"interval_ms":250,"total":1,"streams":[\#(move)]}"#)
    let step = it.receive(Self.whole(5, seq: 10, Self.symbols, Self.pulse(1, 8)))
    #expect(Self.prices(step) == ["kraken:B-USD 8"])
  }

  @Test("what has no groups, every change, and composite markets are asked for alone")
  func alone() {
    let two = ["kraken:A-USD", "kraken:B-USD"]
    for request in [
      StreamRequest.trades(two).untyped, StreamRequest.quote(two).untyped, StreamRequest.candles(two).untyped,
      StreamRequest.ticker(two, every: .zero).untyped, StreamRequest.pulse("kraken:A-USD").untyped,
      StreamRequest.pulse("composite:A-USD", "composite:B-USD").untyped,
      StreamRequest.book(two, depth: .full, every: .seconds(1)).untyped,
    ] {
      var it = CoreHarness(request)
      _ = it.start()
      #expect(!it.opened().sent.contains { $0.contains(#""group":true"#) }, "\(request.items)")
    }
    var it = CoreHarness(StreamRequest.pulse("kraken:*").untyped)
    _ = it.start()
    #expect(it.opened().sent.contains { $0.contains(#""group":true"#) })
  }

  @Test("messages of a group that are not valid end the connection")
  func violation() {
    for message in [
      Self.whole(1, seq: 11, Self.symbols, #"{"i":0}"#), Self.whole(1, seq: 11, Self.symbols, #"{"data":{}}"#),
      Self.update(1, prev: 10, Self.pulse(0, 1), "7"),
      #"{"type":"update","channel":"pulse","group":true,"stream":1,"prev":10,"seq":11,"time":1,"data":{}}"#,
    ] {
      var it = live()
      #expect(it.receive(message).actions.first == .close(code: 1007, reason: "not tidegate.v1"), "\(message)")
    }
    var it = live()
    #expect(it.receive(Self.update(1, prev: 10, Self.pulse(9, 1), Self.pulse(-1, 1))).events.isEmpty)
  }
}
