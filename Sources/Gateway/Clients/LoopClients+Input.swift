import Bytes
import Operations
import PubSub
import Transport

/// Input from clients' connections to the hub: how much is read in one turn, and which client is next.
extension LoopClients {
  /// Whether a session's input may be taken in this turn.
  /// - Parameter isNext: whether it has waited and its turn has come.
  func mayTakeInput(of session: StreamSession, isNext: Bool) -> Bool {
    let isAhead = hub.isAheadOfRate(session.client, now: node.clock.now())
    return isNext
      ? inputTurn.hasTime(isAhead: isAhead, work: hub.workDone)
      : inputTurn.mayTake(isAhead: isAhead, work: hub.workDone)
  }

  /// How long a session's next bytes must wait, µs; see `SubscriberHub.inputDelay`.
  func inputDelay(of session: StreamSession) -> Int64 { hub.inputDelay(of: session.client, now: node.clock.now()) }

  /// Charges a client for what was read from it.
  func charge(bytes: Int, frames: Int, to session: StreamSession) {
    hub.charge(bytes: bytes, frames: frames, to: session.client, now: node.clock.now())
  }

  /// Whether an address may open another stream on this loop.
  func admits(_ address: IPAddress) -> Bool { hub.admits(ClientAddress(address.subscriber), now: node.clock.now()) }

  func receive(_ message: RawSpan, from session: StreamSession) {
    node.metrics.requests += 1
    hub.receive(message, from: session.client, now: node.clock.now(), into: &node.work.actions)
  }

  func receiveControlFrame(from session: StreamSession) {
    hub.receiveControlFrame(from: session.client, now: node.clock.now(), into: &node.work.actions)
  }

  /// Makes the session take its input in the next turn, behind those of its kind that wait already.
  func waitForTurn(_ session: StreamSession) {
    inputTurn.wait(session, isAhead: hub.isAheadOfRate(session.client, now: node.clock.now()))
    scheduleInput()
  }

  private func scheduleInput() {
    guard !inputTurn.isScheduled else { return }
    inputTurn.isScheduled = true
    loop.execute { [self] in takeWaitingInput() }
  }

  private func takeWaitingInput() {
    inputTurn.isScheduled = false
    for isAhead in [false, true] {
      let waiting = inputTurn.takeWaiting(isAhead: isAhead)
      var taken = 0
      while taken < waiting.count, inputTurn.hasTime(isAhead: isAhead, work: hub.workDone) {
        waiting[taken].takeHeldInput()
        taken += 1
      }
      inputTurn.putBack(waiting[taken...], isAhead: isAhead)
    }
    if !inputTurn.isEmpty { scheduleInput() }
  }
}

extension ClientAddress {
  /// - Parameter address: of a subscriber (`IPAddress.subscriber`).
  init(_ address: IPAddress) { self.init(high: address.high, low: address.low) }
}
