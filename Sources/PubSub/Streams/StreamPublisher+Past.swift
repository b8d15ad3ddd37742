import MarketData

/// Takes over streams from an earlier run, and leaves them to the next.
///
/// Streams of trades continue where the earlier run ended, under their numbers and its epoch. Every other stream begins
/// above all numbers that the epoch has seen: its clients get a snapshot, regardless of their positions.
extension StreamPublisher {
  /// Shows trades from before this run to new subscribers, unless there are newer ones.
  /// - Parameter trades: of one instrument, oldest first.
  package func restore(_ trades: [Trade], market: Int) {
    guard let first = trades.first, market >= 0, market < markets.count,
      let instrument = markets[market].instrument(first.instrument)
    else { return }
    instrument.restore(trades)
  }

  /// The number of all trades of an instrument, and the last of them, at most 50, oldest first.
  package func lastTrades(of id: InstrumentID, market: Int) -> (count: UInt64, trades: ArraySlice<Trade>) {
    guard market >= 0, market < markets.count, let instrument = markets[market].instrument(id) else { return (0, []) }
    return (instrument.recentTrades.appended, instrument.recentTrades.last(TradesChannel.recent))
  }

  /// The number of all trades of an instrument; O(1).
  package func tradeCount(of id: InstrumentID, market: Int) -> UInt64 {
    guard market >= 0, market < markets.count, let instrument = markets[market].instrument(id) else { return 0 }
    return instrument.recentTrades.appended
  }

  /// Whether a stream of an instrument has subscribers.
  package func hasSubscribers(of id: InstrumentID, market: Int) -> Bool {
    guard market >= 0, market < markets.count, let instrument = markets[market].instrument(id) else { return false }
    return instrument.hasStreams
  }

  // MARK: Streams

  /// The most bytes of messages that are kept for all streams; beyond it, only positions are kept.
  static let keptBytesLimit = 16 << 20
  /// The number of messages that other streams may still publish after `keep`, until the loop ends.
  static let numberingMargin: UInt64 = 1 << 20

  /// The running streams of trades, with their published messages; publishes gathered trades first. Call it after the
  /// feeds have ended: nothing more may be published on these streams in this run. O(messages).
  package func keep(now: Timestamp, into out: inout [Delivery]) -> [KeptStream] {
    var kept: [KeptStream] = []
    var room = Self.keptBytesLimit
    for case let stream as TradesStream in table.streams where stream.isRunning {
      guard stream.instrument(in: self) != nil else { continue }
      flush(stream, now: now, into: &out)
      var result = KeptStream(
        number: stream.id.rawValue, market: stream.market, instrument: stream.instrument, symbol: stream.key.symbol,
        interval: stream.interval, seq: stream.seq, messages: [], scale: stream.scale)
      if stream.ring.bytes <= room {
        room -= stream.ring.bytes
        result.messages = stream.ring.messages.map { item in
          KeptStream.Message(
            prev: item.frame.prev, seq: item.frame.seq, events: item.frame.events, time: item.time + stepped,
            bytes: item.frame.bytes)
        }
      }
      kept.append(result)
    }
    return kept
  }

  /// The highest `seq` of this run so far, plus a margin for messages until its end. O(streams).
  package var highestSeq: UInt64 { table.highestSeq + Self.numberingMargin }

  /// Continues a stream of an earlier run, before any client joins it. It runs until `time`, with or without
  /// subscribers, so that its ring has no gap.
  /// - Returns: false if there is another with its number or its key.
  @discardableResult
  package func restore(_ kept: KeptStream, until time: Timestamp, now: Timestamp) -> Bool {
    var key = StreamKey(channel: .trades, symbol: kept.symbol, intervalMilliseconds: kept.interval)
    if kept.scale != nil { key.setBinary() }
    let start = StreamStart(
      id: StreamID(rawValue: kept.number), seq: kept.seq, key: key, market: kept.market, instrument: kept.instrument)
    guard let stream = table.restore(start) as? TradesStream else { return false }
    stream.isHeld = true
    stream.isShown = true
    stream.scale = kept.scale
    held.append((stream, steady(time)))
    stream.instrument(in: self)?.add(stream)
    for message in kept.messages {
      let frame = StreamFrame(
        stream: stream.id, kind: .update, prev: message.prev, seq: message.seq, events: message.events,
        bytes: message.bytes)
      // If the clock was set back, they would otherwise be kept for ever.
      memory.remember(frame, of: stream, time: steady(min(message.time, now)))
    }
    return true
  }

  /// Whether a stream of an earlier run may still continue, because its instrument has not been listed yet.
  package func isAwaited(_ number: UInt32) -> Bool { table.isReserved(number) }

  /// Ends the streams that were held for clients of an earlier run and have no subscribers. Call it once a second. At
  /// most O(held).
  package func releaseHeld(now: Timestamp) {
    guard let first = held.first, first.until <= steady(now) else { return }
    held.removeAll { stream, until in
      guard until <= steady(now) else { return false }
      stream.isHeld = false
      if stream.loops == 0 { sleep(stream) }
      return true
    }
  }
}
