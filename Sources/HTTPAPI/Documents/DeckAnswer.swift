import Build
import Bytes
import Decks
import Documents
import HTTP1
import MarketData
import PubSub
import Transport

/// `/v1/decks`, `/v1/decks/{name}` and `/v1/cards/deck/{name}.svg`.
struct DeckAnswer: RouteAnswer {
  let request: APIRequest
  private var desk: DeckDesk { request.documents.decks }
  private var compressor: ResponseCompressor { request.loops.compressor }

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
      return try desk.today(request.name, zone: zone, now: request.loops.loop.wallTime).get()
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
    let seconds = max(0, (today.day.ends - request.loops.loop.wallTime) / 1_000_000)
    response.fields = response.fields.map { field in
      field.name == "Cache-Control" ? HTTPField("Cache-Control", "max-age=\(seconds)") : field
    }
    request.reply(response)
  }

  func list() {
    var writer = JSONObjectWriter(capacity: 512)
    writer.object { writer in
      writer.array("decks") { writer in
        for deck in desk.all {
          writer.object { writer in
            writer.field("name", deck.name)
            writer.field("title", deck.title)
            writer.field("cards", deck.cards.count)
          }
        }
      }
    }
    let body = writer.takeBytes()
    var tag = ContentTag(run: TidegateVersion.current)
    tag.add(body)
    request.reply(response(body, EntityTag.text(tag)))
  }
}

extension EventLoop {
  /// The wall clock. It may go back: a card changes at midnight of this clock, even after somebody set it back.
  package var wallTime: Timestamp { Timestamp(microseconds: kernel.wallMicroseconds()) }
}
