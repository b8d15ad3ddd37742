import Bytes
import HTTP1
import MarketData
import PubSub
import Transport

/// Answers one request about markets, whose data may be on several loops, in the order asked. Owned by the asking loop.
///
/// First the loops report the revisions of the answer's parts, which is cheap. They are not asked about a part that is
/// known and has not changed. A client that already has the answer gets 304, and parts made for another client are sent
/// again. Only otherwise do the loops make the texts, in pieces of at most `pieceCost`, each in a separate turn, so
/// that no feed or client waits for one large request.
final class MarketAnswer {
  /// The most that one turn makes, in points of a sparkline: some 50 µs.
  static let pieceCost = 2_048
  /// The most that one request may ask for, in points of sparklines.
  static let pointLimit = 28_800

  /// One symbol of the request.
  struct Item {
    enum Content {
      case failed(ProtocolError)
      case market(loop: Int, MarketRoute, DataState)
    }
    let symbol: String
    let content: Content

    /// The object up to where the data begins.
    var head: [UInt8] {
      var out = ByteBuffer(capacity: 128)
      out.append("{\"symbol\":")
      out.append(json: symbol)
      switch content {
      case .market(_, _, let state): state.append(to: &out)
      case .failed(let error):
        out.append(",\"error\":{")
        error.append(to: &out)
        out.append(UInt8(ascii: "}"))
      }
      return out.takeBytes()
    }
  }

  /// The outcome of a request.
  enum Outcome {
    case body([UInt8], tag: String)
    /// The client has this content already.
    case unchanged(tag: String)
    /// The one symbol has no data yet.
    case nothing
    case refused(HTTPResponse)
  }

  /// The tag and the stamps of an answer that depends on nothing else.
  struct Made {
    /// Of the plain body.
    var tag: String
    var stamps: [PartStamp]
  }

  private let loops: any AnswerLoops
  private let view: MarketView
  private let items: [Item]
  private let heads: [[UInt8]]
  /// Whether the body is a list of items; else it is the only item.
  private let isList: Bool
  private let known: [String]
  /// Called with the cost before texts are made; an answer refuses the request.
  private let charge: (Int) -> HTTPResponse?
  private let completion: (Outcome, Made?) -> Void
  private let parts: KnownParts
  private var stamps: [PartStamp?]
  private var texts: [[UInt8]?]
  private var pending = 0

  /// - Parameters:
  ///   - known: the values of `If-None-Match`.
  ///   - charge: may refuse the cost of the texts.
  init(
    _ items: [Item], _ view: MarketView, isList: Bool, known: [String], loops: any AnswerLoops, parts: KnownParts,
    charge: @escaping (Int) -> HTTPResponse?, completion: @escaping (Outcome, Made?) -> Void
  ) {
    precondition(isList || items.count == 1, "without a list there is one item")
    self.items = items
    self.view = view
    self.isList = isList
    self.known = known
    self.loops = loops
    self.parts = parts
    self.charge = charge
    self.completion = completion
    heads = items.map(\.head)
    stamps = Array(repeating: nil, count: items.count)
    texts = Array(repeating: nil, count: items.count)
  }

  func begin() {
    var byLoop: [Int: [(index: Int, route: MarketRoute)]] = [:]
    let now = loops.now()
    for (index, item) in items.enumerated() {
      guard case .market(let loop, let route, _) = item.content else { continue }
      stamps[index] = parts.stamp(key(loop, route), now: now)
      if stamps[index] == nil { byLoop[loop, default: []].append((index, route)) }
    }
    pending = byLoop.count
    guard pending > 0 else { return compare() }
    let view = view
    for (loop, wanted) in byLoop.sorted(by: { $0.key < $1.key }) {
      let routes = wanted.map(\.route)
      loops.askMarkets(loop) { markets in
        let now = markets.now()
        if case .sparkline(.all, _) = view {
          for route in routes { markets.wantAllHistory(of: route) }
        }
        let wishes = view.wishes
        if !wishes.isEmpty { for route in routes { markets.want(wishes, of: route) } }
        return routes.map { markets.publisher.stamp(of: view, at: $0, now: now) }
      } then: { [self] found in
        for (want, stamp) in zip(wanted, found) {
          stamps[want.index] = stamp
          if let stamp { parts.keep(stamp, as: key(loop, want.route)) }
        }
        pending -= 1
        if pending == 0 { compare() }
      }
    }
  }

  private func compare() {
    if !isList, stamps[0]?.tag == nil { return completion(.nothing, nil) }
    let tag = entityTag
    if let held = EntityTag.match(known, tag) { return completion(.unchanged(tag: held), made(tag)) }
    if let body = loops.compressor.cache.body(tag) { return completion(.body(body, tag: tag), made(tag)) }
    for (index, item) in items.enumerated() {
      guard case .market(let loop, let route, _) = item.content else { continue }
      texts[index] = parts.text(key(loop, route), tag: stamps[index]?.tag)
    }
    let pieces = Self.pieces(items.map(\.content), cost: view.cost) { self.texts[$0] == nil }
    if let refusal = charge(pieces.reduce(0) { $0 + $1.indices.count } * view.cost) {
      return completion(.refused(refusal), nil)
    }
    make(pieces[...])
  }

  private func key(_ loop: Int, _ route: MarketRoute) -> KnownParts.Key {
    KnownParts.Key(loop: loop, route: route, view: view)
  }

  /// Nil if an item failed, since that does not depend on a market's content.
  private func made(_ tag: String) -> Made? {
    let stamps = stamps.compactMap { $0 }
    return stamps.count == items.count ? Made(tag: tag, stamps: stamps) : nil
  }

  /// Runs of items of one loop that are wanted, each of at most `pieceCost` or one item.
  static func pieces(
    _ contents: [Item.Content], cost: Int, where isWanted: (Int) -> Bool = { _ in true }
  ) -> [(loop: Int, indices: [Int])] {
    let most = max(1, pieceCost / max(1, cost))
    var pieces: [(loop: Int, indices: [Int])] = []
    /// The piece of each loop that has room.
    var open: [Int: Int] = [:]
    for (index, content) in contents.enumerated() {
      guard case .market(let loop, _, _) = content, isWanted(index) else { continue }
      if let piece = open[loop], pieces[piece].indices.count < most {
        pieces[piece].indices.append(index)
      } else {
        open[loop] = pieces.count
        pieces.append((loop, [index]))
      }
    }
    return pieces
  }

  /// Lets the loops make the texts, one piece after the other.
  private func make(_ pieces: ArraySlice<(loop: Int, indices: [Int])>) {
    guard let piece = pieces.first else { return finish() }
    let view = view
    let routes = piece.indices.compactMap { index -> MarketRoute? in
      if case .market(_, let route, _) = items[index].content { return route }
      return nil
    }
    loops.askMarkets(piece.loop) { markets in
      let now = markets.now()
      return routes.map { route in
        (markets.publisher.stamp(of: view, at: route, now: now), markets.publisher.text(of: view, at: route, now: now))
      }
    } then: { [self] made in
      for ((index, route), (stamp, text)) in zip(zip(piece.indices, routes), made) {
        stamps[index] = stamp
        texts[index] = text?.fields ?? []
        if let stamp { parts.keep(stamp, text: text?.fields ?? [], as: key(piece.loop, route)) }
      }
      let rest = pieces.dropFirst()
      guard !rest.isEmpty else { return finish() }
      // The next piece in another turn, even on the same loop.
      let next = UncheckedTransfer(value: { [self] in make(rest) })
      loops.loop.execute { next.value() }
    }
  }

  private func finish() {
    if !isList, stamps[0]?.tag == nil { return completion(.nothing, nil) }
    var out = ByteBuffer(
      capacity: 256 + zip(heads, texts).reduce(0) { $0 + $1.0.count + ($1.1?.count ?? 0) + 2 })
    if isList { out.append("{\"snapshots\":[") }
    for index in items.indices {
      if index > 0 { out.append(UInt8(ascii: ",")) }
      out.append(heads[index])
      if let text = texts[index] { out.append(text) }
      out.append(UInt8(ascii: "}"))
    }
    if isList { out.append("]}") }
    out.append(UInt8(ascii: "\n"))
    let tag = entityTag
    let body = out.takeBytes()
    loops.compressor.cache.keep(body, as: tag)
    completion(.body(body, tag: tag), made(tag))
  }

  /// Made of the request's own texts and the stamps of the data.
  private var entityTag: String {
    var tag = ContentTag(run: loops.run)
    tag.add(isList ? 1 as UInt64 : 0)
    for (head, stamp) in zip(heads, stamps) {
      tag.add(head)
      tag.add(stamp?.tag ?? 0)
    }
    return EntityTag.text(tag)
  }
}
