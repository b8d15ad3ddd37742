import TestSupport
import Testing

@testable import Settings

@Suite("What is different between two configurations")
struct ConfigurationChangeTests {
  private var base: GatewayConfiguration {
    var configuration = GatewayConfiguration()
    configuration.feeds = [
      .init(venue: "binance", symbols: ["BTC-USDT", "BTC-USDT-PERP"]), .init(venue: "kraken", symbols: ["BTC-USD"]),
    ]
    return configuration
  }

  private func change(_ body: (inout GatewayConfiguration) -> Void) -> ConfigurationChange {
    var next = base
    body(&next)
    return ConfigurationChange(from: base, to: next)
  }

  @Test("nothing, where nothing is")
  func nothing() { #expect(change { _ in }.isEmpty) }

  @Test("the guide lists every setting that can change while the gateway runs")
  func guide() throws {
    let keys = Setting.all.filter(\.isLive).map(\.key)
    let lines = keys.map { "- `\($0)`" }
    let (document, code) = try GeneratedPart("live settings", in: "Sources/Gateway/Gateway.docc/Reloading.md")
      .compare(with: lines)
    #expect(document == code)
  }

  @Test("settings are told apart by whether they take effect at once")
  func settings() {
    let change = change {
      $0.limits.clients = 5
      $0.loops = 63
    }
    #expect(change.applied == [.init(key: "limits.clients", old: "10000", new: "5")])
    #expect(change.needsRestart.map(\.key) == ["loops"])
  }

  @Test("a feed comes, goes or changes by connection")
  func feeds() {
    let change = change {
      $0.feeds[0].symbols = ["ETH-USDT", "BTC-USDT"]
      $0.feeds[1] = .init(venue: "coinbase", symbols: ["BTC-USD"])
    }
    #expect(
      change.feeds == [
        .change("binance", added: ["ETH-USDT"], removed: []), .end("binance-usdm"), .begin("coinbase"), .end("kraken"),
      ])
  }

  @Test("another endpoint is a change of the feed")
  func endpoint() {
    let change = change { $0.feeds[1].endpoint = "ws://127.0.0.1:1/v2" }
    #expect(change.feeds == [.change("kraken", added: [], removed: [])])
  }

  @Test("a venue whose symbols need several connections of a kind takes another start")
  func several() {
    let many = (0..<600).map { "A\($0)-USDT" }
    let change = change {
      $0.feeds[0] = .init(venue: "okx", symbols: many)
      $0.feeds[1].symbols = ["ETH-USD"]
    }
    #expect(change.needsRestart.map(\.key) == ["feeds.okx"])
    #expect(change.feeds.contains(.end("binance")) && !change.feeds.contains(.begin("okx")))
  }
}
