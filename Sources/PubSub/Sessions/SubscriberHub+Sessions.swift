import MarketData

/// Clients that come back: their sessions, and the streams whose past they may want.
///
/// A session is looked for by the loop that its token names, which may be another than the one its client is now on. There it is
/// either a client that is still connected, whose connection is then closed with 4202, or a parked one. A token serves once: the new
/// connection has its own. Event streams of a parked session keep running without subscribers, so that the publisher's memory of them has no
/// hole.
extension SubscriberHub {
  /// Messages and bytes of them that one resume may replay, all streams together; those of the rest start with a snapshot.
  static let replayLimit = 8_192
  static let replayBytesLimit = 1 << 20

  /// Sessions that can be resumed. For metrics.
  package var parkedSessions: Int { parked.count }

  /// What another loop, or this one, says about a session.
  package func receive(_ message: SessionMessage, now: Timestamp, into actions: inout [HubAction]) {
    switch message {
    case .claim(let claim):
      let (isGranted, isPaused) = give(claim, now: now, into: &actions)
      actions.append(
        .session(
          .answer(client: claim.client, request: claim.request, isGranted: isGranted, isPaused: isPaused),
          loop: claim.loop))
    case .answer(let client, let request, let isGranted, let isPaused):
      guard let state = state(of: client), let pending = state.pending, pending.number == request else { return }
      if isGranted {
        pending.isResumed = true
        resumedSessions += 1
      }
      if isPaused { slots[Int(client.slot)].flags.insert(.paused) }
      join(pending.positions, pending, client, state, now: now, into: &actions)
    }
  }

  /// Begins to carry out `hello` with `resume`; the reply goes out when the session and every stream is answered for.
  func resume(
    _ resume: ClientRequest.Resume, _ id: String?, _ client: ClientID, _ state: ClientState, now: Timestamp,
    into actions: inout [HubAction]
  ) {
    if let error = tooManyNames(resume.items) { return refuse(error, id, client, state, now: now, into: &actions) }
    state.requests &+= 1
    let pending = PendingRequest(kind: .resume, id: id, number: state.requests)
    pending.positions = resume.items
    state.pending = pending
    guard let token = resume.session, let place = SessionToken.place(of: token), place.loop < loops,
      !(place.loop == loop && place.client == client)
    else { return join(resume.items, pending, client, state, now: now, into: &actions) }
    let claim = SessionClaim(
      token: token, subject: state.subject, loop: loop, client: client, request: pending.number)
    actions.append(.session(.claim(claim), loop: place.loop))
  }

  /// Gives a session away if it is here and the asker's.
  private func give(
    _ claim: SessionClaim, now: Timestamp, into actions: inout [HubAction]
  ) -> (isGranted: Bool, isPaused: Bool) {
    guard let place = SessionToken.place(of: claim.token) else { return (false, false) }
    if let state = anyState(of: place.client), !state.isClaimed, SessionToken.areEqual(state.session, claim.token) {
      guard state.subject == claim.subject else { return (false, false) }
      let isPaused = slots[Int(place.client.slot)].flags.contains(.paused)
      state.isClaimed = true
      let streams = eventStreams(of: state)
      hold(streams)
      parked.keep(streams, now: steady(now))
      disconnect(
        place.client, code: CloseCode.takenOver, reason: "another connection has taken this session over",
        into: &actions)
      return (true, isPaused)
    }
    guard let session = parked.take(claim.token, subject: claim.subject, now: steady(now)) else {
      return (false, false)
    }
    return (true, session.isPaused)
  }

  /// Keeps the session of a client that is gone.
  func park(_ state: ClientState, isPaused: Bool, into actions: inout [HubAction]) {
    guard !state.isClaimed, !state.subscriptions.isEmpty else { return }
    let streams = eventStreams(of: state)
    hold(streams)
    release(
      parked.park(
        state.session,
        .init(
          subject: state.subject, isPaused: isPaused, streams: streams,
          expires: lastAdvance + ParkedSessions.time)), into: &actions)
  }

  func expireSessions(_ now: Timestamp, into actions: inout [HubAction]) {
    release(parked.expire(at: now), into: &actions)
  }

  private func eventStreams(of state: ClientState) -> [UInt32] {
    state.subscriptions.map(\.stream).filter { lists[$0].key.channel.isEvent }
  }

  private func hold(_ streams: [UInt32]) { for stream in streams { lists[stream].holds += 1 } }

  private func release(_ streams: [UInt32], into actions: inout [HubAction]) {
    for stream in streams where lists.has(stream) {
      lists[stream].holds -= 1
      leaveIfEmpty(stream, into: &actions)
    }
  }
}
