import Bytes
import MarketData
import WebSocket

/// Encodes the messages of streams as frames, each once.
extension StreamPublisher {
  /// Sends all subscribers a snapshot instead of an update.
  func republish(_ stream: PublishedStream, now: Timestamp, into out: inout [Delivery]) {
    stream.seq += 1
    stream.cachedSnapshot = nil
    forget(stream)
    guard stream.loops != 0 else { return }
    if let frame = snapshot(of: stream, reason: .resync, now: now) { out.append(.frame(frame, loops: stream.loops)) }
  }

  func update(
    _ stream: PublishedStream, events: UInt32, now: Timestamp, into out: inout [Delivery],
    _ data: (inout ByteBuffer) -> Void
  ) {
    let prev = stream.seq
    stream.seq = prev + 1
    stream.cachedSnapshot = nil
    frame.removeAll()
    WebSocketFrame.appendUnmasked(.text, to: &frame) { out in
      Envelope.appendUpdate(of: stream, prev: prev, now: now, to: &out)
      data(&out)
      out.append(UInt8(ascii: "}"))
    }
    let made = StreamFrame(
      stream: stream.id, kind: .update, prev: prev, seq: stream.seq, events: events,
      bytes: SharedBytes(frame.unsafeBytes))
    remember(made, of: stream, now: now)
    if stream.loops != 0 { out.append(.frame(made, loops: stream.loops)) }
  }

  /// The snapshot at the stream's present `seq`; nil while there is no data. There may be no data any more (a quote
  /// whose book is out of sync). Then the stream's next message is a snapshot, because a client that requested this one
  /// has nothing that an update could follow.
  func snapshot(of stream: PublishedStream, reason: SnapshotReason, now: Timestamp) -> StreamFrame? {
    guard stream.isShown else { return nil }
    // Ages are computed at each call, so a cached snapshot would be wrong even at the same `seq`.
    let hasAges = stream.key.channel == .status || stream.document?.oldest != nil
    let isFresh = !hasAges || stream.cachedTime == now
    if let cached = stream.cachedSnapshot, stream.cachedReason == reason, isFresh { return cached }
    frame.removeAll()
    var hasData = true
    WebSocketFrame.appendUnmasked(.text, to: &frame) { out in
      Envelope.appendSnapshot(of: stream, reason: reason, now: now, to: &out)
      hasData = appendData(of: stream, now: now, to: &out)
      out.append(UInt8(ascii: "}"))
    }
    guard hasData else {
      stream.isShown = false
      stream.dueReason = .resync
      return nil
    }
    let made = StreamFrame(
      stream: stream.id, kind: .snapshot, prev: stream.seq, seq: stream.seq, events: 0,
      bytes: SharedBytes(frame.unsafeBytes))
    stream.cachedSnapshot = made
    stream.cachedReason = reason
    stream.cachedTime = now
    if stream.key.channel == .ticker || stream.key.channel == .pulse { stream.figures = figures(of: stream) }
    return made
  }

  /// Replaces the snapshot of a book that is out of sync, of a quote derived from it, or of a quote whose channel has
  /// died, for a client that may not know that yet; nil for other streams.
  func syncingSnapshot(of stream: PublishedStream, reason: SnapshotReason, now: Timestamp) -> StreamFrame? {
    let channel = stream.key.channel
    guard channel == .book || channel == .quote, !stream.isShown, let instrument = instrument(of: stream),
      case let state = instrument.state,
      state.bookState != .live || (channel == .quote && state.isSilent(.quote)),
      channel == .book || state.quote == nil
    else { return nil }
    frame.removeAll()
    WebSocketFrame.appendUnmasked(.text, to: &frame) { out in
      Envelope.appendSnapshot(of: stream, reason: reason, now: now, to: &out)
      Self.appendSyncing(channel, instrument, now: now, to: &out)
      out.append(UInt8(ascii: "}"))
    }
    return StreamFrame(
      stream: stream.id, kind: .snapshot, prev: stream.seq, seq: stream.seq, events: 0,
      bytes: SharedBytes(frame.unsafeBytes))
  }

  static func appendSyncing(
    _ channel: ChannelName, _ instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer
  ) {
    let state = instrument.state
    var reason = "awaiting a snapshot"
    if case .syncing(let why?) = state.bookState { reason = why.description }
    if channel == .quote, state.isSilent(.quote) { reason = MarketChannel.quote.silenceReason }
    if channel == .book {
      BookChannel.appendSyncing(reason, members: instrument.members, time: now, to: &out)
    } else {
      QuoteChannel.appendSyncing(reason, time: now, to: &out)
    }
  }

  /// Appends a snapshot's `data`; false if there is none.
  func appendData(of stream: PublishedStream, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    if stream.key.channel == .status {
      StatusChannel.append(feeds.visible(to: stream.key.scope), now: now, to: &out)
      return true
    }
    if let document = stream.document {
      document.append(now: now, to: &out)
      return true
    }
    guard let instrument = instrument(of: stream) else { return false }
    let state = instrument.state
    switch stream.key.channel {
    case .trades:
      TradesChannel.append(
        instrument.recentTrades.last(TradesChannel.recent), of: state.instrument, mark: state.silenceMark(.trades),
        to: &out)
    case .quote:
      guard let quote = state.quote else { return false }
      QuoteChannel.append(quote, of: state.instrument, to: &out)
    case .ticker:
      guard let day = state.knownDay(now: now) else { return false }
      TickerChannel.append(day, of: state.instrument, mark: state.silenceMark(.ticker, .trades), to: &out)
    case .pulse:
      guard let pulse = instrument.lastPulse else { return false }
      let change = state.dayChange(to: pulse.price, now: now)
      PulseChannel.append(
        pulse, changePercent: change?.percent, of: state.instrument, mark: state.silenceMark(.trades), to: &out)
    case .sparkline:
      let points = Int(stream.key.points)
      let range = stream.key.range
      guard let tip = state.sparklineTip(range, points: points, now: now) else { return false }
      stream.sparklineTip = tip
      stream.coverageRevision = state.chart.coverageRevision
      out.append(UInt8(ascii: "{"))
      let line = state.sparkline(range, points: points, now: now)
      (stream.lineOpen, stream.lineChange) = (line.open, line.change)
      if state.isComposite { stream.line = line }
      SparklineChannel.appendSnapshot(line, of: state.instrument, to: &out)
      out.append(UInt8(ascii: "}"))
    case .candles:
      let interval = stream.key.candle
      // The next update need not repeat the content of a snapshot.
      stream.closedCandles.removeAll(keepingCapacity: true)
      let candles = state.candles(
        interval, from: .distantPast, to: .distantFuture, limit: StreamLimits.candles, now: now)
      stream.openCandle = candles.last.flatMap { $0.isClosed ? nil : $0 }
      CandlesChannel.append(candles[...], interval, of: state.instrument, to: &out)
    case .book:
      out.append("{\"state\":\"live\",")
      if stream.key.depth > 0 {
        BookChannel.appendSnapshot(
          bids: stream.view.bids, asks: stream.view.asks, time: stream.view.time, of: state.instrument, to: &out)
      } else {
        var bids: [PriceLevel] = []
        var asks: [PriceLevel] = []
        BookView.top(0, of: state.book.bids, into: &bids)
        BookView.top(0, of: state.book.asks, into: &asks)
        BookChannel.appendSnapshot(
          bids: bids, asks: asks, time: stream.view.time, of: state.instrument, to: &out)
      }
      out.append(stream.view.members)
      out.append(UInt8(ascii: "}"))
    case .status, .alerts, .topic, .rate, .portfolio, .deck: return false
    }
    return true
  }

  // MARK: What is remembered, for clients that come back

  /// The most bytes of all rings of a publisher; beyond it, a publishing stream drops half of its own.
  static let ringBytesLimit = 64 << 20

  /// Stores a message in the ring of its stream, if the channel has one.
  func remember(_ frame: StreamFrame, of stream: PublishedStream, now: Timestamp) {
    guard remembers, let limits = stream.ringLimits else { return }
    ringBytes -= stream.ring.bytes
    stream.ring.append(frame, time: steady(now), limits: limits)
    if ringBytes + stream.ring.bytes > Self.ringBytesLimit { stream.ring.trim(toBytes: stream.ring.bytes / 2) }
    ringBytes += stream.ring.bytes
  }

  /// The messages in the ring do not link to later ones.
  func forget(_ stream: PublishedStream) {
    ringBytes -= stream.ring.bytes
    stream.ring.removeAll()
  }

  /// The missed messages of a client with this position, possibly none; nil if it needs a snapshot. Call it before an
  /// idle stream is woken.
  func replay(from position: StreamPosition, of stream: PublishedStream, now: Timestamp) -> [StreamFrame]? {
    guard position.epoch == epoch, stream.isRunning, stream.isShown, position.seq <= stream.seq,
      position.stream ?? stream.id.rawValue == stream.id.rawValue
    else { return nil }
    if position.seq == stream.seq { return [] }
    guard let frames = stream.ring.frames(after: position.seq, now: steady(now)) else { return nil }
    if stream.key.channel.isEvent { return frames }
    let size = frames.reduce(0) { $0 + $1.bytes.count }
    guard let snapshot = snapshot(of: stream, reason: .resume, now: now) else { return nil }
    return size < snapshot.bytes.count ? frames : nil
  }
}
