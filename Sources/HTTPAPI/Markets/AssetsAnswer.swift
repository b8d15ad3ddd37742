import Bytes
import HTTP1
import MarketData
import PubSub

/// Answers `/v1/assets`: the names of assets, a page at a time.
struct AssetsAnswer: RouteAnswer {
  /// The most assets of a page, and those of a page without `limit`.
  static let pageLimit = 1_000
  static let pageUsual = 100
  /// Assets that can be searched at the cost of one point of a sparkline.
  private static let assetsPerPoint = 8

  let request: APIRequest

  init(_ request: APIRequest) { self.request = request }

  func page() throws(RequestProblem) {
    let (query, loops) = (request.query, request.loops)
    let limit = try query.number("limit", default: Self.pageUsual)
    let after = query.text("after") ?? ""
    let wanted = query.text("q") ?? ""
    let names = loops.hub.directory.names
    var tag = ContentTag(run: loops.run)
    for text in ["assets", after, wanted] { tag.add(text) }
    tag.add(UInt64(limit))
    tag.add(names.revision)
    let text = EntityTag.text(tag)
    func answer(_ response: HTTPResponse) { request.reply(names.assets.isEmpty ? Self.asPassing(response) : response) }
    if let held = EntityTag.match(request.known, text) { return answer(.unchanged(held)) }
    if let body = loops.compressor.cache.body(text) { return answer(.json(body, tag: text)) }
    let looked = wanted.isEmpty ? limit : names.assets.count
    try request.pay(limit + looked / Self.assetsPerPoint)
    let body = Self.body(names, containing: wanted, after: after, limit: limit)
    loops.compressor.cache.keep(body, as: text)
    answer(.json(body, tag: text))
  }

  /// A gateway that has just started asks its venues for names: the answer without any is good for no time.
  private static func asPassing(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.fields = response.fields.map { $0.name == "Cache-Control" ? HTTPField($0.name, "max-age=0") : $0 }
    return response
  }

  /// `{"assets":[{"code":"ZEC","name":"Zcash","venues":["coinbase"],"others":[{"venue":…,"name":…}]}],"next":"ZEC"}`.
  /// O(assets) for a search, else O(limit).
  static func body(_ names: AssetNames, containing text: String, after: String, limit: Int) -> [UInt8] {
    let wanted = Array(text.utf8)
    var (count, last, isMore) = (0, "", false)
    var writer = JSONObjectWriter(capacity: 4096)
    writer.object { writer in
      writer.array("assets") { writer in
        for asset in names.assets[names.index(after: after)...] {
          if !wanted.isEmpty, !InstrumentList.contains(asset.code, wanted),
            !asset.sources.contains(where: { InstrumentList.contains($0.name, wanted) })
          {
            continue
          }
          guard count < limit else {
            isMore = true
            break
          }
          write(asset, to: &writer)
          count += 1
          last = asset.code
        }
      }
      if isMore { writer.field("next", last) }
    }
    return writer.takeBytes() + [UInt8(ascii: "\n")]
  }

  private static func write(_ asset: AssetNames.Asset, to writer: inout JSONObjectWriter) {
    writer.object { writer in
      writer.field("code", asset.code)
      writer.field("name", asset.name)
      writer.field("venues", asset.sources.filter { $0.name == asset.name }.map(\.venue))
      let others = asset.sources.filter { $0.name != asset.name }
      guard !others.isEmpty else { return }
      writer.array("others") { writer in
        for other in others {
          writer.object { writer in
            writer.field("venue", other.venue)
            writer.field("name", other.name)
          }
        }
      }
    }
  }
}
