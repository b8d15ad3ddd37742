import Bytes
import HTTP1
import MarketData
import PubSub
import Transport

/// Makes the answer of `/v1/instruments`, a piece of the list at a time, so that a long one takes many short turns.
/// Owned by one loop.
final class InstrumentsAnswer {
  /// Instruments that one turn writes: some 100 µs.
  static let piece = 256

  private var list: InstrumentList
  private let loops: any AnswerLoops
  private let tag: String
  private let completion: (MarketAnswer.Outcome, _ tag: String) -> Void
  private var out = ByteBuffer(capacity: 4096)
  private var next = 0

  init(
    _ list: InstrumentList, loops: any AnswerLoops, completion: @escaping (MarketAnswer.Outcome, _ tag: String) -> Void
  ) {
    self.list = list
    self.loops = loops
    self.completion = completion
    var tag = ContentTag(run: loops.run)
    tag.add(list.tag)
    self.tag = EntityTag.text(tag)
  }

  /// - Parameter known: the values of `If-None-Match`.
  func begin(known: [String]) {
    if let held = EntityTag.match(known, tag) { return completion(.unchanged(tag: held), tag) }
    if let body = loops.compressor.cache.body(tag) { return completion(.body(body, tag: tag), tag) }
    list.sort()
    out.append("{\"instruments\":[")
    advance()
  }

  private func advance() {
    let end = min(list.entries.count, next + Self.piece)
    if next > 0, next < end { out.append(UInt8(ascii: ",")) }
    list.append(next..<end, to: &out)
    next = end
    if end < list.entries.count {
      let rest = UncheckedTransfer(value: { [self] in advance() })
      return loops.loop.execute { rest.value() }
    }
    out.append("]}\n")
    let body = out.takeBytes()
    out.release()
    loops.compressor.cache.keep(body, as: tag)
    completion(.body(body, tag: tag), tag)
  }
}

/// Answers `/v1/instruments`.
struct InstrumentListAnswer: RouteAnswer {
  let request: APIRequest

  init(_ request: APIRequest) { self.request = request }

  func list() throws(RequestProblem) {
    let (api, hub, grant) = (request.api, request.loops.hub, request.grant)
    let venue = request.query.text("venue")
    if let venue, !hub.directory.venues.contains(venue) {
      throw RequestProblem(
        response: .error(
          404, code: "unknown_venue",
          message: "\(venue.prefix(40)) is not configured here"
            + NearNames.question(String(venue.prefix(40)), among: hub.directory.venues),
          hint: "venues: \(hub.directory.venues.sorted().joined(separator: ", "))"))
    }
    // Just after a start an empty list would say that the venue has no markets.
    if let early = hub.listNotReady(of: "\(venue ?? "*"):") { throw RequestProblem(early) }
    let listing = hub.listingRevision
    let list = InstrumentList(
      hub.directory, hub.feeds, venue: venue, query: request.query.text("q"), grant: grant)
    let venues = list.venues
    InstrumentsAnswer(list, loops: request.loops) { outcome, tag in
      var response = api.response(to: outcome, venues: venues, nothing: "")
      if grant.allowsAllSymbols {
        response.memo = AnswerMemo(
          tag: tag, stamps: [], venues: venues, channels: [], listing: listing, count: api.parts.memos)
      }
      request.reply(response)
    }.begin(known: request.known)
  }
}
