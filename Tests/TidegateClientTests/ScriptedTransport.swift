import Synchronization

@testable import TidegateClient

/// A transport whose gateway is the test: it sees what was sent and says what arrives.
final class ScriptedTransport: ClientTransport {
  final class Connection: ClientTransportConnection {
    let receive: @Sendable (ClientTransportEvent) -> Void
    private let state = Mutex<(sent: [String], closed: UInt16?)>(([], nil))

    init(receive: @escaping @Sendable (ClientTransportEvent) -> Void) { self.receive = receive }

    var sent: [String] { state.withLock { $0.sent } }
    var closedWith: UInt16? { state.withLock { $0.closed } }
    func send(_ text: String) { state.withLock { $0.sent.append(text) } }
    func close(code: UInt16, reason: String) { state.withLock { $0.closed = code } }
    func say(_ text: String) { receive(.message(Array(text.utf8))) }
  }

  private let made = Mutex<[Connection]>([])
  private let arrivals = AsyncStream<Connection>.makeStream()

  var connections: [Connection] { made.withLock { $0 } }
  /// Each connection as it is asked for.
  var newConnections: AsyncStream<Connection> { arrivals.stream }

  func connect(
    to url: TidegateURL, subprotocol: String, receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    let connection = Connection(receive: receive)
    made.withLock { $0.append(connection) }
    arrivals.continuation.yield(connection)
    return connection
  }
}

/// A core with a clock that the test moves.
struct CoreHarness {
  var core: ClientCore
  var now: UInt64 = 1_000_000_000

  init(
    _ subscriptions: [TidegateSubscription] = [.init(channels: [.quote], symbols: ["kraken:BTC-USD"])],
    options: TidegateOptions = .init(), refreshesToken: Bool = false, seed: UInt64 = 1
  ) {
    core = ClientCore(
      subscriptions: subscriptions, options: options, refreshesToken: refreshesToken, seed: seed)
  }

  mutating func start() -> [ClientAction] { act { $0.start(now: $1, into: &$2) } }
  mutating func opened() -> [ClientAction] { act { $0.opened(now: $1, into: &$2) } }
  mutating func closed(_ code: UInt16?, _ reason: String = "") -> [ClientAction] {
    act { $0.closed(code: code, reason: reason, now: $1, into: &$2) }
  }
  mutating func receive(_ text: String) -> [ClientAction] { act { $0.receive(Array(text.utf8), now: $1, into: &$2) } }
  mutating func pass(milliseconds: UInt64) -> [ClientAction] {
    now += milliseconds * 1_000_000
    return act { $0.advance(to: $1, into: &$2) }
  }
  mutating func renewed(_ token: String?) -> [ClientAction] { act { $0.renewed(token, now: $1, into: &$2) } }
  /// Moves to the next deadline.
  mutating func passToDeadline() -> [ClientAction] {
    now = max(now, core.nextDeadline ?? now)
    return act { $0.advance(to: $1, into: &$2) }
  }

  mutating func act(_ body: (inout ClientCore, UInt64, inout [ClientAction]) -> Void) -> [ClientAction] {
    var actions: [ClientAction] = []
    body(&core, now, &actions)
    return actions
  }

  /// The answer to `hello`.
  mutating func welcome() -> [ClientAction] {
    receive(#"{"type":"welcome","id":2,"session":"s_1","node":"gw","version":"1","time":1,"heartbeat_s":5}"#)
  }

  /// Connected, welcomed, subscribed to stream 1 at seq 10.
  mutating func live(_ channel: String = "quote", seq: Int = 10) {
    _ = start()
    _ = opened()
    _ = welcome()
    _ = receive(
      #"{"type":"subscribed","id":3,"total":1,"ok":[{"stream":1,"channel":"\#(channel)","symbol":"kraken:BTC-USD","interval_ms":0,"epoch":"k","seq":\#(seq),"state":"live"}],"failed":[]}"#
    )
  }

  static func quote(_ type: String, prev: Int? = nil, seq: Int, bid: String = "1.5") -> String {
    let link = prev.map { #""prev":\#($0),"# } ?? ""
    return
      #"{"type":"\#(type)","channel":"quote","symbol":"kraken:BTC-USD","stream":1,\#(link)"seq":\#(seq),"time":5,"data":{"bid":"\#(bid)","time":4}}"#
  }
}

extension [ClientAction] {
  var events: [TidegateEvent] { compactMap { if case .emit(let event) = $0 { event } else { nil } } }
  var sent: [String] { compactMap { if case .send(let text) = $0 { text } else { nil } } }
  /// The wait before the next attempt, in nanoseconds.
  var retryIn: UInt64? {
    for case .disconnected(_, let wait?) in events { return wait.nanoseconds }
    return nil
  }
}
