import Bytes
import Feeds
import History
import MarketData
import PubSub
import Transport
import Venues

/// The streams and sessions of the run before this one, which ended in order.
struct KeptRun: Sendable {
  let numbering: KeptNumbering
  /// By the store's symbol of their instrument.
  let streams: [String: [StoredStreams.Stream]]
  let sessions: [KeptSession]

  /// - Parameter loops: the loops of this run. With another number of loops, streams have other numbers, so none
  ///   continues.
  init(_ stored: StoredStreams, loops: Int) {
    let streams = stored.loops == loops ? stored.streams : []
    numbering = KeptNumbering(
      epoch: stored.epoch, highest: stored.highest, numbers: Set(streams.map(\.number)))
    self.streams = Dictionary(grouping: streams, by: \.symbol)
    sessions = stored.sessions.map {
      KeptSession(token: $0.token, subject: $0.subject, isPaused: $0.isPaused, expires: $0.expires)
    }
  }
}

extension LoopHistory {
  /// Restores the streams of an instrument and its last trades, and continues after them.
  func goOn(
    _ id: InstrumentID, _ instrument: Instrument, _ symbol: String, _ slot: Int, after latest: LatestState?,
    now: Timestamp
  ) {
    let pipeline = node.feeds[slot].pipeline
    let streams = node.settings.kept?.streams[symbol] ?? []
    let trades = latest?.trades(of: pipeline.market[id].instrument) ?? []
    node.publisher.restore(trades, market: slot)
    for stream in streams {
      node.publisher.restore(
        KeptStream(
          number: stream.number, market: slot, instrument: id, symbol: instrument.symbol, interval: stream.interval,
          seq: stream.seq,
          messages: stream.messages.map {
            .init(prev: $0.prev, seq: $0.seq, events: $0.events, time: $0.time, bytes: $0.bytes)
          },
          scale: stream.scale.map {
            BinaryScale(base: $0.base, priceDigits: $0.priceDigits, sizeDigits: $0.sizeDigits)
          }), until: now + StoredStreams.patience, now: now)
    }
    var changes = MarketChanges()
    if trades.isEmpty, streams.isEmpty {
      pipeline.market.beginWithoutPast(of: id, into: &changes)
    } else {
      // Another gateway may have written trades of its own into the same file.
      let ending = latest.flatMap { $0.trades.last.map { StoredStreams.Last(id: $0.id, time: $0.time) } }
      let told = streams.allSatisfy { $0.last == ending } ? trades : []
      pipeline.market.bridge(after: told, isCounted: pipeline.engine.countsTrades, of: id, into: &changes)
    }
    node.publish(changes, slot: slot, now: now)
  }

  /// Begins an instrument without stored data.
  func beginAnew(_ id: InstrumentID, _ slot: Int, _ now: Timestamp) {
    var changes = MarketChanges()
    node.feeds[slot].pipeline.market.beginWithoutPast(of: id, into: &changes)
    node.publish(changes, slot: slot, now: now)
  }
}
