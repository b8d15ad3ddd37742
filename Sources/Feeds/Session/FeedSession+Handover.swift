import Bytes
import Logging
import MarketData
import PubSub
import Transport
import Venues

/// A planned change of connection that is under way.
struct ConnectionHandover {
  var core: FeedHandover
  var connection: FeedConnection
  /// The next connection's messages from before it takes over, if the feed is recorded.
  var recording: HeldRecording?
  let reason: String
  let began: Timestamp
  /// When the old connection ends, or must be given up.
  var deadline: Timestamp
  var backoff = FeedSession.backoff(limit: 10)
  /// When the next attempt is made; nil while one is under way.
  var retryAt: Timestamp?

  mutating func timeJumped(by jump: Int64) {
    connection.timeJumped(by: jump)
    deadline = deadline + jump
    retryAt = retryAt.map { $0 + jump }
  }
}

/// Make before break. If the end of a connection is known beforehand, the feed opens the next one, subscribes on it and
/// builds its books while the present one continues. Then it changes over in one turn of the loop. The feed is `live`
/// throughout.
///
/// - The present connection ends before the next one has everything: the next one takes over with what it has.
/// - The next one fails: the feed tries another, until the deadline.
/// - The deadline comes: the next one takes over with what it has. If it has nothing, the feed starts again as after
///   any loss.
extension FeedSession {
  private var age: ConnectionAge? { pipeline.venue.connectionLifetime.map { ConnectionAge(lifetime: $0) } }

  /// Plans the change that the venue's limit on the age of connections requires.
  func planRenewal() {
    guard let age, let opened = connection.openedAt else { return }
    renewalDue = age.renewal(of: opened, random: loop.kernel.randomUInt32())
  }

  /// Follows other symbols, or uses another endpoint, from the next connection on, which it opens at once. Books of
  /// symbols that stay are live throughout.
  package func follow(_ configuration: FeedConfiguration, _ now: Timestamp) {
    (configured, stopped) = (configuration, [])
    followWanted(now)
  }

  private func followWanted(_ now: Timestamp) {
    if handover != nil { endHandover(now) }
    wanted = configured.without(stopped)
  }

  /// The outcome of an order about one symbol.
  package enum SymbolOutcome: Sendable {
    case done
    /// The feed does not follow the symbol, or had not stopped it.
    case unknown
    /// It is the feed's last symbol.
    case last
  }

  /// Stops one symbol, `BTC-USD`, until an operator starts it again or the feed's configuration changes. The books of
  /// the others are live throughout.
  package func stop(symbol: String, _ now: Timestamp) -> SymbolOutcome {
    let name = "\(pipeline.venue.name):\(symbol)"
    let followed = pipeline.market.instruments.map(\.instrument.symbol).filter { !leftOut.contains($0) }
    guard !stopped.contains(symbol), followed.contains(name) || configured.symbols.contains(symbol) else {
      return .unknown
    }
    let rest = Set(followed).union(configured.symbols.map { "\(pipeline.venue.name):\($0)" }).subtracting([name])
    guard rest.contains(where: { !stopped.contains(String($0.dropFirst(pipeline.venue.name.count + 1))) }) else {
      return .last
    }
    stopped.insert(symbol)
    followWanted(now)
    return .done
  }

  /// Starts a stopped symbol again.
  package func start(symbol: String, _ now: Timestamp) -> SymbolOutcome {
    guard stopped.remove(symbol) != nil else { return .unknown }
    followWanted(now)
    return .done
  }

  /// Rebuilds the book of one symbol.
  package func resync(symbol: String, _ now: Timestamp) -> SymbolOutcome {
    let name = "\(pipeline.venue.name):\(symbol)"
    guard !leftOut.contains(name), pipeline.lostTrack(of: name, now: now) else { return .unknown }
    return .done
  }

  /// How long the connection with the former symbols continues at most while the next one is made, µs.
  static var changeLimit: Int64 { 5 * Microseconds.minute }

  /// Begins a change, unless one is under way or no connection is open.
  func beginHandover(_ reason: String, deadline: Timestamp, _ now: Timestamp) {
    if let present = handover {
      handover?.deadline = min(present.deadline, deadline)
      return
    }
    guard connection.openedAt != nil else { return }
    log.notice("the connection will end: the next one is opened first", metadata: ["reason": "\(reason)"])
    let (core, next, recording) = makeSuccessor()
    handover = ConnectionHandover(
      core: core, connection: next, recording: recording, reason: reason, began: now, deadline: deadline)
    status.reason = "\(reason): the next connection opens before this one closes"
    statusChanged(now)
    beginSuccessor(now)
  }

  private func makeSuccessor() -> (FeedHandover, FeedConnection, HeldRecording?) {
    let core = FeedHandover(
      of: pipeline, configuration: wanted ?? pipeline.engine.configuration, changesSymbols: wanted != nil)
    let recording = parts.recorder == nil ? nil : HeldRecording()
    let next = FeedConnection(pipeline: core.successor, loop: loop, parts: parts, recorder: recording, log: log)
    next.handler = handler
    return (core, next, recording)
  }

  /// Cancels a change that is under way.
  func endHandover(_ now: Timestamp) {
    guard let ended = handover else { return }
    handover = nil
    ended.core.cancel()
    retire(ended.connection, now)
    status.reason = nil
  }

  /// Ends a connection and adds its counts to the feed's.
  private func retire(_ connection: FeedConnection, _ now: Timestamp) {
    connection.end(now)
    retiredBytes += connection.bytesReceived
    retiredConnects += connection.connects
  }

  // MARK: The successor

  private func beginSuccessor(_ now: Timestamp) {
    handover?.connection.begin(now)
    settleSuccessor(now)
  }

  /// Takes what happened on the next connection.
  func takeOfSuccessor(_ event: FeedConnection.Event, _ now: Timestamp) {
    switch event {
    case .opened, .received, .answered: settleSuccessor(now)
    case .lost(let reason): successorLost(reason, now)
    }
  }

  /// Takes what the next connection's last call brought, and does what its pipeline asks for.
  private func settleSuccessor(_ now: Timestamp) {
    guard let core = handover?.core, let next = handover?.connection else { return }
    core.collect()
    for action in core.successor.takeActions() where action.outlivesConnection || next.isUnderWay {
      switch action {
      case .send(let text):
        core.noteRequest(now: now)
        next.send(text, now)
      case .get(let request, let path, let bodyLimit):
        if let reason = next.get(path, request: request, bodyLimit: bodyLimit) { successorLost(reason, now) }
      case .symbolFailed(let symbol, let reason): core.noteRefusal(symbol, reason)
      case .symbolAccepted: break
      case .reconnect(let reason), .renew(let reason, _): successorLost(reason, now)
      case .maintenance(let isOn): if isOn { successorLost("the venue is under maintenance", now) }
      }
    }
    if let reason = next.connectIfPrepared() { successorLost(reason, now) }
  }

  /// The next connection failed or was lost: tries another, if there is time.
  private func successorLost(_ reason: String, _ now: Timestamp) {
    guard let current = handover, current.retryAt == nil else { return }
    current.core.cancel()
    current.connection.end(now)
    let wait = handover?.backoff.next(random: UInt64(loop.kernel.randomUInt32())) ?? 0
    handover?.retryAt = now + wait
    let milliseconds = wait / Microseconds.millisecond
    log.warning("the next connection was lost", metadata: ["reason": "\(reason)", "wait_ms": "\(milliseconds)"])
  }

  private func retrySuccessor(_ now: Timestamp) {
    guard let old = handover?.connection else { return }
    retire(old, now)
    let (core, next, recording) = makeSuccessor()
    handover?.core = core
    handover?.connection = next
    handover?.recording = recording
    handover?.retryAt = nil
    beginSuccessor(now)
  }

  // MARK: Time

  /// Advances a change under way, and begins one that is due. Called about four times a second.
  func checkHandover(_ now: Timestamp) {
    if handover == nil, let renewalDue, now >= renewalDue, let age, let opened = connection.openedAt {
      self.renewalDue = nil
      beginHandover(
        "the venue ends connections after \(Self.words(age.lifetime))",
        deadline: age.deadline(of: opened), now)
    }
    if handover == nil, wanted != nil, connection.openedAt != nil {
      beginHandover("other symbols are configured", deadline: now + Self.changeLimit, now)
    }
    guard let current = handover else { return }
    if let retryAt = current.retryAt {
      if now >= retryAt, retryAt < current.deadline { retrySuccessor(now) }
    } else {
      current.connection.tick(now)
      settleSuccessor(now)
      if handover?.retryAt == nil, case .lost(let reason) = current.connection.check(now) { successorLost(reason, now) }
      guard handover?.retryAt == nil else { return }
      if current.core.successor.market.nextDeadline <= now {
        current.core.successor.advance(now: now)
        settleSuccessor(now)
      }
      if current.connection.openedAt != nil, handover?.core.standing(now: now) == .ready {
        if takeOver(now) { return }
        return lost("\(current.reason); the next connection's data does not continue this one's", now)
      }
    }
    guard let late = handover, now >= late.deadline else { return }
    if takeOverEarly("the deadline has come", now) { return }
    handoversFailed += 1
    lost("\(late.reason); no other connection could be made in time", now)
  }

  private static func words(_ lifetime: Int64) -> String {
    lifetime >= Microseconds.hour ? "\(lifetime / Microseconds.hour) h" : "\(lifetime / Microseconds.second) s"
  }

  // MARK: The change

  /// The next connection takes over with what it has. False if it has nothing.
  func takeOverEarly(_ reason: String, _ now: Timestamp) -> Bool {
    guard let current = handover, current.retryAt == nil, current.connection.openedAt != nil,
      current.core.booksInSync > 0
    else { return false }
    log.notice("the next connection takes over early", metadata: ["reason": "\(reason)"])
    return takeOver(now, isEarly: true)
  }

  private func takeOver(_ now: Timestamp, isEarly: Bool = false) -> Bool {
    guard let current = handover else { return false }
    let left = current.core.leftOut
    guard current.core.takeOver(now: now) else {
      handoversFailed += 1
      return false
    }
    handover = nil
    let old = connection
    connection = current.connection
    connection.pipeline = pipeline
    noteSource()
    connectionsReplaced += 1
    if wanted != nil { noteLeftOut(left) }
    if !isEarly { old.leave(now) }
    retire(old, now)
    current.recording?.release(into: parts.recorder)
    connection.recorder = parts.recorder
    for (symbol, reason) in current.core.refusals { refused(symbol, reason, now) }
    status.reason = nil
    status.attempt = nil
    planRenewal()
    let books = pipeline.market.instruments.count { $0.bookState == .live }
    log.notice(
      "the connection was replaced",
      metadata: [
        "reason": "\(current.reason)", "overlap_ms": "\((now - current.began) / Microseconds.millisecond)",
        "books_live": "\(books)", "books": "\(pipeline.market.instruments.count)",
      ])
    let isWhole = pipeline.market.instruments.allSatisfy {
      $0.bookState == .live || status.failed[$0.instrument.symbol] != nil || leftOut.contains($0.instrument.symbol)
    }
    if !isWhole || status.state == .stale { set(.syncing, reason: "on another connection", now) }
    statusChanged(now)
    return true
  }

  /// The connection follows the wanted symbols now: forgets all others and removes them from every list.
  private func noteLeftOut(_ symbols: [String]) {
    wanted = nil
    let configured = pipeline.engine.configuration.symbols.map { "\(pipeline.venue.name):\($0)" }
    leftOut = Set(symbols).union(leftOut).subtracting(pipeline.followed).subtracting(configured)
    for symbol in leftOut {
      status.failed[symbol] = nil
      status.syncing[symbol] = nil
      status.silent[symbol] = nil
    }
    news.leftOut += symbols
  }
}

extension FeedConfiguration {
  /// The same without some symbols: they are neither named nor part of a selection.
  fileprivate func without(_ stopped: Set<String>) -> FeedConfiguration {
    var rest = self
    rest.symbols.removeAll { stopped.contains($0) }
    rest.elsewhere += stopped.sorted()
    return rest
  }
}
