import Foundation
import MarketData
import Testing

@testable import HTTPAPI

@Suite("Pages of asset names")
struct AssetsAnswerTests {
  private static func page(
    _ names: AssetNames, _ text: String = "", after: String = "", limit: Int
  ) throws -> [String: Any] {
    let body = AssetsAnswer.body(names, containing: text, after: after, limit: limit)
    return try #require(JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
  }

  private static func codes(_ page: [String: Any]) -> [String] {
    (page["assets"] as? [[String: Any]] ?? []).compactMap { $0["code"] as? String }
  }

  @Test("one after the other have every asset once, in the order of codes", arguments: [1, 3, 7, 100])
  func pages(limit: Int) throws {
    var names = AssetNames()
    names.set(Dictionary(uniqueKeysWithValues: (0..<25).map { ("C\($0)", "Coin \($0)") }), of: "coinbase")
    var (found, after) = ([String](), "")
    while true {
      let page = try Self.page(names, after: after, limit: limit)
      #expect(Self.codes(page).count <= limit)
      found += Self.codes(page)
      guard let next = page["next"] as? String else { break }
      #expect(next > after)
      after = next
    }
    #expect(found == names.assets.map(\.code))
  }

  @Test("finds codes and any name that is said, and says who says what")
  func search() throws {
    var names = AssetNames()
    names.set(["ATOM": "Cosmos", "BTC": "Bitcoin \"core\""], of: "coinbase")
    names.set(["ATOM": "Cosmos-Atom", "ZEC": "Zcash"], of: "bitfinex")
    #expect(try Self.codes(Self.page(names, "aTo", limit: 9)) == ["ATOM"])
    #expect(try Self.codes(Self.page(names, "cosmos-", limit: 9)) == ["ATOM"])
    #expect(try Self.codes(Self.page(names, "c", limit: 9)) == ["ATOM", "BTC", "ZEC"])
    #expect(try Self.codes(Self.page(names, "nope", limit: 9)) == [])
    let asset = try #require((try Self.page(names, "atom", limit: 1)["assets"] as? [[String: Any]])?.first)
    #expect(asset["name"] as? String == "Cosmos")
    #expect(asset["venues"] as? [String] == ["coinbase"])
    #expect(asset["others"] as? [[String: String]] == [["venue": "bitfinex", "name": "Cosmos-Atom"]])
  }
}
