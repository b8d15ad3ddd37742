@testable import TidegateClient

/// A core with a clock that the test moves, one subscription and one listener.
struct CoreHarness {
  /// What one step did: requests, and what the consumers read right after it.
  struct Step {
    var actions: [ClientAction] = []
    var events: [StreamEvent<Payload>] = []
    var connection: [ConnectionEvent] = []

    var sent: [String] { actions.compactMap { if case .send(let text) = $0 { text } else { nil } } }
    var isSilent: Bool { actions.allSatisfy { if case .wake = $0 { true } else { false } } && events.isEmpty }
    /// The wait before the next attempt, in nanoseconds.
    var retryIn: UInt64? {
      for case .disconnected(_, let wait?) in connection { return wait.nanoseconds }
      return nil
    }
    /// Why there will be no other connection.
    var end: ConnectionFailure? {
      for case .disconnected(let failure, nil) in connection { return failure }
      return nil
    }
    var wantsConnection: Bool { actions.contains(.connect) }
    var values: [Payload] { events.compactMap { if case .value(let payload, _) = $0 { payload } else { nil } } }
  }

  var core: ClientCore
  var now: UInt64 = 1_000_000_000
  private(set) var subscription = 0
  private(set) var listener = 0

  init(
    _ request: StreamRequest<Payload> = StreamRequest.quote("kraken:BTC-USD").untyped, options: ClientOptions = .init(),
    refreshesToken: Bool = false, seed: UInt64 = 1
  ) {
    core = ClientCore(options: options, refreshesToken: refreshesToken, seed: seed)
    var actions: [ClientAction] = []
    listener = core.listen()
    subscription = core.subscribe(request.items, now: now, into: &actions)
  }

  mutating func start() -> Step { act { $0.start(now: $1, into: &$2) } }
  mutating func opened() -> Step { act { $0.opened(now: $1, into: &$2) } }
  mutating func closed(_ code: UInt16?, _ reason: String = "") -> Step {
    act { $0.closed(code: code, reason: reason, now: $1, into: &$2) }
  }
  mutating func refused(_ status: Int, retryAfter: Duration? = nil) -> Step {
    act { $0.refused(status: status, retryAfter: retryAfter, reason: "status \(status)", now: $1, into: &$2) }
  }
  mutating func unusable(_ reason: String) -> Step {
    act { $0.unusable(reason: reason, now: $1, into: &$2) }
  }
  mutating func receive(_ text: String) -> Step { act { $0.receive(Array(text.utf8), now: $1, into: &$2) } }
  mutating func pass(milliseconds: UInt64) -> Step {
    now += milliseconds * 1_000_000
    return act { $0.advance(to: $1, into: &$2) }
  }
  mutating func renewed(_ token: String?) -> Step { act { $0.renewed(token, now: $1, into: &$2) } }
  /// Moves to the next deadline.
  mutating func passToDeadline() -> Step {
    now = max(now, core.nextDeadline ?? now)
    return act { $0.advance(to: $1, into: &$2) }
  }

  mutating func act(_ body: (inout ClientCore, UInt64, inout [ClientAction]) -> Void) -> Step {
    var step = Step()
    body(&core, now, &step.actions)
    while let event = core.nextOfConnection(listener) { step.connection.append(event) }
    while let event = core.next(subscription) { step.events.append(event) }
    return step
  }

  /// Another subscription, whose events the test takes with `take`.
  mutating func subscribe(_ request: StreamRequest<Payload>) -> (id: Int, step: Step) {
    var id = 0
    let step = act { id = $0.subscribe(request.items, now: $1, into: &$2) }
    return (id, step)
  }

  mutating func cancel(_ id: Int) -> Step { act { $0.cancel(id, now: $1, into: &$2) } }

  mutating func take(_ id: Int) -> [StreamEvent<Payload>] {
    var events: [StreamEvent<Payload>] = []
    while let event = core.next(id) { events.append(event) }
    return events
  }

  /// The answer to `hello`.
  mutating func welcome() -> Step {
    receive(#"{"type":"welcome","id":2,"session":"s_1","node":"gw","version":"1","time":1,"heartbeat_s":5}"#)
  }

  /// Connected, welcomed, subscribed to stream 1 at seq 10.
  mutating func live(_ channel: String = "quote", seq: Int = 10) {
    _ = start()
    _ = opened()
    _ = welcome()
    _ = receive(Self.subscribed(id: 3, Self.item(channel, seq: seq)))
  }

  /// The stream of `live`.
  static let quoteInfo = StreamInfo(channel: .quote, symbol: "kraken:BTC-USD")

  /// What a message of `quote` says.
  static func quotePayload(_ bid: String) -> Payload {
    .quote(Quote(bid: ExactDecimal(bid), time: .init(microseconds: 4)))
  }

  static func item(_ channel: String, symbol: String = "kraken:BTC-USD", stream: Int = 1, seq: Int = 10) -> String {
    #"{"stream":\#(stream),"channel":"\#(channel)","symbol":"\#(symbol)","interval_ms":0,"epoch":"k","seq":\#(seq),"state":"live"}"#
  }

  static func subscribed(id: Int, _ items: String...) -> String {
    #"{"type":"subscribed","id":\#(id),"total":1,"ok":[\#(items.joined(separator: ","))],"failed":[]}"#
  }

  static func message(
    _ type: String, _ channel: String, _ data: String, stream: Int = 1, prev: Int? = nil, seq: Int
  ) -> String {
    let link = prev.map { #""prev":\#($0),"# } ?? ""
    return
      #"{"type":"\#(type)","channel":"\#(channel)","symbol":"kraken:BTC-USD","stream":\#(stream),\#(link)"seq":\#(seq),"time":5,"data":\#(data)}"#
  }

  static func quote(_ type: String, prev: Int? = nil, seq: Int, bid: String = "1.5", stream: Int = 1) -> String {
    message(type, "quote", #"{"bid":"\#(bid)","time":4}"#, stream: stream, prev: prev, seq: seq)
  }

  /// Trades with these ids.
  static func trades(_ type: String, _ ids: [Int], prev: Int? = nil, seq: Int) -> String {
    let trades = ids.map { #"{"id":"\#($0)","price":"2.50","size":"1","side":"buy","time":9}"# }
    return message(type, "trades", #"{"trades":[\#(trades.joined(separator: ","))]}"#, prev: prev, seq: seq)
  }

  static func heartbeat(sent: Int) -> String { #"{"type":"heartbeat","time":1,"sent":\#(sent),"feeds":{}}"# }
}

extension [StreamEvent<Payload>] {
  /// In short: `value quote`, `stale gap`, `trades 7 8`, `gap`, `resumed`, `refused`, `dropped 3`.
  var short: [String] {
    map { event in
      switch event {
      case .value(.trades(let trades), _): (["trades"] + trades.map(\.id)).joined(separator: " ")
      case .value(_, let info): "value \(info.channel)"
      case .stale(_, .outOfSync(let reason)): "stale: \(reason)"
      case .stale(_, let reason): reason == .gap ? "stale gap" : "stale disconnected"
      case .gap(_, let missing): missing.map { "gap of \($0)" } ?? "gap"
      case .resumed: "resumed"
      case .refused(let refusal): "refused \(refusal.symbol)"
      case .dropped(let count): "dropped \(count)"
      }
    }
  }
}
