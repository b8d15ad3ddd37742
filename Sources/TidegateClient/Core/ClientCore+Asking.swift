/// Requests that have an answer of their own.
extension ClientCore {
  /// Sends a request, as soon as there is a connection, or never if that takes longer than a reply may; the number
  /// under which `answer` has its answer.
  mutating func ask(_ request: AlertRequest, now: UInt64, into actions: inout [ClientAction]) -> Int {
    let id = takeSerial()
    guard let fields = request.fields else {
      asked[id] = .failure(.invalid)
      return id
    }
    guard phase != .stopped, unsent.count < Self.unsentLimit else {
      asked[id] = .failure(.notConnected)
      return id
    }
    asked[id] = .some(nil)
    unsent.append((id, fields, now + options.replyTimeout.nanoseconds))
    if phase == .open, isWelcome { sendAsked(now: now, into: &actions) }
    return id
  }

  /// Takes the answer of a request; nil: it has not come.
  mutating func answer(_ id: Int) -> Result<AlertAnswer, RequestFailure>? {
    guard let answer = asked[id] ?? nil else { return nil }
    asked[id] = nil
    return answer
  }

  /// Nobody waits for the answer any more.
  mutating func forget(_ id: Int) { asked[id] = nil }

  mutating func answered(
    _ id: Int, _ answer: Result<AlertAnswer, RequestFailure>, into actions: inout [ClientAction]
  ) {
    guard asked[id] != nil else { return }
    asked[id] = answer
    actions.append(.wake(id))
  }

  /// Sends what waits for a connection.
  mutating func sendAsked(now: UInt64, into actions: inout [ClientAction]) {
    let waiting = unsent
    unsent.removeAll()
    for (id, fields, _) in waiting where asked[id] == .some(nil) {
      actions.append(.send(Requests.alert(id: takeID(.ask(id), now: now), fields: fields)))
    }
  }

  /// Gives up what has waited for a connection for as long as a reply may take.
  mutating func expireAsked(now: UInt64, into actions: inout [ClientAction]) {
    let late = unsent.filter { $0.deadline <= now }
    unsent.removeAll { $0.deadline <= now }
    for (id, _, _) in late { answered(id, .failure(.notConnected), into: &actions) }
  }

  /// The connection is gone: no answer will come to what was sent.
  mutating func failAsked(into actions: inout [ClientAction]) {
    let waiting = Set(unsent.map(\.id))
    for id in asked.keys.sorted() where asked[id] == .some(nil) && !waiting.contains(id) {
      answered(id, .failure(.notConnected), into: &actions)
    }
  }

  /// There will be no connection.
  mutating func endAsked(into actions: inout [ClientAction]) {
    unsent.removeAll()
    failAsked(into: &actions)
  }
}
