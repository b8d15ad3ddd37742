import Testing

@testable import TidegateClient

/// Requests that have an answer of their own.
@Suite("Requests about alerts")
struct AskingTests {
  /// An alert of the gateway, and what the client makes of it.
  static func alert(_ rule: String) -> (text: String, value: Alert) {
    let text =
      #"{"id":"7","name":"a","state":"running","rule":\#(rule),"created":1,"revision":2,"firings":0,"acknowledged":0}"#
    let value = Alert(
      id: "7", name: "a", state: .running, rule: rule, created: .init(microseconds: 1), revision: 2, firings: 0,
      acknowledged: 0)
    return (text, value)
  }

  private static func live() -> CoreHarness {
    var it = CoreHarness()
    it.live()
    return it
  }

  private static func ask(_ request: AlertRequest, of it: inout CoreHarness) -> (id: Int, sent: [String]) {
    var id = 0
    let step = it.act { id = $0.ask(request, now: $1, into: &$2) }
    return (id, step.sent)
  }

  @Test("each request says what the protocol says")
  func texts() {
    var it = Self.live()
    let rule = #"{"condition":{"type":"countdown","for_s":60}}"#
    let requests: [(AlertRequest, String)] = [
      (
        .create(name: "A \"name\"", rule: rule, key: "k"),
        #""action":"create","key":"k","body":{"name":"A \"name\"","rule":\#(rule)}"#
      ),
      (.change("7", rule: rule, revision: 2), #""action":"change","alert":"7","revision":2,"body":{"rule":\#(rule)}"#),
      (.delete("7"), #""action":"delete","alert":"7""#),
      (.acknowledge("7", through: 3), #""action":"ack","alert":"7","body":{"through":3}"#),
      (.acknowledge("7"), #""action":"ack","alert":"7""#),
      (.snooze("7", for: .seconds(300)), #""action":"snooze","alert":"7","body":{"for_s":300}"#),
      (.snooze("7", for: .seconds(Int64.max)), #""action":"snooze","alert":"7","body":{"for_s":86400}"#),
      (.pause("7"), #""action":"pause","alert":"7""#), (.resume("7"), #""action":"resume","alert":"7""#),
      (.enable("7"), #""action":"enable","alert":"7""#), (.disable("7"), #""action":"disable","alert":"7""#),
    ]
    for (number, (request, fields)) in requests.enumerated() {
      #expect(Self.ask(request, of: &it).sent == [#"{"op":"alert","id":\#(number + 4),\#(fields)}"#])
    }
  }

  @Test("the answer is the alert as it is then, nothing where it is gone, or why not")
  func answers() throws {
    var it = Self.live()
    let (first, _) = Self.ask(.enable("7"), of: &it)
    #expect(it.core.answer(first) == nil && !it.core.isOver(first) && !it.core.hasNews(first))
    let (text, alert) = Self.alert(#"{"a":[1]}"#)
    let woken = it.receive(#"{"type":"alert","id":4,"alert":\#(text)}"#)
    #expect(woken.actions == [.wake(first)] && it.core.hasNews(first))
    #expect(try it.core.answer(first)?.get().alert == alert)
    let (second, _) = Self.ask(.delete("7"), of: &it)
    _ = it.receive(#"{"type":"alert","id":5,"removed":"7"}"#)
    #expect(it.core.answer(second) == .success(AlertAnswer(alert: nil)))
    let (third, _) = Self.ask(.delete("8"), of: &it)
    _ = it.receive(#"{"type":"error","id":6,"code":"unknown_alert","message":"no 8","hint":"list","retry":false}"#)
    guard case .failure(.refused(let refusal))? = it.core.answer(third) else { throw RequestFailure.invalid }
    #expect(refusal.code == .unknownAlert && refusal.fault == .request && refusal.description == "no 8; list")
    #expect(it.core.asked.isEmpty && it.core.isOver(third))
  }

  @Test("what is asked before there is a connection waits for one, as long as a reply may take")
  func early() {
    var it = CoreHarness()
    let (early, sent) = Self.ask(.enable("7"), of: &it)
    let (given, _) = Self.ask(.enable("8"), of: &it)
    it.core.forget(given)
    _ = it.start()
    _ = it.opened()
    #expect(sent == [] && it.welcome().sent == [#"{"op":"alert","id":4,"action":"enable","alert":"7"}"#])
    let (text, alert) = Self.alert("{}")
    _ = it.receive(#"{"type":"alert","id":4,"alert":\#(text)}"#)
    #expect(it.core.answer(early) == .success(AlertAnswer(alert: alert)))
    _ = it.closed(nil, "broken")
    let (late, _) = Self.ask(.enable("7"), of: &it)
    // Nobody opens the next connection.
    #expect(!it.pass(milliseconds: 9_999).actions.contains(.wake(late)))
    #expect(it.pass(milliseconds: 1).actions.contains(.wake(late)))
    #expect(it.core.answer(late) == .failure(.notConnected) && it.core.asked.nextDeadline == nil)
  }

  @Test("a client that has ended sends nothing")
  func ended() {
    var it = CoreHarness()
    let (early, _) = Self.ask(.enable("7"), of: &it)
    #expect(it.act { core, _, actions in core.stop(into: &actions) }.actions.contains(.wake(early)))
    #expect(it.core.answer(early) == .failure(.notConnected))
    let (late, _) = Self.ask(.enable("7"), of: &it)
    #expect(it.core.answer(late) == .failure(.notConnected))
  }

  @Test("a client that cannot connect ends what waits and what comes, with the reason")
  func unusable() {
    var it = CoreHarness()
    let (early, _) = Self.ask(.enable("7"), of: &it)
    _ = it.start()
    #expect(it.unusable("no WebSockets").actions.contains(.wake(early)))
    let (late, _) = Self.ask(.enable("8"), of: &it)
    for id in [early, late] { #expect(it.core.answer(id) == .failure(.ended(.unusable("no WebSockets")))) }
  }

  @Test("a connection that ends ends what was asked")
  func connection() {
    var it = Self.live()
    let (late, _) = Self.ask(.enable("7"), of: &it)
    #expect(it.closed(nil, "broken").actions.contains(.wake(late)))
    #expect(it.core.answer(late) == .failure(.notConnected))
    // An answer that comes too late, or to nobody, is nobody's.
    _ = it.receive(#"{"type":"alert","id":5,"alert":\#(Self.alert("{}").text)}"#)
    #expect(it.core.asked.isEmpty)
  }

  @Test("a request that nobody answers costs the connection")
  func silence() {
    var it = Self.live()
    let (id, _) = Self.ask(.enable("7"), of: &it)
    _ = it.receive(CoreHarness.heartbeat(sent: 0))
    for _ in 0..<4 {
      _ = it.pass(milliseconds: 2_500)
      _ = it.receive(CoreHarness.heartbeat(sent: 0))
    }
    #expect(it.core.answer(id) == .failure(.notConnected))
  }

  @Test(
    "a rule that is no JSON is not sent", arguments: ["", "{", "{}}", "{}{}", "nul", String(repeating: "[", count: 9)])
  func rules(rule: String) {
    var it = Self.live()
    for request in [AlertRequest.create(name: "a", rule: rule, key: "k"), .change("7", rule: rule)] {
      let (id, sent) = Self.ask(request, of: &it)
      #expect(sent == [] && it.core.answer(id) == .failure(.invalid))
    }
  }

  @Test("a rule that is longer than a request may be is not sent")
  func long() {
    var it = Self.live()
    let rule = "[\"" + String(repeating: "x", count: 65_000) + "\"]"
    #expect(Self.ask(.change("7", rule: rule), of: &it).sent == [])
  }
}
