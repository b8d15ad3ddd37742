import MarketData

extension Directory {
  /// The spot markets that `composite:BTC-USD` is made of, or the perpetuals of `composite:BTC-USD-PERP`, in the order
  /// of their symbols; empty if there are none or it is not a composite's symbol. O(members).
  package mutating func members(ofComposite symbol: String) -> [DirectoryEntry] {
    guard CompositeSymbol.isOne(symbol), !symbol.utf8.contains(UInt8(ascii: "*")) else { return [] }
    return symbols(matching: "*:" + symbol.dropFirst(CompositeSymbol.prefix.count))
      .compactMap { entries[$0] }.filter { $0.instrument.kind.family != .future }
  }
}

/// The two assets of a conversion, as subscriptions name them: `ZEC-USD`.
package struct RateName: Sendable, Equatable {
  /// The largest length of an asset's name, in bytes.
  static let limit = 24

  package let base: String
  package let quote: String

  /// Nil if the text is not two names of assets with `-` between them.
  package init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ (1...Self.limit).contains($0.utf8.count) }),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: ":") })
    else { return nil }
    base = String(parts[0])
    quote = String(parts[1])
  }
}

/// Why a subscription to a composite or a rate is refused.
extension SubscriptionResolver {
  static let noConversions = ProtocolError(
    .forbidden, "your token does not allow all markets, and a conversion may go through any",
    hint: "GET /v1/rates uses only the markets that it allows")

  static func noRate(_ name: String) -> ProtocolError {
    ProtocolError(
      .unknownSymbol, "`\(name.prefix(80))` does not name two assets", hint: "as in ZEC-USD: what one ZEC is in USD")
  }

  private static let compositeChannels = ChannelName.allCases.filter(\.isOfComposites).map(\.rawValue)
    .joined(separator: ", ")

  /// Nil for a venue's symbol.
  mutating func explainComposite(_ symbol: String, _ channel: ChannelName) -> ProtocolError? {
    guard CompositeSymbol.isOne(symbol) else { return nil }
    let shown = symbol.prefix(80)
    guard channel.isOfComposites else {
      return ProtocolError(
        .unknownChannel, "composite markets have no channel `\(channel.rawValue)`",
        hint: "they have \(Self.compositeChannels); each venue has its own \(channel.rawValue)")
    }
    if channel.isOfDerivatives, !directory.members(ofComposite: symbol).isEmpty {
      return Self.spotMarket(symbol, channel)
    }
    if symbol.utf8.contains(UInt8(ascii: "*")) {
      return ProtocolError(.unknownSymbol, "`\(shown)`: a pattern cannot name composite markets; name each one")
    }
    let venues = "*:" + symbol.dropFirst(CompositeSymbol.prefix.count)
    if var early = notReady(venues) {
      early.hint = "subscribe again in a second"
      return early
    }
    return ProtocolError(
      .unknownSymbol, "no venue has \(shown.dropFirst(CompositeSymbol.prefix.count)) as a spot market or perpetual",
      hint: "GET /v1/instruments")
  }
}
