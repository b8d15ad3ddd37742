import Bytes
import MarketData
import PubSub

/// Answers `/v1/cards/price/{symbol}.svg` and `/v1/sparklines/{symbol}.svg`: pictures that pages and widgets show
/// unchanged.
struct PictureAnswer {
  let api: PublicAPI

  /// The picture of an instrument.
  private enum Picture {
    case card(PriceCard.Size)
    case line(width: Int, height: Int)
  }

  func card(
    _ symbol: String, _ query: RequestQuery, _ grant: Grant, _ known: [String],
    _ reply: @escaping (HTTPResponse) -> Void, _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    let size = try query.word("size", default: PriceCard.Size.medium) { PriceCard.Size(rawValue: $0) }
    let range = try query.word("range", default: ChartRange.day) { ChartRange(name: $0) }
    try picture(.card(size), symbol, range, points: PriceCard.points, grant, known, reply, charge)
  }

  func line(
    _ symbol: String, _ query: RequestQuery, _ grant: Grant, _ known: [String],
    _ reply: @escaping (HTTPResponse) -> Void, _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    let range = try query.word("range", default: ChartRange.day) { ChartRange(name: $0) }
    let points = try query.number("points", 2...500, default: PriceCard.points)
    let width = try query.number("width", 16...2_000, default: 297)
    let height = try query.number("height", 16...1_000, default: 40)
    try picture(.line(width: width, height: height), symbol, range, points: points, grant, known, reply, charge)
  }

  private func picture(
    _ picture: Picture, _ symbol: String, _ range: ChartRange, points: Int, _ grant: Grant, _ known: [String],
    _ reply: @escaping (HTTPResponse) -> Void, _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    for channel in [ChannelName.ticker, .sparkline] where !grant.channels.contains(channel) {
      throw RequestProblem(
        response: api.forbidden("the channel \(channel.rawValue), which is part of a picture", grant))
    }
    if CompositeSymbol.isOne(symbol) {
      let composite = CompositeAnswer(api: api, grant: grant, known: known)
      return try composite.figures(symbol, range, points: points, reply, charge) { figures, state in
        drawn(picture, card(picture, figures, state, name: nil), known, venue: state.venue)
      }
    }
    var lookup = SymbolLookup()
    let item = api.item(symbol, grant, &lookup)
    guard case .market(let loop, let place, let state) = item.content else {
      if case .failed(let error) = item.content { throw RequestProblem(response: api.response(to: error)) }
      return
    }
    // A point needs two curves of six numbers each.
    if let refusal = charge(256 + 8 * points) { return reply(refusal) }
    api.node.ask(loop) { owner in
      if range == .all { owner.history?.wantAll(of: place.instrument, place.market) }
      return owner.publisher.cardFigures(range, points: points, at: place, now: owner.clock.now())
    } then: { (figures: CardFigures?) in
      guard let figures else {
        return reply(api.response(to: .nothing, venues: [state.venue], nothing: "\(symbol): it has no data yet"))
      }
      let card = card(picture, figures, state, name: name(of: symbol))
      reply(drawn(picture, card, known, venue: state.venue))
    }
  }

  private func card(_ picture: Picture, _ figures: CardFigures, _ state: DataState, name: String?) -> PriceCard {
    let size: PriceCard.Size = if case .card(let size) = picture { size } else { .medium }
    return PriceCard(figures, state, size: size, name: name, now: api.node.clock.now())
  }

  /// The name of a market's base asset; nil if no venue gives one.
  private func name(of symbol: String) -> String? {
    let directory = api.node.hub.directory
    guard let instrument = directory.entries[symbol]?.instrument else { return nil }
    return directory.names.name(of: instrument.base, at: instrument.venue)
  }

  private func drawn(_ picture: Picture, _ card: PriceCard, _ known: [String], venue: String) -> HTTPResponse {
    var tag = ContentTag(run: TidegateVersion.current)
    switch picture {
    case .card: card.add(to: &tag)
    case .line(let width, let height): LinePicture(card, width: width, height: height).add(to: &tag)
    }
    let text = EntityTag.text(tag)
    if let held = EntityTag.match(known, text) {
      return api.response(to: .unchanged(tag: held), venues: [venue], nothing: "")
    }
    let body =
      api.node.compressor.cache.body(text)
      ?? {
        switch picture {
        case .card: card.svg()
        case .line(let width, let height): LinePicture(card, width: width, height: height).svg()
        }
      }()
    api.node.compressor.cache.keep(body, as: text)
    var response = api.response(to: .body(body, tag: text), venues: [venue], nothing: "")
    response.contentType = "image/svg+xml"
    return response
  }
}
