import Bytes
import MarketData

/// A stream as its publisher sees it. A class, because the lists by key, by instrument and by due time share it.
final class PublishedStream {
  let id: StreamID
  private(set) var key: StreamKey
  private(set) var market = 0
  private(set) var instrument = InstrumentID(rawValue: 0)
  /// The number of the last message. It never goes back in an epoch, also not when the slot is given to another key.
  var seq: UInt64
  /// Bit n: loop n has subscribers. A stream without subscribers publishes nothing, unless it is held.
  var loops: UInt64 = 0
  /// Whether it continues without subscribers, for returning clients of an earlier run.
  var isHeld = false
  /// Whether the stream publishes changes.
  var isRunning: Bool { loops != 0 || isHeld }
  /// Whether it waits for its tick or for the end of the batch.
  var isDirty = false
  /// Whether its subscribers hold its state, so that updates make sense; if not, a snapshot is due when there is data.
  var isShown = false
  /// The reason of that snapshot.
  var dueReason = SnapshotReason.subscribe
  /// Raised each time the last subscriber leaves, so that a note of it in the idle queue can be told from a newer one.
  var idleGeneration: UInt32 = 0
  /// `"channel":"book","symbol":"kraken:BTC-USD","stream":2`, the part of every message that stays the same.
  private(set) var label: [UInt8] = []
  /// The snapshot of this `seq`, so that a thousand joiners cost one encoding.
  var cachedSnapshot: StreamFrame?
  var cachedReason = SnapshotReason.subscribe
  var cachedTime = Timestamp.distantPast

  var view = BookView()
  var gathered: [Trade] = []
  /// Candles that closed, or changed after it, since the last update.
  var closedCandles: [Candle] = []
  /// The open candle that clients have.
  var openCandle: Candle?
  /// The last published tip, and the coverage of its line.
  var sparklineTip: SparklineTip?
  var coverageRevision: UInt32 = 0
  /// The price at the beginning of that line, and the last published change over it.
  var lineOpen: Int64?
  var lineChange: PriceChange?
  /// For a composite: the line that clients have.
  var line: Sparkline?
  /// The revision of the figures that the last message of a ticker has, and the last snapshot of a pulse.
  var figures: UInt64 = 0
  /// The document of a channel whose data does not come from a market.
  var document: StreamDocument?
  var ring = ReplayRing()
  /// Nil: the channel's messages are whole, so only the last one matters.
  private(set) var ringLimits: ReplayRing.Limits?

  init(id: StreamID, seq: UInt64, key: StreamKey) {
    self.id = id
    self.seq = seq
    self.key = key
  }

  /// Gives the stream its key: at its start, and when its slot is reused.
  func assign(_ key: StreamKey, market: Int, instrument: InstrumentID) {
    self.key = key
    self.market = market
    self.instrument = instrument
    switch key.channel {
    case .trades: ringLimits = .events
    // About 40 bytes a level, of both sides. A full book's snapshot is far too large to keep as much.
    case .book: ringLimits = .differences(snapshotBytes: key.depth == 0 ? 64 << 10 : 80 * Int(key.depth))
    case .sparkline: ringLimits = .differences(snapshotBytes: 16 * Int(key.points))
    case .candles: ringLimits = .differences(snapshotBytes: CandlesChannel.bytes * StreamLimits.candles)
    case .topic: ringLimits = .events
    case .alerts: ringLimits = .differences(snapshotBytes: 64 << 10)
    case .quote, .ticker, .pulse, .status, .rate, .portfolio, .deck: ringLimits = nil
    }
    var text = ByteBuffer(capacity: 96)
    text.append("\"channel\":\"")
    text.append(key.channel.rawValue)
    text.append(UInt8(ascii: "\""))
    if !key.symbol.isEmpty {
      text.append(",\"symbol\":")
      text.append(json: key.symbol)
    }
    if let id = key.portfolio?.id {
      text.append(",\"portfolio\":")
      text.append(json: id)
    }
    if let zone = key.zone {
      text.append(",\"zone\":")
      text.append(json: zone)
    }
    text.append(",\"stream\":")
    text.append(integer: UInt64(id.rawValue))
    label = Array(text.unsafeBytes)
  }

  var interval: UInt16 { key.intervalMilliseconds }

  /// A pulse is at its natural rate up to 100 ms, the others at 0.
  var isImmediate: Bool { interval == 0 || (key.channel == .pulse && interval <= 100) }

  /// Drops data that only subscribers need.
  func sleep() {
    isShown = false
    dueReason = .subscribe
    cachedSnapshot = nil
    view = BookView()
    gathered = []
    closedCandles = []
    openCandle = nil
    sparklineTip = nil
    lineOpen = nil
    lineChange = nil
    line = nil
    document = nil
    idleGeneration &+= 1
  }
}

/// The start of a message up to and with `"data":`; a `}` ends it.
enum Envelope {
  static func appendSnapshot(
    of stream: PublishedStream, reason: SnapshotReason, now: Timestamp, to out: inout ByteBuffer
  ) {
    out.append("{\"type\":\"snapshot\",")
    out.append(stream.label)
    out.append(",\"seq\":")
    out.append(integer: stream.seq)
    switch reason {
    case .subscribe: out.append(",\"reason\":\"subscribe\",\"time\":")
    case .resume: out.append(",\"reason\":\"resume\",\"time\":")
    case .resync: out.append(",\"reason\":\"resync\",\"time\":")
    case .slow: out.append(",\"reason\":\"slow\",\"time\":")
    case .epoch: out.append(",\"reason\":\"epoch\",\"time\":")
    }
    out.append(integer: now.microseconds)
    out.append(",\"data\":")
  }

  static func appendUpdate(of stream: PublishedStream, prev: UInt64, now: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"type\":\"update\",")
    out.append(stream.label)
    out.append(",\"prev\":")
    out.append(integer: prev)
    out.append(",\"seq\":")
    out.append(integer: stream.seq)
    out.append(",\"time\":")
    out.append(integer: now.microseconds)
    out.append(",\"data\":")
  }
}
