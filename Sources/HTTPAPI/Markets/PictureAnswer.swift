import Build
import Bytes
import Documents
import HTTP1
import MarketData
import PubSub

/// Answers `/v1/cards/price/{symbol}.svg` and `/v1/sparklines/{symbol}.svg`: pictures that pages and widgets show
/// unchanged.
struct PictureAnswer: RouteAnswer {
  let request: APIRequest
  private var api: PublicAPI { request.api }

  init(_ request: APIRequest) { self.request = request }

  /// The picture of an instrument.
  private enum Picture {
    case card(PriceCard.Size)
    case line(width: Int, height: Int)
  }

  func card() throws(RequestProblem) {
    let query = request.query
    let size = try query.word("size", default: PriceCard.Size.medium) { PriceCard.Size(rawValue: $0) }
    let range = try query.word("range", default: ChartRange.day) { ChartRange(name: $0) }
    try picture(.card(size), range, points: PriceCard.points)
  }

  func line() throws(RequestProblem) {
    let query = request.query
    let range = try query.word("range", default: ChartRange.day) { ChartRange(name: $0) }
    let points = try query.number("points", default: PriceCard.points)
    let width = try query.number("width", default: 297)
    let height = try query.number("height", default: 40)
    try picture(.line(width: width, height: height), range, points: points)
  }

  private func picture(_ picture: Picture, _ range: ChartRange, points: Int) throws(RequestProblem) {
    let symbol = request.symbol
    if CompositeSymbol.isOne(symbol) {
      return try CompositeAnswer(request).picture(range, points: points) { figures, state in
        drawn(picture, card(picture, figures, state, name: nil), request.known, venue: state.venue)
      }
    }
    var lookup = SymbolLookup()
    let item = api.item(symbol, request.grant, &lookup)
    guard case .market(let loop, let route, let state) = item.content else {
      guard case .failed(let error) = item.content else { return }
      // A page shows a picture that fails as a broken one: until the list of markets arrives, it gets a grey one.
      guard error.code == .notReady, let instrument = Instrument(naming: symbol) else {
        throw RequestProblem(error)
      }
      return request.reply(waiting(picture, instrument, range, size(picture)))
    }
    // A point needs two curves of six numbers each.
    try request.pay(256 + 8 * points)
    request.loops.askMarkets(loop) { markets in
      if range == .all { markets.wantAllHistory(of: route) }
      return markets.publisher.cardFigures(range, points: points, at: route, now: markets.now())
    } then: { (figures: CardFigures?) in
      guard let figures else {
        guard let instrument = request.loops.hub.directory.entries[symbol]?.instrument else { return }
        return request.reply(waiting(picture, instrument, range, size(picture)))
      }
      var card = card(picture, figures, state, name: name(of: symbol))
      if case .card(.large) = picture { card.pool = pool(of: symbol) }
      request.reply(drawn(picture, card, request.known, venue: state.venue))
    }
  }

  private func card(_ picture: Picture, _ figures: CardFigures, _ state: DataState, name: String?) -> PriceCard {
    PriceCard(figures, state, size: size(picture), name: name, now: request.loops.now())
  }

  private func size(_ picture: Picture) -> PriceCard.Size {
    if case .card(let size) = picture { size } else { .medium }
  }

  /// The pool that the newest document of its topic has of this market; nil if that is of another one.
  private func pool(of symbol: String) -> ShieldedPool? {
    let document = api.gateway.documents.topics.newest(ShieldedPool.topic)
    return document.flatMap { $0.symbol == symbol ? ShieldedPool($0.text) : nil }
  }

  /// The picture of a market without any data yet: grey blocks, the state of its feed, and no price.
  private func waiting(
    _ picture: Picture, _ instrument: Instrument, _ range: ChartRange, _ size: PriceCard.Size
  ) -> HTTPResponse {
    let now = request.loops.now()
    let feed = request.loops.hub.feeds.first { $0.venue == instrument.venue }
    let state = DataState(venue: instrument.venue, state: feed?.state ?? .connecting, source: feed?.source ?? .live)
    let card = PriceCard(
      .none(of: instrument, range, now: now), state, size: size, name: name(of: instrument.symbol), now: now)
    return drawn(picture, card, [], venue: instrument.venue)
  }

  /// The name of a market's base asset; nil if no venue gives one.
  private func name(of symbol: String) -> String? {
    let directory = request.loops.hub.directory
    guard let instrument = directory.entries[symbol]?.instrument else { return nil }
    return directory.names.name(of: instrument.base, at: instrument.venue)
  }

  private func drawn(_ picture: Picture, _ card: PriceCard, _ known: [String], venue: String) -> HTTPResponse {
    guard card.hasPrice else {
      // Without a tag, nobody keeps it: the price may be there a moment later.
      var response = HTTPResponse.json(svg(picture, card))
      response.contentType = "image/svg+xml"
      if let ages = FeedAges.value(of: [venue], request.loops.hub.feeds, now: request.loops.now()) {
        response.fields.append(HTTPField(FeedAges.name, ages))
      }
      return response
    }
    var tag = ContentTag(run: TidegateVersion.current)
    switch picture {
    case .card: card.add(to: &tag)
    case .line(let width, let height): LinePicture(card, width: width, height: height).add(to: &tag)
    }
    let text = EntityTag.text(tag)
    if let held = EntityTag.match(known, text) {
      return api.response(to: .unchanged(tag: held), venues: [venue], nothing: "")
    }
    let body = request.loops.compressor.cache.body(text) ?? svg(picture, card)
    request.loops.compressor.cache.keep(body, as: text)
    var response = api.response(to: .body(body, tag: text), venues: [venue], nothing: "")
    response.contentType = "image/svg+xml"
    return response
  }

  private func svg(_ picture: Picture, _ card: PriceCard) -> [UInt8] {
    switch picture {
    case .card: card.svg()
    case .line(let width, let height): LinePicture(card, width: width, height: height).svg()
    }
  }
}

extension Instrument {
  /// The market that a symbol names, before its venue has described it; nil if the symbol has no base and quote.
  fileprivate init?(naming symbol: String) {
    let parts = symbol.split(separator: ":", maxSplits: 1)
    let assets = parts.last?.split(separator: "-") ?? []
    guard parts.count == 2, assets.count >= 2, symbol.utf8.count <= 80 else { return nil }
    self.init(
      id: InstrumentID(0), venue: String(parts[0]), venueSymbol: symbol, base: String(assets[0]),
      quote: String(assets[1]), priceScale: 2, sizeScale: 8)
  }
}
