import Bytes
import MarketData
import TestSupport
import Testing

@testable import Venues

@Suite("What venues call their assets")
struct AssetNameFormatTests {
  private static func read(_ format: AssetNameFormat, _ text: String) throws -> [String: String] {
    let bytes = Array(text.utf8)
    return try format.read(bytes.span.bytes)
  }

  @Test("Coinbase: objects with an id, fiat money too, with names of networks inside")
  func coinbase() throws {
    let text = #"""
      [{"id":"BTC","name":"Bitcoin","min_size":"0.00000001","details":{"type":"crypto","name":"no","symbol":"₿"},
      "supported_networks":[{"id":"bitcoin","name":"Bitcoin network"}]},{"name":"Euro","id":"EUR"},
      {"id":"NON","name":null},{"id":7,"name":"Seven"},"BTC",null,[],{}]
      """#
    #expect(try Self.read(Coinbase.assetNames, text) == ["BTC": "Bitcoin", "EUR": "Euro"])
  }

  @Test("KuCoin: the name is the code again, the full name is the name")
  func kuCoin() throws {
    let text = #"""
      {"code":"200000","data":[{"currency":"ZEC","name":"ZEC","fullName":"Zcash","chains":[{"chainName":"ZEC"}]},
      {"currency":"ZEC","name":"ZEC","fullName":"Another"}]}
      """#
    #expect(try Self.read(KuCoin.assetNames, text) == ["ZEC": "Zcash"])
  }

  @Test("Deribit: long names")
  func deribit() throws {
    let text = #"{"jsonrpc":"2.0","result":[{"coin_type":"BITCOIN","currency":"BTC","currency_long":"Bitcoin"}]}"#
    #expect(try Self.read(Deribit.assetNames, text) == ["BTC": "Bitcoin"])
  }

  @Test("Bitfinex: by its own codes, which are translated as in symbols")
  func bitfinex() throws {
    let text = #"""
      [[["ABS","The Abyss"],["UST","Tether USDt"],["ALG","Algorand"],["ALGO","Another"],["DSH","Dash"],[1],"x"],
      [["UST","USDt"],["ALG","ALGO"],["BAB","BCHABC"]]]
      """#
    #expect(
      try Self.read(Bitfinex.assetNames, text) == [
        "ABS": "The Abyss", "USDT": "Tether USDt", "ALGO": "Another", "DASH": "Dash",
      ])
    #expect(try Self.read(Bitfinex.assetNames, #"[[["UDC","USD Coin"]]]"#) == ["USDC": "USD Coin"])
  }

  @Test(
    "refuses what is no list",
    arguments: [
      "", "{}", "null", "17", "[", #"{"code":"429000","msg":"Too many"}"#, #"{"data":{}}"#, #"{"result":null}"#,
      #"["error",10020,"path: invalid"]"#, #"{"error":"ERR_RATE_LIMIT"}"#, #"{"data":[{"currency":"BTC""#,
    ])
  func noList(text: String) {
    for format in [KuCoin.assetNames, Deribit.assetNames, Bitfinex.assetNames] {
      #expect(throws: FeedError.self) { try Self.read(format, text) }
    }
  }

  @Test("a list that is too long is none, whichever venue sends it")
  func tooLong() throws {
    func rows(_ count: Int, _ row: (Int) -> String) -> String { (0..<count).map(row).joined(separator: ",") }
    for (count, isTaken) in [(AssetNames.listLimit, true), (AssetNames.listLimit + 1, false)] {
      let lists = [
        (Coinbase.assetNames, "[\(rows(count) { #"{"id":"A\#($0)","name":"B"}"# })]"),
        (KuCoin.assetNames, #"{"data":[\#(rows(count) { #"{"currency":"A\#($0)","fullName":"B"}"# })]}"#),
        (Deribit.assetNames, #"{"result":[\#(rows(count) { #"{"currency":"A\#($0)","currency_long":"B"}"# })]}"#),
        (Bitfinex.assetNames, #"[[\#(rows(count) { #"["A\#($0)","B"]"# })]]"#),
      ]
      for (format, text) in lists {
        guard isTaken else {
          #expect(throws: FeedError.self, "\(format.path)") { try Self.read(format, text) }
          continue
        }
        var names = AssetNames()
        names.set(try Self.read(format, text), of: "a")
        #expect(names.assets.count == count, "\(format.path)")
      }
    }
  }

  @Test("bytes that were changed at random are read or refused, never more", arguments: 0..<4)
  func mutated(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let texts = [
      (Coinbase.assetNames, #"[{"id":"BTC","name":"Bitcoin"},{"id":"EUR","name":"Euro"}]"#),
      (KuCoin.assetNames, #"{"code":"200000","data":[{"currency":"ZEC","name":"ZEC","fullName":"Zcash"}]}"#),
      (Bitfinex.assetNames, #"[[["ABS","The Abyss"],["UST","Tether"]],[["UST","USDt"]]]"#),
    ]
    for (format, text) in texts {
      for _ in 0..<2_000 {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        guard let list = try? format.read(bytes.span.bytes) else { continue }
        var names = AssetNames()
        names.set(list, of: "coinbase")
        #expect(names.assets.count <= list.count, "seed \(seed)")
      }
    }
  }
}
