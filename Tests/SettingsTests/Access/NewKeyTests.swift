import Access
import MarketData
import PubSub
import Testing

@testable import Settings

@Suite("New API keys")
struct NewKeyTests {
  private static func error(_ policy: AccessPolicy, _ token: String, _ now: Timestamp) -> AccessError? {
    do throws(AccessError) {
      _ = try policy.authenticate(token, now: now)
      return nil
    } catch {
      return error
    }
  }

  @Test("an API key is known by its hash alone, until it expires")
  func keys() throws {
    let key = try NewKey(name: "desk-1", fields: ["symbols=kraken:*", "expires=2026-09-22"])
    #expect(key.text.hasPrefix("tg_") && key.text.utf8.count == 46 && !NewKey.section(of: [key]).contains(key.text))
    let policy = try KeyFile.parse(Array(NewKey.section(of: [key]).utf8), path: "k.yaml") { _ in nil }
    let now = Timestamp(microseconds: 1_790_000_000_000_000)
    #expect(AccessReader.date("2026-09-22")! > now)
    let grant = try policy.authenticate(key.text, now: now).grant
    #expect(grant.subject == "desk-1" && grant.allows("kraken:BTC-USD") && !grant.allows("binance:BTC-USDT"))
    #expect(Self.error(policy, key.text, AccessReader.date("2026-09-22")!) == .expired)
    for wrong in [String(key.text.dropLast()), key.text + "A", "tg_", "", "é", key.text + "\n"] {
      #expect(Self.error(policy, wrong, now) != nil, "\(wrong)")
    }
    #expect(try NewKey(name: "desk-1").text != key.text)
    #expect(throws: ConfigurationProblems.self) { try NewKey(name: "desk 1") }
    #expect(throws: ConfigurationProblems.self) { try NewKey(name: "desk", fields: ["symbol=x"]) }
  }
}
