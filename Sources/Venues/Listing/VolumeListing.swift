import Bytes
import MarketData

/// The 24 h volumes of a venue's markets, as its answers say them.
struct MarketVolumes {
  /// In the quote currency, by the venue's own names of markets.
  private(set) var byName: [String: Decimal64] = [:]
  /// The venue's names by those that figures go by, where an answer tells them before the figures.
  var aliases: [String: String] = [:]

  /// What a market's volume is. Nil says nothing.
  mutating func note(_ volume: Decimal64?, of name: String) throws(FeedError) {
    guard let volume, !name.isEmpty else { return }
    byName[name] = volume
    guard byName.count <= MarketList.longest else {
      throw FeedError(.shape, "24 h volumes of more than \(MarketList.longest) markets")
    }
  }
}

/// What is asked for by REST to know the volumes of all markets, or of those of a family.
struct VolumeListing: Sendable {
  let path: String
  /// Asked for only if markets of this family are wanted; nil: whatever is.
  var family: Instrument.Kind.Family?
  let read: @Sendable (RawSpan, inout MarketVolumes) throws(FeedError) -> Void

  init(
    _ path: String, of family: Instrument.Kind.Family? = nil,
    read: @escaping @Sendable (RawSpan, inout MarketVolumes) throws(FeedError) -> Void
  ) {
    self.path = path
    self.family = family
    self.read = read
  }

  /// Rows with a market's name and what tells its volume.
  init(
    _ path: String, of family: Instrument.Kind.Family? = nil, _ format: ListFormat, name: StaticString,
    volume: @escaping @Sendable (borrowing FieldObject) -> Decimal64?
  ) {
    self.init(path, of: family) { (body, volumes) throws(FeedError) in
      try format.read(body) { (row) throws(FeedError) in try volumes.note(volume(row), of: row.text(name) ?? "") }
    }
  }

  /// The same where a field is the volume in the quote currency.
  init(
    _ path: String, of family: Instrument.Kind.Family? = nil, _ format: ListFormat, name: StaticString,
    volume: StaticString
  ) {
    self.init(path, of: family, format, name: name) { $0.number(volume) }
  }
}
