import Bytes
import HTTP1
import Logging
import MarketData
import PubSub
import Transport
import Venues

/// A feed of one venue for the life of the gateway: connects, subscribes, watches, and connects again after every loss.
/// Owned by one loop.
///
/// A `FeedConnection` moves the bytes and a `FeedPipeline` knows what they mean. The session alone decides the feed's
/// state and gives the reason for each change. It also decides when to give a connection up, and when to replace one by
/// another that is opened first.
package final class FeedSession: Feed {
  /// The field of a log line that names its event.
  package static let eventKey = "event"
  /// After this long in `live` the back-off starts again from its first step, µs.
  private static let steadyAfter = 60 * Microseconds.second
  /// After this long the feed counts as live even if some books are still incomplete, µs.
  private static let syncLimit = 10 * Microseconds.second

  package let pipeline: FeedPipeline
  /// The slot of its market in the publisher of its node.
  package private(set) var slot: Int
  package internal(set) var status: FeedStatus
  /// Bytes received on all of the feed's connections so far.
  package var bytesReceived: UInt64 {
    retiredBytes + connection.bytesReceived + (handover?.connection.bytesReceived ?? 0)
  }
  package var connects: Int { retiredConnects + connection.connects + (handover?.connection.connects ?? 0) }
  /// Connections that were replaced without a gap.
  package internal(set) var connectionsReplaced = 0
  /// Handovers that failed, so that the feed had to start again.
  package internal(set) var handoversFailed = 0
  /// How often the venue fell silent on an open connection.
  package private(set) var silences = 0
  /// How often a book lost sync, by reason; a lost connection does not count.
  package private(set) var resyncs: [ResyncReason: Int] = [:]
  /// How often a channel beside a book was found dead while others lived, by channel; attempts to revive it that did
  /// not help count, too.
  package private(set) var channelSilences: [MarketChannel: Int] = [:]

  package weak var handler: (any FeedHandler)? {
    didSet {
      connection.handler = handler
      handover?.connection.handler = handler
    }
  }
  var news = FeedNews()
  package var hasNews: Bool { !news.isEmpty }
  let loop: EventLoop
  private(set) var parts: FeedParts
  package let log: Logger
  var connection: FeedConnection
  var handover: ConnectionHandover?
  /// When the venue's limit on the age of connections requires another one; nil if nothing is planned.
  var renewalDue: Timestamp?
  /// What the next connection must follow; nil: the same as this one.
  var wanted: FeedConfiguration?
  /// The symbols of the configuration, and those of them that an operator has stopped.
  package internal(set) var configured: FeedConfiguration
  package internal(set) var stopped: Set<String> = []
  /// Symbols that the feed no longer follows.
  package internal(set) var leftOut: Set<String> = []
  var retiredBytes: UInt64 = 0
  var retiredConnects = 0
  private var backoff: Backoff
  private var wait: LoopTimer?
  /// Whether the wait before another attempt is over, and the attempt has not begun.
  private var isDue = false
  private var liveSince: Timestamp?
  private var failedBooks = FailedBooks()
  private var isRunning = false
  private var isSourceLogged = false
  /// Changed instruments that were not announced yet. Bounded by the number of instruments.
  private var changedInstruments: Set<InstrumentID> = []

  package init(pipeline: FeedPipeline, slot: Int, loop: EventLoop, parts: FeedParts, now: Timestamp) {
    self.backoff = Self.backoff(limit: parts.reconnectLimitSeconds)
    self.pipeline = pipeline
    self.configured = pipeline.engine.configuration
    self.slot = slot
    self.loop = loop
    self.parts = parts
    var log = parts.log
    log[metadataKey: "venue"] = "\(pipeline.venue.label)"
    self.log = log
    self.status = FeedStatus(venue: pipeline.venue.name, state: .connecting, since: now)
    self.connection = FeedConnection(pipeline: pipeline, loop: loop, parts: parts, recorder: parts.recorder, log: log)
    status.source = parts.source
  }

  package var nextDeadline: Timestamp { pipeline.market.nextDeadline }

  // MARK: Life

  /// Starts the feed; does nothing if it runs already.
  package func start(_ now: Timestamp) {
    loop.assertOnLoop()
    guard !isRunning else { return }
    isRunning = true
    connection.begin(now)
  }

  /// Continues with another owner, in its present state.
  /// - Parameter recorder: records from the next connection on, which is opened at once, since a recording begins with
  ///   a connection's first message. Nil: nothing is recorded.
  package func move(to handler: any FeedHandler, slot: Int, recorder: (any FeedRecorder)?, _ now: Timestamp) {
    loop.assertOnLoop()
    (self.handler, self.slot) = (handler, slot)
    guard let recorder else { return }
    endHandover(now)
    parts.recorder = recorder
    beginHandover("a recording begins", deadline: now + FeedSession.changeLimit, now)
  }

  package func stop(_ now: Timestamp) { stop(.disconnected, reason: "stopped", now) }

  /// Ends the feed for good.
  /// - Parameters:
  ///   - state: the state that clients see from then on.
  ///   - reason: the reason that clients see.
  package func stop(_ state: FeedState, reason: String, _ now: Timestamp) {
    guard isRunning else { return }
    isRunning = false
    wait?.cancel()
    wait = nil
    isDue = false
    tearDown(now, isRecorded: false)
    set(state, reason: reason, now)
  }

  /// The waits between attempts to connect, µs. They are random, since many gateways may follow one venue, with a last
  /// ceiling of at least 1 s.
  static func backoff(limit seconds: Int) -> Backoff {
    Backoff(first: 250 * Microseconds.millisecond, limit: Int64(max(1, seconds)) * Microseconds.second)
  }

  /// The connection was lost or could not be made: reports it, waits, starts again.
  package func lost(_ reason: String, _ now: Timestamp) {
    guard isRunning, wait == nil, !isDue else { return }
    if let liveSince, now - liveSince >= FeedSession.steadyAfter { backoff.reset() }
    tearDown(now)
    if status.gapFrom == nil || status.gapTo != nil, let last = status.lastMessage {
      status.gapFrom = last
      status.gapTo = nil
    }
    let delay = backoff.next(random: UInt64(loop.kernel.randomUInt32()))
    status.attempt = backoff.attempts
    set(.reconnecting, reason: reason, now, force: true, isLogged: false)
    let milliseconds = delay / Microseconds.millisecond
    log.warning(
      "feed lost", metadata: ["reason": "\(reason)", "attempt": "\(backoff.attempts)", "wait_ms": "\(milliseconds)"])
    wait = loop.schedule(after: .microseconds(delay)) { [weak self] in
      guard let self else { return }
      wait = nil
      isDue = true
      handler?.feedArrived()
    }
  }

  private func tearDown(_ now: Timestamp, isRecorded: Bool = true) {
    endHandover(now)
    connection.end(now, isRecorded: isRecorded)
    liveSince = nil
    renewalDue = nil
    pipeline.disconnected(now: now)
  }

  // MARK: What comes

  /// Takes the next message of `input`, which `transport` received. True if there was one, or the connection was lost:
  /// call again when the feed has settled. False if nothing is left, or `transport` no longer serves the feed.
  package func receive(
    _ input: inout UnsafeMutableRawBufferPointer, from transport: Connection, _ now: Timestamp
  ) -> Bool {
    if connection.uses(transport) {
      guard let event = connection.next(&input, now) else { return false }
      take(event, now)
      return true
    }
    guard let successor = handover?.connection, successor.uses(transport),
      let event = successor.next(&input, now)
    else { return false }
    takeOfSuccessor(event, now)
    return true
  }

  /// Takes the end of a transport; false if `transport` no longer serves the feed, which has ended it itself.
  package func closed(_ transport: Connection, _ reason: CloseReason, _ now: Timestamp) -> Bool {
    if connection.uses(transport) {
      connectionLost(connection.closed(reason), now)
      return true
    }
    guard let successor = handover?.connection, successor.uses(transport) else { return false }
    takeOfSuccessor(.lost(successor.closed(reason)), now)
    return true
  }

  package func takeArrival(_ now: Timestamp) -> Bool {
    if isDue {
      isDue = false
      connection.begin(now)
    } else if let event = connection.takeArrival(now) {
      take(event, now)
    } else if let event = handover?.connection.takeArrival(now) {
      takeOfSuccessor(event, now)
    } else {
      return false
    }
    return true
  }

  private func take(_ event: FeedConnection.Event, _ now: Timestamp) {
    switch event {
    case .opened:
      status.attempt = nil
      noteSource()
      planRenewal()
      set(.syncing, reason: nil, now)
    case .received(let isMarket): if isMarket { heardMarket(now) }
    case .answered: break
    case .lost(let reason): connectionLost(reason, now)
    }
  }

  private func connectionLost(_ reason: String, _ now: Timestamp) {
    // A next connection that is under way has more by now than a new start would have for a while.
    if !takeOverEarly(reason, now) { lost(reason, now) }
  }

  /// Marks the feed as simulated if the exchange at the other end says so.
  func noteSource() {
    let source = connection.isSimulated ? .simulated : parts.source
    if source != .live, !isSourceLogged {
      isSourceLogged = true
      log.warning("the prices of this feed are not real", metadata: ["source": "\(source.rawValue)"])
    }
    guard status.source != source else { return }
    status.source = source
    news.isStatusChanged = true
  }

  private func heardMarket(_ now: Timestamp) {
    status.lastMessage = now
    if status.gapFrom != nil, status.gapTo == nil { status.gapTo = now }
    if status.state == .stale { set(.syncing, reason: "data again", now) }
  }

  // MARK: What the pipeline asks for

  package func settled(_ now: Timestamp) -> Bool {
    if !pipeline.changes.items.isEmpty {
      let touched = noteBookStates(now)
      pipeline.clear()
      if touched { statusChanged(now) }
    }
    if !pipeline.engine.actions.isEmpty {
      // An action may end the connection, or put the next one in its place: what follows was meant for this one.
      let current = connection
      for action in pipeline.takeActions()
      where action.outlivesConnection || connection === current && current.isUnderWay {
        perform(action, now)
      }
    }
    if let reason = connection.connectIfPrepared() { connectionLost(reason, now) }
    return !pipeline.changes.items.isEmpty || !pipeline.engine.actions.isEmpty
  }

  package func takeNews() -> FeedNews {
    defer { news = FeedNews() }
    return news
  }

  private func noteBookStates(_ now: Timestamp) -> Bool {
    var touched = false
    for change in pipeline.changes.items {
      switch change {
      case .bookState(let id, let state):
        touched = true
        changedInstruments.insert(id)
        let symbol = pipeline.market[id].instrument.symbol
        if leftOut.contains(symbol) { continue }
        switch state {
        case .live:
          status.syncing[symbol] = nil
          if status.failed[symbol] != nil { accepted(symbol) }
        case .syncing(let reason):
          if let reason, reason != .disconnected, status.syncing[symbol] == nil { resyncs[reason, default: 0] += 1 }
          status.syncing[symbol] = reason?.description ?? "awaiting a snapshot"
        case .absent: status.syncing[symbol] = "awaiting a snapshot"
        }
      case .channel(let id, let channel, let state):
        touched = true
        note(channel, state, of: pipeline.market[id].instrument.symbol)
      case .instrument(let id):
        touched = true
        changedInstruments.insert(id)
      default: break
      }
    }
    return touched
  }

  private func note(_ channel: MarketChannel, _ state: ChannelState, of symbol: String) {
    guard !leftOut.contains(symbol) else { return }
    var silent = status.silent[symbol] ?? []
    switch state {
    case .doubted: return
    case .live:
      silent.remove(MarketChannels(channel))
      log.notice("channel live again", metadata: ["symbol": "\(symbol)", "channel": "\(channel.name)"])
    case .silent(let attempt):
      silent.insert(MarketChannels(channel))
      channelSilences[channel, default: 0] += 1
      log.warning(
        "channel silent: subscribing again",
        metadata: [
          "symbol": "\(symbol)", "channel": "\(channel.name)", "reason": "\(channel.silenceReason)",
          "attempt": "\(attempt)",
        ])
    }
    status.silent[symbol] = silent.isEmpty ? nil : silent
  }

  package func takeChangedInstruments() -> Set<InstrumentID> {
    defer { changedInstruments.removeAll(keepingCapacity: true) }
    guard !leftOut.isEmpty else { return changedInstruments }
    return changedInstruments.filter { !leftOut.contains(pipeline.market[$0].instrument.symbol) }
  }

  private func perform(_ action: FeedAction, _ now: Timestamp) {
    switch action {
    case .send(let text): connection.send(text, now)
    case .get(let request, let path, let bodyLimit):
      if let reason = connection.get(path, request: request, bodyLimit: bodyLimit) { connectionLost(reason, now) }
    case .reconnect(let reason): lost(reason, now)
    case .renew(let reason, let within): beginHandover(reason, deadline: now + within, now)
    case .symbolFailed(let symbol, let reason):
      refused(symbol, reason, now)
      statusChanged(now)
    case .symbolAccepted(let symbol):
      accepted("\(pipeline.venue.name):\(symbol)")
      statusChanged(now)
    case .maintenance(let isOn):
      set(
        isOn ? .maintenance : .syncing, reason: isOn ? "the venue is under maintenance" : "maintenance has ended", now)
    }
  }

  /// Reports that the venue refused a symbol, why, and when the gateway requests it again.
  func refused(_ symbol: String, _ reason: String, _ now: Timestamp) {
    let next = pipeline.refused(symbol, now: now)
    let time = next.map { "at \(HTTPDate.format(secondsSince1970: $0.microseconds / Microseconds.second))" }
    let again = "again \(time ?? "with the next connection")"
    log.warning(
      "symbol refused", metadata: ["symbol": "\(symbol)", "reason": "\(reason)", "requested": "\(again)"])
    status.failed["\(pipeline.venue.name):\(symbol)"] = "\(reason); requested \(again)"
    status.syncing["\(pipeline.venue.name):\(symbol)"] = nil
  }

  private func accepted(_ symbol: String) {
    status.failed[symbol] = nil
    pipeline.accepted(String(symbol.dropFirst(pipeline.venue.name.count + 1)))
    log.notice("refused symbol accepted", metadata: ["symbol": "\(symbol)"])
  }

  // MARK: Time and state

  /// Runs the handler's timers; call about four times a second.
  package func tick(_ now: Timestamp) { connection.tick(now) }

  /// Checks for silence, resets the back-off, and begins or completes a planned change of connection.
  package func check(_ now: Timestamp) {
    let health = connection.check(now)
    if case .lost(let reason) = health { connectionLost(reason, now) }
    if case .stale(let reason) = health {
      // A venue that announced its maintenance is silent because of that. The gateway connects anew all the same, in
      // time.
      if status.state != .maintenance { set(.stale, reason: reason, now) }
    } else if let since = connection.openedAt {
      // The venue answered the ping after all.
      if status.state == .stale { set(.syncing, reason: "the venue answers again", now) }
      if failedBooks.update(pipeline, &status) { statusChanged(now) }
      updateLiveness(since, now)
      if let liveSince, backoff.attempts > 0, now - liveSince >= FeedSession.steadyAfter { backoff.reset() }
    }
    checkHandover(now)
    for renumbering in pipeline.market.takeRenumberings() { log(renumbering) }
  }

  private func log(_ renumbering: Renumbering) {
    log.notice(
      "trade ids restarted",
      metadata: [
        "symbol": "\(pipeline.market[renumbering.instrument].instrument.symbol)", "before": "\(renumbering.before)",
        "after": "\(renumbering.after)",
      ])
  }

  package func timeJumped(by jump: Int64) {
    connection.timeJumped(by: jump)
    liveSince = liveSince.map { $0 + jump }
    renewalDue = renewalDue.map { $0 + jump }
    handover?.timeJumped(by: jump)
  }

  /// Advances trailing pulses and windows; call when `nextDeadline` has come.
  package func advance(_ now: Timestamp) { pipeline.advance(now: now) }

  private func updateLiveness(_ since: Timestamp, _ now: Timestamp) {
    guard status.state == .syncing || status.state == .live, !pipeline.market.instruments.isEmpty else { return }
    // A REST snapshot and an acknowledgement alone can make a book, so wait until the venue sends market data here.
    guard connection.hasHeardMarket else { return }
    let waiting = pipeline.market.instruments.contains {
      $0.bookState != .live && status.failed[$0.instrument.symbol] == nil && !leftOut.contains($0.instrument.symbol)
    }
    let anyLive = pipeline.market.instruments.contains { $0.bookState == .live }
    if !waiting || (anyLive && now - since > FeedSession.syncLimit) {
      if liveSince == nil { liveSince = now }
      set(.live, reason: nil, now)
    }
  }

  /// - Parameter isLogged: false if the caller logs a line with more details.
  func set(_ state: FeedState, reason: String?, _ now: Timestamp, force: Bool = false, isLogged: Bool = true) {
    guard status.state != state || force else { return }
    if status.state != state { status.since = now }
    if state == .stale, status.state != .stale { silences += 1 }
    status.state = state
    status.reason = reason
    if isLogged {
      var fields: Logger.Metadata = [Self.eventKey: "feed_state", "state": "\(state.rawValue)"]
      if let reason { fields["reason"] = "\(reason)" }
      log.info("feed \(state.rawValue)", metadata: fields)
    }
    news.isStatusChanged = true
  }

  func statusChanged(_ now: Timestamp) {
    if let since = connection.openedAt { updateLiveness(since, now) }
    news.isStatusChanged = true
  }
}
