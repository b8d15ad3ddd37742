import Bytes
import MarketData

/// The data of the streams of composite markets that are documents: every message is whole.
enum CompositeChannel {
  /// `,"simulated":true,"venues":["coinbase"],"absent":[{"venue":"kraken","reason":"stale"}]`: what the messages of a
  /// book say of its members.
  static func members(of quote: CompositeQuote, _ source: DataSource) -> String {
    var out = ByteBuffer(capacity: 128)
    source.append(to: &out)
    QuoteAnswer.appendMembers(of: quote, to: &out)
    return String(decoding: out.takeBytes(), as: UTF8.self)
  }

  /// `{"state":"live","bid":"…","bid_size":"…","bid_venue":"kraken","ask":…,"venues":[…],"absent":[…],"time":…}`
  static func quote(_ quote: CompositeQuote, _ source: DataSource, now: Timestamp) -> StreamDocument {
    document(quote, source, time: quote.time == .distantPast ? now : quote.time) { out in
      QuoteAnswer.append(quote.bid, "bid", quote, hasVenue: true, to: &out)
      QuoteAnswer.append(quote.ask, "ask", quote, hasVenue: true, to: &out)
      QuoteAnswer.appendMembers(of: quote, to: &out)
    }
  }

  /// `{"state":"live","last":"…","last_venue":"kraken","bid":…,"ask":…,"volume_24h":…,"quote_volume_24h":…,
  /// "vwap_24h":…,"source":"composite","venues":[…],"absent":[…],"time":…}`
  static func ticker(_ quote: CompositeQuote, _ source: DataSource, now: Timestamp) -> StreamDocument {
    document(quote, source, time: quote.lastTime == .distantPast ? now : quote.lastTime) { out in
      QuoteAnswer.append(quote.last, "last", quote, hasVenue: true, to: &out)
      QuoteAnswer.append(quote.bid.map { price($0.price, quote) }, "bid", to: &out)
      QuoteAnswer.append(quote.ask.map { price($0.price, quote) }, "ask", to: &out)
      QuoteAnswer.append(quote.volume, "volume_24h", to: &out)
      QuoteAnswer.append(quote.quoteVolume, "quote_volume_24h", to: &out)
      QuoteAnswer.append(quote.vwap.map { price($0, quote) }, "vwap_24h", to: &out)
      out.append(",\"source\":\"composite\"")
      QuoteAnswer.appendMembers(of: quote, to: &out)
    }
  }

  /// `{"state":"live","mark":"…","index":"…","funding_rate":"…","funding_interval_s":28800,"open_interest":"…",
  /// "open_interest_quote":"…","basis_percent":"…","computed":[…],"venues":[…],"absent":[…],"as_of":{…},"time":…}`
  static func derivative(
    _ derivative: CompositeDerivative, _ quote: CompositeQuote, _ source: DataSource, now: Timestamp
  ) -> StreamDocument {
    var computed: [String] = []
    var document = document(quote, source, time: now) { out in
      func append(_ value: Decimal64?, _ name: StaticString) {
        guard let value else { return }
        QuoteAnswer.append(value, name, to: &out)
        computed.append("\"\(name)\"")
      }
      append(derivative.mark, "mark")
      append(derivative.index, "index")
      append(derivative.fundingRate, "funding_rate")
      if derivative.fundingRate != nil {
        out.append(",\"funding_interval_s\":")
        out.append(integer: CompositeDerivative.fundingInterval / Microseconds.second)
      }
      append(derivative.openInterest, "open_interest")
      append(derivative.openInterestQuote, "open_interest_quote")
      append(derivative.basisPercent, "basis_percent")
      if !computed.isEmpty {
        out.append(",\"computed\":[")
        out.append(computed.joined(separator: ","))
        out.append(UInt8(ascii: "]"))
      }
      QuoteAnswer.appendMembers(of: quote, to: &out)
    }
    let times = derivative.times
    let known: [(String, Timestamp?)] = [
      ("mark", times.mark), ("index", times.index), ("funding_rate", times.fundingRate),
      ("open_interest", times.openInterest),
    ]
    let ages = known.compactMap { name, time in time.map { "\"\(name)\":\($0.microseconds)" } }
    document.tail = ",\"as_of\":{\(ages.joined(separator: ","))}" + document.tail
    return document
  }

  /// Like a market's, without the change of 24 h.
  static func pulse(_ pulse: Pulse, of instrument: Instrument) -> StreamDocument {
    var out = ByteBuffer(capacity: 128)
    PulseChannel.append(pulse, changePercent: nil, of: instrument, to: &out)
    return StreamDocument(head: String(decoding: out.takeBytes(), as: UTF8.self), tail: "")
  }

  /// The time is in the tail, so a comparison of two heads shows whether anything else differs.
  private static func document(
    _ quote: CompositeQuote, _ source: DataSource, time: Timestamp, _ fields: (inout ByteBuffer) -> Void
  ) -> StreamDocument {
    var out = ByteBuffer(capacity: 384)
    out.append("{\"state\":\"")
    out.append(quote.venues.isEmpty ? "unavailable" : quote.isSingle ? "single" : "live")
    out.append(UInt8(ascii: "\""))
    source.append(to: &out)
    fields(&out)
    return StreamDocument(
      head: String(decoding: out.takeBytes(), as: UTF8.self), tail: ",\"time\":\(time.microseconds)}")
  }

  private static func price(_ value: Int64, _ quote: CompositeQuote) -> Decimal64 {
    Decimal64(mantissa: value, scale: quote.priceScale)
  }
}
