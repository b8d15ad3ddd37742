import MarketData
import PubSub

/// The schemas of the AsyncAPI document: the `data` of each channel, and the named objects in it, which are those of
/// the OpenAPI document where both send the same. Tests compare them with what a running gateway sends, member by
/// member.
enum AsyncAPISchemas {
  private typealias Member = JSONSchema.Member

  private static let (liveness, composite, source) = (
    OpenAPISchemas.liveness, OpenAPISchemas.composite, OpenAPISchemas.source
  )
  /// Of data that composite markets have, too.
  private static let compositeState = JSONSchema.choice(["live", "syncing", "single", "unavailable"])
  private static let book: [Member] = [
    ("bids", .list(.reference("Level"))), ("asks", .list(.reference("Level"))), ("time", .time),
  ]
  /// Of a composite of perpetuals.
  private static let ofContracts: [Member] = [
    ("state", compositeState), ("basis_percent", .decimal), ("time", .time),
  ]
  private static let candleInterval = JSONSchema.choice(CandleInterval.allCases.map(\.name))

  /// The `data` of a channel's messages.
  static func data(of channel: ChannelName, isSnapshot: Bool) -> JSONSchema.Object {
    let name = (isSnapshot ? "snapshot." : "update.") + channel.rawValue
    switch channel {
    case .trades:
      let repairs: [Member] = [("lost", .reference("LostTrades")), ("found", .reference("FoundTrades"))]
      return .init(
        name, [("trades", .list(.reference("Trade")))], optional: liveness, optionalOf: isSnapshot ? [] : [repairs])
    case .quote:
      return .init(
        name, [("time", .time)],
        optional: [
          ("bid", .decimal), ("bid_size", .decimal), ("bid_venue", .text), ("ask", .decimal), ("ask_size", .decimal),
          ("ask_venue", .text), ("state", compositeState), ("reason", .text),
        ], optionalOf: [composite, source])
    case .ticker:
      return .init(
        name, [("source", .choice(["venue", "gateway", "mixed", "composite"])), ("time", .time)],
        optional: [("last_venue", .text), ("state", compositeState), ("reason", .text)],
        optionalOf: [OpenAPISchemas.tickerMembers, composite, source])
    case .pulse:
      return .init(
        name, of: [OpenAPISchemas.pulseMembers], optional: liveness, optionalOf: [OpenAPISchemas.pulseOptions])
    case .book:
      guard isSnapshot else { return .init(name, of: [book], optionalOf: [liveness, composite]) }
      return .init(
        name, of: [book], [("state", compositeState)],
        optional: [("reason", .text), ("spread", .decimal), ("spread_pct", .decimal)], optionalOf: [composite])
    case .sparkline:
      guard isSnapshot else {
        return .init(
          name, [("index", .count), ("price", .decimal), ("from", .time)],
          optional: OpenAPISchemas.lineOptions.filter { $0.name != "covered_from" })
      }
      return .init(name, of: [OpenAPISchemas.lineMembers], optionalOf: [OpenAPISchemas.lineOptions])
    case .candles: return .init(name, [("interval", candleInterval), ("candles", .list(.reference("Candle")))])
    case .status: return .init(name, [("feeds", .list(.reference("Feed")))])
    case .alerts:
      let alerts: Member = ("alerts", .list(.reference("Alert")))
      let more: [Member] = [("removed", .list(.text)), ("firings", .list(.reference("AlertFiring")))]
      return .init(name, isSnapshot ? [("kept", .flag), alerts] : [alerts] + more)
    case .topic: return .init(name, [("number", .count), ("documents", .list(.reference("TopicDocument")))])
    case .rate:
      return .init(
        name, [("base", .text), ("quote", .text), ("state", .choice(["live", "unavailable"]))],
        optional: [("rate", .decimal), ("path", .list(.text)), ("age_ms", .count), ("reason", .text)],
        optionalOf: [source])
    case .portfolio:
      // A deleted one has nothing else.
      return .init(
        name, [("state", .choice(["live", "stale", "missing", "deleted"]))],
        optional: [
          ("currency", .text), ("holdings", .list(.reference("HoldingValue"))),
          ("positions", .list(.reference("PositionValue"))),
        ], optionalOf: [OpenAPISchemas.portfolioHead, OpenAPISchemas.profit, source])
    case .derivative:
      return .init(
        name, [("as_of", .reference("DerivativeTimes"))],
        optionalOf: [OpenAPISchemas.derivativeMembers, ofContracts, composite, source])
    case .liquidations:
      let liquidations: Member = ("liquidations", .list(.reference("Liquidation")))
      return .init(name, isSnapshot ? [liquidations, ("complete", .flag)] : [liquidations])
    case .deck:
      // A removed one has no card.
      let needed = ["deck", "zone", "state"]
      return .init(
        name, OpenAPISchemas.deckMembers.filter { needed.contains($0.name) },
        optional: OpenAPISchemas.deckMembers.filter { !needed.contains($0.name) })
    }
  }

  /// Objects of the stream alone.
  private static let own: [JSONSchema.Object] = [
    .init(
      "LostTrades",
      [("from_id", .text), ("to_id", .text), ("from", .time), ("to", .time), ("requested", .flag)],
      optional: [("count", .count)]),
    .init(
      "FoundTrades",
      [
        ("from_id", .text), ("to_id", .text), ("count", .count), ("missing", .count), ("from", .time), ("to", .time),
      ]),
    .init(
      "AlertFiring", [("alert", .text), ("number", OpenAPISchemas.shortCount), ("time", .time)],
      optionalOf: [OpenAPISchemas.firingOptions]),
    .init(
      "Liquidation",
      [
        ("position", .reference("PositionSide")), ("side", .reference("TradeSide")), ("price", .decimal),
        ("price_kind", .choice(Liquidation.PriceKind.allCases.map(\.rawValue))), ("size", .decimal), ("time", .time),
      ], optional: [("id", .text), ("value", .decimal)]),
  ]

  private static let data: [JSONSchema.Object] = ChannelName.allCases.flatMap {
    [data(of: $0, isSnapshot: true), data(of: $0, isSnapshot: false)]
  }

  /// The names that the channels' data and their objects refer to.
  static let references = Set((data + objects).flatMap(\.references))

  /// The named objects that the channels' data lead to, in the order of their names.
  static let objects: [JSONSchema.Object] = {
    let known = Dictionary(uniqueKeysWithValues: (own + OpenAPISchemas.all).map { ($0.name, $0) })
    var found: [String: JSONSchema.Object] = [:]
    var open = data
    while let object = open.popLast() {
      for name in object.references where found[name] == nil {
        guard let target = known[name] else { continue }
        found[name] = target
        open.append(target)
      }
    }
    return found.values.sorted { $0.name < $1.name }
  }()
}
