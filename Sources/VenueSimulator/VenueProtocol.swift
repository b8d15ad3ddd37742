import Bytes
import MarketData

/// A REST answer.
package struct SimulatedResponse: Sendable {
  package var status: Int
  package var fields: [(name: String, value: String)]
  /// JSON.
  package var body: String
  /// The true book that the body was made of, if it is one and the venue is witnessed.
  package var truth: SimulatedTruth?

  package init(status: Int = 200, fields: [(name: String, value: String)] = [], body: String) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// What its `Retry-After` says, µs.
  package var retryAfter: Int64? {
    fields.first { $0.name == "Retry-After" }.flatMap { Int64($0.value) }.map { $0 * Microseconds.second }
  }
}

/// A subscription, as its venue has it.
package struct SimulatedStream: Hashable, Sendable {
  /// The simulation's own name for the channel.
  package let channel: String
  /// The index in `SimulatedMarket.instruments`; -1 for a channel that is of none.
  package let instrument: Int
}

/// A request for a connection that the venue does not take: the HTTP status and reason it answers with.
package struct SimulatedRefusal: Error, Sendable, Equatable {
  package let status: Int
  package let reason: String
}

/// One exchange's protocol: how its market reads on the wire. Sans-IO; subclassed once per venue, driven by
/// `SimulatedVenue`.
package class VenueProtocol {
  /// `kraken`.
  package final let name: String
  package final let market: SimulatedMarket
  final let faults: FaultInjector
  /// The distance of `tick`s, µs.
  package static let tickInterval: Int64 = 50 * Microseconds.millisecond

  init(name: String, market: SimulatedMarket, faults: FaultInjector) {
    self.name = name
    self.market = market
    self.faults = faults
  }

  /// Whether it sends its text in binary frames.
  package var sendsBinary: Bool { false }

  /// The path that `webSocketURL` ends in.
  package var webSocketPath: String { "/" }

  /// A session for a connection, with what it is sent at once.
  func open(id: Int, _ request: SimulatedRequest) throws(SimulatedRefusal) -> SimulatedSession {
    fatalError("a venue's protocol makes its sessions")
  }
  func closed(_ session: SimulatedSession) {}
  /// A text message from the client.
  func receive(_ text: RawSpan, from session: SimulatedSession) {}
  /// A ping from the client, which the connection answers.
  func receivedPing(from session: SimulatedSession) {}
  func receivedPong(_ payload: UnsafeRawBufferPointer, from session: SimulatedSession) {}
  /// A moment of the market has happened.
  func publish(_ change: SimulatedChange) {}
  /// Another 50 ms have passed.
  func tick(_ now: Timestamp, sessions: [SimulatedSession]) {}
  /// Time has come this far, outside a silence.
  func advance(to now: Timestamp) {}
  /// µs by which the answer to a GET is to be late.
  func delay(_ request: SimulatedRequest) -> Int64 { 0 }
  /// Answers a GET.
  func respond(_ request: SimulatedRequest) -> SimulatedResponse { SimulatedResponse(status: 404, body: "{}") }
  /// Answers a POST.
  func respond(path: String, body: RawSpan) -> SimulatedResponse { SimulatedResponse(status: 405, body: "{}") }
  /// The faults that this venue can have and others cannot: `.checksum` where clients check one, `.plannedShutdown`
  /// where the venue announces it, `.staleSnapshot` where books come by REST, `.names` where the venue lists assets,
  /// `.trades` where clients request single ones.
  class var special: Set<Fault.Kind> { [] }
  /// Why a fault cannot be had from this venue; nil if it can.
  package static func objection(to kind: Fault.Kind) -> String? {
    switch kind {
    case _ where special.contains(kind): nil
    case .checksum: "its messages have no checksum, or none that is checked"
    case .plannedShutdown: "it announces none"
    case .staleSnapshot: "its books come in the stream"
    case .names: "it says no names"
    case .trades: "nobody asks it for single trades"
    default: nil
    }
  }
  /// The next book snapshot by REST is to be the one of now, whenever it is asked for; of one instrument, or of all.
  func keepSnapshots(of instrument: Int?) {}
  /// Announces a planned shutdown.
  func announceShutdown(to session: SimulatedSession) {}
  /// What a session has subscribed to, in order.
  func streams(of session: SimulatedSession) -> [SimulatedStream] { [] }
}
