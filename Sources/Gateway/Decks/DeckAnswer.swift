import Build
import Bytes
import Decks
import Documents
import HTTP1
import MarketData
import PubSub

/// `/v1/decks`, `/v1/decks/{name}` and `/v1/cards/deck/{name}.svg`.
struct DeckAnswer: RouteAnswer {
  let request: APIRequest
  private var desk: DeckDesk { request.node.settings.decks }
  private var compressor: ResponseCompressor { request.node.compressor }

  init(_ request: APIRequest) { self.request = request }

  /// The card of the day as JSON.
  func card() throws(RequestProblem) {
    let today = try today()
    let body = Self.body(today)
    var tag = ContentTag(run: TidegateVersion.current)
    tag.add(body)
    reply(response(body, EntityTag.text(tag)), until: today)
  }

  /// The card of the day as a picture.
  func picture() throws(RequestProblem) {
    let query = request.query
    let size = try query.word("size", default: DeckPicture.Size.small) { DeckPicture.Size(rawValue: $0) }
    let contrast = try query.word("contrast", default: DeckPicture.Contrast.normal) {
      DeckPicture.Contrast(rawValue: $0)
    }
    let today = try today()
    try request.pay()
    var content = ContentTag(run: TidegateVersion.current)
    content.add(Self.body(today))
    content.add("\(size.rawValue) \(contrast.rawValue)")
    let tag = EntityTag.text(content)
    if let held = EntityTag.match(request.known, tag) { return reply(.unchanged(held), until: today) }
    var response = response(compressor.cache.body(tag) ?? DeckPicture(today, size: size, contrast: contrast).svg(), tag)
    response.contentType = "image/svg+xml"
    reply(response, until: today)
  }

  private func today() throws(RequestProblem) -> DeckDay {
    let zone = request.query.text("zone") ?? StreamLimits.defaultZone
    do throws(ProtocolError) {
      return try desk.today(request.name, zone: zone, now: request.node.loop.wallTime).get()
    } catch {
      guard error.code != .outOfRange else { throw RequestQuery.problem(error.message, hint: error.hint ?? "") }
      throw RequestProblem(error)
    }
  }

  private static func body(_ today: DeckDay) -> [UInt8] {
    var text = ByteBuffer(capacity: 512)
    today.append(to: &text)
    return text.takeBytes()
  }

  /// The body, or that the client has it.
  private func response(_ body: [UInt8], _ tag: String) -> HTTPResponse {
    if let held = EntityTag.match(request.known, tag) { return .unchanged(held) }
    compressor.cache.keep(body, as: tag)
    return .json(body, tag: tag)
  }

  /// Replies with a response that is valid until the card turns.
  private func reply(_ response: HTTPResponse, until today: DeckDay) {
    var response = response
    // In whole seconds: one more than are left would show it on the next day.
    let seconds = max(0, (today.day.ends - request.node.loop.wallTime) / 1_000_000)
    response.fields = response.fields.map { field in
      field.name == "Cache-Control" ? HTTPField("Cache-Control", "max-age=\(seconds)") : field
    }
    request.reply(response)
  }

  func list() {
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
    request.reply(response(body, EntityTag.text(tag)))
  }
}
