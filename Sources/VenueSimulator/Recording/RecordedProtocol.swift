import Bytes
import MarketData

/// A venue that sends what it once sent.
///
/// Each session gets every frame from the first on, at the pace of the recording, from its first message; what it
/// subscribes to is not looked at. At the end it is closed with 1001, and gets all again when it comes back. A
/// recording of several connections is played as one.
///
/// REST requests are answered with what was recorded at the moment that the newest session has reached, or, if there
/// was nothing by then, with the next answer once its moment has come: a book snapshot is never from before the frames
/// that it is to be joined with. Without a session the first answer is given at once.
final class RecordedProtocol: VenueProtocol {
  private final class Session: SimulatedSession {
    /// The venue's time of the first frame; nil before the client's first message.
    var begun: Timestamp?
    /// The frame that is next.
    var next = 0
  }

  private let source: RecordedSource
  private var sessions: [Session] = []

  init(source: RecordedSource, market: SimulatedMarket, faults: FaultInjector) {
    self.source = source
    super.init(name: source.venue, market: market, faults: faults)
  }

  override var webSocketPath: String { source.path }

  override func open(id: Int, _ request: SimulatedRequest) throws(SimulatedRefusal) -> SimulatedSession {
    let session = Session(id: id, faults: faults)
    // Binance names streams in the URL.
    if request["streams"] != nil { session.begun = faults.now }
    sessions.append(session)
    return session
  }

  override func closed(_ session: SimulatedSession) { sessions.removeAll { $0 === session } }

  override func receive(_ text: RawSpan, from session: SimulatedSession) {
    guard let session = session as? Session, session.begun == nil else { return }
    session.begun = faults.now
    play(session, until: faults.now)
  }

  override func advance(to now: Timestamp) {
    for session in sessions { play(session, until: now) }
  }

  private func play(_ session: Session, until now: Timestamp) {
    guard let begun = session.begun, let first = source.frames.first?.time else { return }
    while !session.isEnded, session.next < source.frames.count {
      let frame = source.frames[session.next]
      guard frame.time - first <= now - begun else { return }
      session.next += 1
      session.send(frame.payload, .book(isVisible: true))
      faults.settle()
    }
    session.close(1001, "the recording has ended")
  }

  /// From the first frame to where the newest session is, µs; nil if there is none.
  private var position: Int64? {
    sessions.last { $0.begun != nil && !$0.isEnded }.flatMap { session in session.begun.map { faults.now - $0 } }
  }

  private func answers(_ request: SimulatedRequest) -> [RecordedSource.Answer] {
    source.answers[RecordedSource.key(path: request.path, query: request.query)]
      ?? source.answers[RecordedSource.key(path: request.path, query: [])] ?? []
  }

  private func offset(_ answer: RecordedSource.Answer) -> Int64 {
    source.frames.first.map { answer.time - $0.time } ?? 0
  }

  override func delay(_ request: SimulatedRequest) -> Int64 {
    guard let position, let first = answers(request).first else { return 0 }
    return max(0, offset(first) - position)
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse {
    let answers = answers(request)
    let position = position ?? .min
    guard let answer = answers.last(where: { offset($0) <= position }) ?? answers.first else {
      return SimulatedResponse(status: 404, body: #"{"msg":"the recording has no answer to this"}"#)
    }
    return SimulatedResponse(status: answer.status, body: answer.body)
  }

  /// Why a fault cannot be had from a recording; nil if it can.
  static func objection(to fault: Fault) -> String? {
    switch fault.kind {
    case .candles: "a recording has the candles that it has"
    case .names: "a recording has no names"
    case .mute: "channels of a recording are not told apart"
    case .trades: "a recording has no single trades"
    case .lostTrades: "frames of a recording are not told apart by channel"
    case .refuse: "a recording does not look at subscriptions"
    case .plannedShutdown: "a recording has no announcement of one"
    default: fault.symbol == nil ? nil : "frames of a recording are not told apart by symbol; leave the symbol out"
    }
  }
}
