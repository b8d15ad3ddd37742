import Bytes
import PubSub
import Transport

/// From clients' connections to the hub: how much of it in one turn, and who is next.
extension LoopNode {
  /// Work that clients' input may cost in one turn, in the unit of `ClientAllowance`: 2 to 4 ms. What is left waits for the next, so that
  /// heartbeats, market data and probes are never further away than that and one request.
  private static let workPerTurn: UInt64 = 1 << 20

  /// Whether a session's input may be taken in this turn. Those that had to wait go before those that came since.
  func mayTakeInput(isNext: Bool) -> Bool {
    hub.workDone &- inputTurn.workBefore < Self.workPerTurn && (isNext || inputTurn.waiting.isEmpty)
  }

  /// How long a session's next bytes have to wait, µs; see `SubscriberHub.inputDelay`.
  func inputDelay(of session: StreamSession) -> Int64 { hub.inputDelay(of: session.client, now: clock.now()) }

  /// Books what was read from a session's client.
  func charge(bytes: Int, frames: Int, to session: StreamSession) {
    hub.charge(bytes: bytes, frames: frames, to: session.client, now: clock.now())
  }

  func receive(_ message: RawSpan, from session: StreamSession) {
    metrics.requests += 1
    hub.receive(message, from: session.client, now: clock.now(), into: &actions)
  }

  func receiveControlFrame(from session: StreamSession) {
    hub.receiveControlFrame(from: session.client, now: clock.now(), into: &actions)
  }

  /// Has the session take its input in the next turn, behind those that wait already.
  func waitForTurn(_ session: StreamSession) {
    inputTurn.waiting.append(session)
    guard inputTurn.waiting.count == 1 else { return }
    loop.execute { [self] in takeWaitingInput() }
  }

  private func takeWaitingInput() {
    let waiting = inputTurn.waiting
    inputTurn.waiting.removeAll(keepingCapacity: true)
    for session in waiting { session.takeHeldInput() }
  }
}

/// The sessions whose input waits for a turn of their loop.
struct InputTurn {
  /// In the order in which they came; each once.
  var waiting: [StreamSession] = []
  /// What had been done for clients before this turn.
  private(set) var workBefore: UInt64 = 0
  /// The most that was done in one turn. For tests.
  private(set) var mostWork: UInt64 = 0

  /// A turn ends, by which so much had been done for clients.
  mutating func end(at work: UInt64) {
    mostWork = max(mostWork, work &- workBefore)
    workBefore = work
  }
}
