import Bytes
import MarketData

/// What a venue wants done with a connection, in order.
package enum SimulatedOutput: Sendable {
  /// Send a text message.
  case text(SharedBytes)
  /// Send a ping frame with this payload.
  case ping([UInt8])
  /// Send a close frame and close.
  case close(code: UInt16, reason: String)
  /// Cut the connection at once.
  case abort
  /// For a check of a client against the venue (`SimulatedVenue.isWitnessed`): describes the next text, or one that is
  /// not sent. Nothing goes to the client.
  case witness(SimulatedWitness)
}

/// What a venue knows of a book message, and its client cannot.
package enum SimulatedWitness: Sendable {
  /// The next text brings a client's book to this state.
  case book(SimulatedTruth)
  /// A fault strikes a book message here: it is left out, changed, doubled or held back. `updateID` is the book's that
  /// it tells of.
  case struck(Fault.Kind, instrument: Int, updateID: Int64)
  /// The next text is one whose successor has been sent.
  case late(instrument: Int)
}

/// The true book of an instrument at a moment.
package struct SimulatedTruth: Sendable {
  /// The index in `SimulatedMarket.instruments`.
  package let instrument: Int
  package let book: SimulatedBook
  /// The id of the latest level change in it: larger is newer.
  package let updateID: Int64
  package let isSnapshot: Bool
}

/// A client's connection as its venue sees it: what it subscribed to, and what is to be sent to it. Sans-IO.
///
/// Subclassed by each venue's protocol. The caller takes `output` after every call.
package class SimulatedSession {
  /// Unique at its venue, rising.
  package final let id: Int
  package final let opened: Timestamp
  final let faults: FaultInjector
  private final var output: [SimulatedOutput] = []
  private final var held: (payload: SharedBytes, instrument: Int, truth: SimulatedTruth?, isCopy: Bool)?
  /// The instrument of a message that waits for the one that it is to follow.
  final var heldInstrument: Int? { held?.instrument }
  package final private(set) var framesSent = 0
  /// Nothing is sent or taken any more.
  package final private(set) var isEnded = false
  /// Open, but dead.
  final var isHalfOpen = false
  /// Whether the client said something while the venue was deaf: what it has not said is not its fault.
  final var wasUnheard = false
  /// What of the venue's arrives here.
  enum Carried { case everything, answers, nothing }
  final var carried: Carried
  final var lastSent: Timestamp
  /// Of the client's latest message that was read.
  final var lastHeard: Timestamp
  /// Moments of the client's latest messages, for the venue's rate limit.
  private final var arrivals: [Timestamp] = []

  required init(id: Int, faults: FaultInjector) {
    self.id = id
    self.faults = faults
    opened = faults.now
    lastHeard = faults.now
    carried = faults.carried
    lastSent = faults.now
  }

  /// What is to be done now, in order; empties it. Nothing while the connection is slow.
  package final func takeOutput() -> [SimulatedOutput] {
    guard !isStalled else { return [] }
    defer { output.removeAll(keepingCapacity: true) }
    return output
  }

  package final var hasOutput: Bool { !output.isEmpty && !isStalled }

  /// What is sent piles up on its way. A cut is no message: it comes through.
  private final var isStalled: Bool {
    guard faults.isSlow else { return false }
    if case .abort? = output.last { return false }
    return true
  }

  /// Sends a message, unless a fault has it otherwise.
  final func send(_ payload: SharedBytes, _ kind: SimulatedFrameKind = .control, instrument: Int = -1) {
    guard !isEnded, !isHalfOpen, isCarried(kind), !faults.isMuted(SimulatedContent(kind), of: instrument) else {
      return
    }
    if faults.losesTrades, case .trade = kind { return }
    let truth = faults.truth(kind, instrument: instrument)
    if !faults.pending.isEmpty {
      let (verdict, fault) = faults.verdict(payload, kind, instrument: instrument, session: id)
      if let fault, let truth {
        output.append(.witness(.struck(fault, instrument: instrument, updateID: truth.updateID)))
      }
      switch verdict {
      case .pass: break
      case .omit: return
      case .replace(let other): return put(other)
      case .twice: put(payload, truth)
      case .again:
        put(payload, truth)
        release(instrument)
        held = (payload, instrument, truth, true)
        return
      case .hold:
        held = (payload, instrument, truth, false)
        return
      }
    }
    // What is held back comes after its successor, but not after a new beginning.
    if case .bookSnapshot = kind { release(instrument) }
    put(payload, truth)
    switch kind {
    case .book: release(instrument)
    // A copy comes behind a whole change: between the messages of one, no book of the venue's is like the client's.
    case .bookPart: if held?.isCopy != true { release(instrument) }
    case .control, .heartbeat, .bookSnapshot, .trade, .ticker, .quote: break
    }
  }

  private final func isCarried(_ kind: SimulatedFrameKind) -> Bool {
    switch carried {
    case .everything: return true
    case .answers: if case .control = kind { return true } else { return false }
    case .nothing: return false
    }
  }

  private final func release(_ instrument: Int) {
    guard let held, held.instrument == instrument else { return }
    self.held = nil
    if held.truth != nil { output.append(.witness(.late(instrument: instrument))) }
    put(held.payload, held.truth)
  }

  private final func put(_ payload: SharedBytes, _ truth: SimulatedTruth? = nil) {
    guard !isEnded else { return }
    if let truth { output.append(.witness(.book(truth))) }
    output.append(.text(payload))
    lastSent = faults.now
    framesSent += 1
    if let limit = faults.frameLimit, framesSent >= limit {
      faults.count()
      abort()
    }
  }

  final func ping(_ payload: [UInt8]) {
    guard !isEnded, !isHalfOpen else { return }
    output.append(.ping(payload))
  }

  final func close(_ code: UInt16, _ reason: String) {
    guard !isEnded, !isHalfOpen else { return }
    output.append(.close(code: code, reason: reason))
    isEnded = true
  }

  final func abort() {
    guard !isEnded else { return }
    output.append(.abort)
    isEnded = true
  }

  /// Counts a message from the client; true if there were more than `limit` within the last `span` µs.
  final func exceeds(_ limit: Int, within span: Int64 = Microseconds.second) -> Bool {
    let now = faults.now
    arrivals.removeAll { now - $0 >= span }
    arrivals.append(now)
    if arrivals.count > limit + 1 { arrivals.removeFirst() }
    return arrivals.count > limit
  }
}
