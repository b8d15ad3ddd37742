import Bytes
import MarketData

/// `quote`: the best bid and ask. A side without orders is absent.
enum QuoteChannel: Channel {
  static let facts = ChannelFacts(
    composites: .documents, rate: .requested(usual: 0), hears: [.quote, .bookState, .channel], rank: 2,
    hasGroups: true, binary: .quote)
  static let data = WireDescription.ChannelData(["time"])

  static func makeStream(_ start: StreamStart) -> PublishedStream { QuoteStream(start) }

  /// `{"state":"syncing","reason":"sequence gap","time":…}`: the book from which the quote is derived is out of sync.
  static func appendSyncing(_ reason: String, time: Timestamp, to out: inout ByteBuffer) {
    out.append("{\"state\":\"syncing\",\"reason\":")
    out.append(json: reason)
    out.append(",\"time\":")
    out.append(integer: time.microseconds)
    out.append(UInt8(ascii: "}"))
  }

  /// `{"bid":"…","bid_size":"…","ask":"…","ask_size":"…","time":…}`
  static func append(_ quote: Quote, of instrument: Instrument, to out: inout ByteBuffer) {
    out.append(UInt8(ascii: "{"))
    if quote.bidSize != 0 {
      out.append("\"bid\":\"")
      out.append(decimal: quote.bid, scale: instrument.priceScale)
      out.append("\",\"bid_size\":\"")
      out.append(decimal: quote.bidSize, scale: instrument.sizeScale)
      out.append("\",")
    }
    if quote.askSize != 0 {
      out.append("\"ask\":\"")
      out.append(decimal: quote.ask, scale: instrument.priceScale)
      out.append("\",\"ask_size\":\"")
      out.append(decimal: quote.askSize, scale: instrument.sizeScale)
      out.append("\",")
    }
    out.append("\"time\":")
    out.append(integer: quote.time.microseconds)
    out.append(UInt8(ascii: "}"))
  }
}

/// A stream of quotes. A quote that follows from the book is unknown while the book is out of sync.
final class QuoteStream: MarketStream {
  override func show(_ instrument: PublishedInstrument) { isShown = instrument.state.quote != nil }

  override func take(
    _ change: MarketChange, of instrument: PublishedInstrument, _ changes: borrowing MarketChanges,
    in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    switch change {
    case .quote: publisher.changed(self, now: now, into: &out)
    case .bookState(_, let state) where state != .live && instrument.state.quote == nil:
      publisher.loseSync(self, instrument, now: now, into: &out)
    // Once the channel speaks again, the next quote is a snapshot.
    case .channel(_, .quote, let state) where state != .live:
      publisher.loseSync(self, instrument, now: now, into: &out)
    default: break
    }
  }

  override func publishChanges(
    of instrument: PublishedInstrument, in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]
  ) {
    let state = instrument.state
    guard let quote = state.quote else { return }
    publisher.update(self, events: 0, now: now, into: &out) {
      append(quote, of: state.instrument, now: now, to: &$0)
    }
  }

  override func appendSnapshot(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    guard let quote = instrument.state.quote else { return false }
    append(quote, of: instrument.state.instrument, now: now, to: &out)
    return true
  }

  private func append(_ quote: Quote, of instrument: Instrument, now: Timestamp, to out: inout ByteBuffer) {
    if isBinary { return QuoteChannel.appendBinary(quote, now: now, to: &out) }
    QuoteChannel.append(quote, of: instrument, to: &out)
  }

  override func isOutOfSync(_ state: InstrumentState) -> Bool {
    state.quote == nil && (state.bookState != .live || state.isSilent(.quote))
  }

  override func appendSyncing(of instrument: PublishedInstrument, now: Timestamp, to out: inout ByteBuffer) {
    let state = instrument.state
    let reason = state.isSilent(.quote) ? MarketChannel.quote.silenceReason : state.bookReason
    if isBinary { return QuoteChannel.appendBinarySyncing(reason, time: now, now: now, to: &out) }
    QuoteChannel.appendSyncing(reason, time: now, to: &out)
  }
}
