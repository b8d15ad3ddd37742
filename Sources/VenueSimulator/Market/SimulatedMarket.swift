import HeapModule
import MarketData

/// A venue's whole market, seeded: the same seed, rate and start give the same history, whatever the steps it is taken
/// in.
///
/// `rate` is the moments of activity a second and instrument on average: 60 are 480 a second for a venue of eight. A
/// moment changes one to about ten levels, and two in five make a trade. Confined to one queue.
package final class SimulatedMarket {
  package let instruments: [InstrumentMarket]
  /// What the last `next` did; reused.
  package private(set) var change = SimulatedChange()
  package private(set) var now: Timestamp
  /// When each instrument has its next moment, the first of them first.
  private var moments = Heap<Moment>()

  private struct Moment: Comparable {
    var time: Timestamp
    var instrument: Int
    /// Of two at the same time the one of the instrument that is listed first.
    static func < (one: Moment, other: Moment) -> Bool {
      one.time != other.time ? one.time < other.time : one.instrument < other.instrument
    }
  }

  /// - Parameters:
  ///   - instruments: none for a market where nothing happens.
  ///   - rate: moments a second and instrument on average; above 0.
  ///   - hasPast: whether the day before is made up too, which takes most of the time that this call takes.
  package init(
    instruments: [SimulatedInstrument], seed: UInt64, rate: Double, start: Timestamp, hasPast: Bool = true,
    origin: SimulatedOrigin = .own
  ) {
    var random = MarketRandom(seed: seed)
    self.instruments = instruments.map {
      InstrumentMarket($0, seed: random.next(), rate: rate, start: start, hasPast: hasPast, origin: origin)
    }
    now = start
    setMoments()
  }

  private func setMoments() {
    moments = Heap(instruments.indices.map { Moment(time: instruments[$0].nextEvent, instrument: $0) })
  }

  /// The true book of an instrument as it now stands.
  package func truth(_ instrument: Int, isSnapshot: Bool) -> SimulatedTruth {
    let state = instruments[instrument]
    return SimulatedTruth(
      instrument: instrument, book: state.book, updateID: state.updateID, isSnapshot: isSnapshot)
  }

  /// Lets the next moment at or before `limit` happen and puts it into `change`; false if there is none.
  /// O(log instruments).
  package func next(until limit: Timestamp) -> Bool {
    while let first = moments.min, first.time <= limit {
      now = first.time
      change.instrument = first.instrument
      let instrument = instruments[first.instrument]
      instrument.happen(into: &change)
      moments.replaceMin(with: Moment(time: instrument.nextEvent, instrument: first.instrument))
      if !change.isEmpty { return true }
    }
    now = max(now, limit)
    return false
  }

  /// Everything up to `limit`, as a list.
  package func step(to limit: Timestamp) -> [SimulatedChange] {
    var changes: [SimulatedChange] = []
    while next(until: limit) { changes.append(change) }
    return changes
  }

  /// The market stood still for `span` µs: all that is to come comes that much later.
  package func shift(by span: Int64) {
    for instrument in instruments { instrument.shift(by: span) }
    setMoments()
    now = now + span
  }

  /// The index of an instrument by any of its names: `ZEC-USD`, `ZEC/USD`, `ZECUSD`, in any case.
  package func index(named name: String) -> Int? {
    let wanted = Self.plain(name)
    return instruments.firstIndex { Self.plain($0.instrument.symbol) == wanted }
  }

  private static func plain(_ name: String) -> String {
    String(name.uppercased().filter { $0 != "-" && $0 != "/" })
  }
}
