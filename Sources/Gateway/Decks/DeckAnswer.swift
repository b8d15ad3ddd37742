import Build
import Bytes
import Decks
import HTTP1
import MarketData
import PubSub

/// `/v1/decks`, `/v1/decks/{name}` and `/v1/cards/deck/{name}.svg`.
struct DeckAnswer {
  static let zoneParameter = Route.Parameter(name: "zone", form: .text("a name of the IANA database: Europe/Berlin"))

  let api: PublicAPI
  let route: Route
  let name: String

  private var desk: DeckDesk { api.node.settings.decks }

  func answer(
    _ query: RequestQuery, _ grant: Grant, _ known: [String], _ reply: @escaping (HTTPResponse) -> Void,
    _ charge: @escaping (Int) -> HTTPResponse?
  ) throws(RequestProblem) {
    guard grant.channels.contains(.deck) else {
      throw RequestProblem(response: api.forbidden("the channel deck", grant))
    }
    guard route != .decks else { return reply(list(known)) }
    let size = try query.word("size", default: DeckPicture.Size.small) { DeckPicture.Size(rawValue: $0) }
    let contrast = try query.word("contrast", default: DeckPicture.Contrast.normal) {
      DeckPicture.Contrast(rawValue: $0)
    }
    let now = api.node.loop.wallTime
    let zone = query.text("zone") ?? StreamLimits.defaultZone
    let today: DeckDay
    switch desk.today(name, zone: zone, now: now) {
    case .success(let found): today = found
    case .failure(let error):
      guard error.code != .outOfRange else {
        throw RequestQuery.problem(error.message, hint: error.hint ?? "")
      }
      throw RequestProblem(response: api.response(to: error))
    }
    // A picture is laid out several times to find what fits.
    if route == .deckCard, let refusal = charge(256) { return reply(refusal) }
    var text = ByteBuffer(capacity: 512)
    today.append(to: &text)
    let body = text.takeBytes()
    var tag = ContentTag(run: TidegateVersion.current)
    tag.add(body)
    if route == .deckCard { tag.add("\(size.rawValue) \(contrast.rawValue)") }
    var response = response(body, tag, known) { DeckPicture(today, size: size, contrast: contrast).svg() }
    // Until it turns, in whole seconds: one more than are left would show it on the next day.
    let seconds = max(0, (today.day.ends - now) / 1_000_000)
    response.fields = response.fields.map { field in
      field.name == "Cache-Control" ? HTTPField("Cache-Control", "max-age=\(seconds)") : field
    }
    reply(response)
  }

  private func response(
    _ body: [UInt8], _ tag: ContentTag, _ known: [String], picture: () -> [UInt8]
  ) -> HTTPResponse {
    let text = EntityTag.text(tag)
    if let held = EntityTag.match(known, text) { return .unchanged(held) }
    guard route == .deckCard else {
      api.node.compressor.cache.keep(body, as: text)
      return .json(body, tag: text)
    }
    let drawn = api.node.compressor.cache.body(text) ?? picture()
    api.node.compressor.cache.keep(drawn, as: text)
    var response = HTTPResponse.json(drawn, tag: text)
    response.contentType = "image/svg+xml"
    return response
  }

  private func list(_ known: [String]) -> HTTPResponse {
    var out = ByteBuffer(capacity: 512)
    out.append("{\"decks\":[")
    for (index, deck) in desk.all.enumerated() {
      out.append(index > 0 ? ",{\"name\":" : "{\"name\":")
      out.append(json: deck.name)
      out.append(",\"title\":")
      out.append(json: deck.title)
      out.append(",\"cards\":")
      out.append(integer: Int64(deck.cards.count))
      out.append("}")
    }
    out.append("]}")
    let body = out.takeBytes()
    var tag = ContentTag(run: TidegateVersion.current)
    tag.add(body)
    let text = EntityTag.text(tag)
    if let held = EntityTag.match(known, text) { return .unchanged(held) }
    api.node.compressor.cache.keep(body, as: text)
    return .json(body, tag: text)
  }
}
