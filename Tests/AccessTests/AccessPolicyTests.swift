import MarketData
import PubSub
import TestSupport
import TestTraits
import Testing
import Transport

@testable import Access

@Suite("Tokens")
struct AccessPolicyTests {
  static let secret = (0..<32).map { UInt8($0) }
  static let now = Timestamp(microseconds: 1_790_000_000_000_000)

  /// A token by the secret of these tests.
  static func token(
    _ claims: String, header: String = #"{"alg":"HS256"}"#, secret: [UInt8] = secret, signs: Bool = true
  ) -> String {
    let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
    let signature = Digest.hmacSHA256(key: secret, message: Array(signed.utf8))
    return signed + "." + (signs ? Base64URL.encode(signature) : "")
  }

  private static func policy(_ change: (inout AccessPolicy.Issuer) -> Void = { _ in }) -> AccessPolicy {
    var issuer = AccessPolicy.Issuer(name: "local", key: .secret(secret))
    change(&issuer)
    var policy = AccessPolicy()
    policy.issuers = [issuer]
    return policy
  }

  /// The three of `TokenVectors`, each pinned to its algorithm.
  private static func vectors() throws -> AccessPolicy {
    var policy = AccessPolicy()
    func issuer(_ name: String, _ key: AccessPolicy.Issuer.Key) -> AccessPolicy.Issuer {
      var issuer = AccessPolicy.Issuer(name: name, key: key, keyID: name)
      issuer.issuer = "https://auth.example"
      issuer.audience = "tidegate"
      return issuer
    }
    policy.issuers = [
      issuer("rsa-1", .publicKey(try SignatureKey(pem: Array(TokenVectors.rsaKey.utf8)))),
      issuer("ec-1", .publicKey(try SignatureKey(pem: Array(TokenVectors.ecKey.utf8)))),
      issuer("hmac-1", .secret(secret)),
    ]
    return policy
  }

  private static func error(_ policy: AccessPolicy, _ token: String, now: Timestamp = now) -> AccessError? {
    do throws(AccessError) {
      _ = try policy.authenticate(token, now: now)
      return nil
    } catch {
      return error
    }
  }

  @Test("tokens made elsewhere are good under HS256, RS256 and ES256, and grant what they say")
  func vectors() throws {
    let policy = try Self.vectors()
    for (name, token) in [("rsa-1", TokenVectors.rs256), ("ec-1", TokenVectors.es256), ("hmac-1", TokenVectors.hs256)] {
      let grant = try policy.authenticate(token, now: Self.now).grant
      #expect(grant.subject == "\(name)/alice")
      #expect(grant.channels == [.trades, .book] && grant.subscriptions == 10)
      #expect(grant.allows("kraken:BTC-USD") && !grant.allows("coinbase:BTC-USD"))
      #expect(grant.expires == Timestamp(microseconds: (1_790_003_600 + 30) * 1_000_000))
    }
  }

  @Test("another algorithm than the key's is refused, whatever the token says of itself")
  func confusion() throws {
    let policy = try Self.vectors()
    #expect(Self.error(policy, TokenVectors.confused) == .algorithm)
    #expect(Self.error(policy, TokenVectors.ps256) == .algorithm)
    #expect(Self.error(policy, TokenVectors.pssAsRS256) == .signature)
    #expect(Self.error(policy, TokenVectors.derES256) == .signature)
    let claims = #"{"exp":1790000100}"#
    for name in ["none", "None", "NONE", "", "HS384", "hs256", "HS256 ", "RS256", "ES256"] {
      for signs in [true, false] {
        let token = Self.token(claims, header: "{\"alg\":\"\(name)\"}", signs: signs)
        #expect(Self.error(Self.policy(), token) == .algorithm, "\(name)")
      }
    }
    #expect(Self.error(Self.policy(), Self.token(claims, signs: false)) == .signature)
    // The public key's text as the secret of HS256, where the only key is the public one.
    var publicOnly = try Self.vectors()
    publicOnly.issuers.removeAll { $0.name != "rsa-1" }
    publicOnly.issuers[0].keyID = nil
    #expect(Self.error(publicOnly, TokenVectors.confused) == .algorithm)
  }

  @Test("a token that was changed is refused, at every character", arguments: [TokenVectors.hs256, TokenVectors.es256])
  func tampered(token: String) throws {
    let policy = try Self.vectors()
    let bytes = Array(token.utf8)
    for index in bytes.indices {
      var other = bytes
      other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(Self.error(policy, String(decoding: other, as: UTF8.self)) != nil, "at \(index)")
    }
    for count in bytes.indices { #expect(Self.error(policy, String(decoding: bytes[..<count], as: UTF8.self)) != nil) }
    for more in ["=", "A", ".", ".A", "\n"] { #expect(Self.error(policy, token + more) != nil) }
    #expect(Self.error(Self.policy { $0.key = .secret([UInt8](repeating: 1, count: 32)) }, token) != nil)
  }

  @Test("times count with the leeway, to the second")
  func times() {
    let policy = Self.policy { $0.leeway = 30 }
    func error(_ claims: String) -> AccessError? { Self.error(policy, Self.token(claims)) }
    let now: Int64 = 1_790_000_000
    #expect(error("{\"exp\":\(now + 1)}") == nil)
    #expect(error("{\"exp\":\(now - 29)}") == nil)
    #expect(error("{\"exp\":\(now - 30)}") == .expired)
    #expect(error("{}") == .noExpiry)
    let exp = "\"exp\":\(now + 100)"
    #expect(error("{\(exp),\"nbf\":\(now + 30)}") == nil)
    #expect(error("{\(exp),\"nbf\":\(now + 31)}") == .notYetValid)
    #expect(error("{\(exp),\"iat\":\(now + 30)}") == nil)
    #expect(error("{\(exp),\"iat\":\(now + 31)}") == .notYetValid)
    #expect(error("{\"exp\":\(now + 1).75}") == nil)
    for bad in ["\"1790000100\"", "-1", "1e10", "253402300800", "9223372036854775808", "null", "true", "[1790000100]"] {
      #expect(error("{\"exp\":\(bad)}") == .claims, "\(bad)")
    }
  }

  @Test("audience and issuer are matched exactly, and a token for others is not for this gateway")
  func audience() {
    let exp = #""exp":1790000100"#
    let named = Self.policy {
      $0.audience = "tidegate"
      $0.issuer = "https://auth.example"
    }
    func error(_ claims: String, _ policy: AccessPolicy) -> AccessError? {
      Self.error(policy, Self.token("{\(exp)\(claims)}"))
    }
    #expect(error(#","iss":"https://auth.example","aud":"tidegate""#, named) == nil)
    #expect(error(#","iss":"https://auth.example","aud":["x","tidegate"]"#, named) == nil)
    #expect(error(#","iss":"https://auth.example","aud":"Tidegate""#, named) == .audience)
    #expect(error(#","iss":"https://auth.example","aud":[]"#, named) == .audience)
    #expect(error(#","iss":"https://auth.example""#, named) == .audience)
    #expect(error(#","iss":"https://auth.example/","aud":"tidegate""#, named) == .unknownIssuer)
    #expect(error(#","aud":"tidegate""#, named) == .unknownIssuer)
    #expect(error(#","aud":"tidegate""#, Self.policy()) == .audience)
    #expect(error(#","aud":7"#, Self.policy()) == .claims)
  }

  @Test("a kid chooses its key; a key without one is for tokens that name none that is known")
  func keyIDs() {
    var policy = Self.policy()
    let other = [UInt8](repeating: 9, count: 32)
    policy.issuers.append(AccessPolicy.Issuer(name: "second", key: .secret(other), keyID: "b"))
    let claims = #"{"exp":1790000100,"sub":"x"}"#
    func subject(_ header: String, _ secret: [UInt8]) -> String? {
      try? policy.authenticate(Self.token(claims, header: header, secret: secret), now: Self.now).subject
    }
    #expect(subject(#"{"alg":"HS256"}"#, Self.secret) == "local/x")
    #expect(subject(#"{"alg":"HS256","kid":"b"}"#, other) == "second/x")
    #expect(subject(#"{"alg":"HS256","kid":"c"}"#, Self.secret) == "local/x")
    #expect(subject(#"{"alg":"HS256","kid":"b"}"#, Self.secret) == nil)
    #expect(subject(#"{"alg":"HS256"}"#, other) == nil)
    // Two keys in use at once, while one takes over from the other.
    policy.issuers.append(
      AccessPolicy.Issuer(name: "third", key: .secret([UInt8](repeating: 8, count: 32)), keyID: "b"))
    #expect(subject(#"{"alg":"HS256","kid":"b"}"#, [UInt8](repeating: 8, count: 32)) == "third/x")
  }

  @Test(
    "headers and claims that can be read in two ways, or ask for what is not known, are refused",
    arguments: [
      (#"{"alg":"HS256","alg":"HS256"}"#, #"{"exp":1790000100}"#, AccessError.malformed),
      (#"{"alg":"HS256"}"#, #"{"exp":1,"exp":1790000100}"#, .malformed),
      (#"{"alg":"HS256","crit":["exp"]}"#, #"{"exp":1790000100}"#, .critical),
      (#"{"alg":"HS256","typ":"JWE"}"#, #"{"exp":1790000100}"#, .malformed),
      (#"{"alg":7}"#, #"{"exp":1790000100}"#, .malformed), (#"{}"#, #"{"exp":1790000100}"#, .malformed),
      (#"[]"#, #"{"exp":1790000100}"#, .malformed), (#"{"alg":"HS256"} x"#, #"{"exp":1790000100}"#, .malformed),
      (#"{"alg":"HS256"}"#, #"[]"#, .malformed), (#"{"alg":"HS256"}"#, "", .malformed),
      (#"{"alg":"HS256"}"#, #"{"exp":1790000100,"sub":7}"#, .claims),
      (#"{"alg":"HS256"}"#, #"{"exp":1790000100,"sub":""}"#, .subject),
      (#"{"alg":"HS256"}"#, #"{"exp":1790000100,"sub":" \u3000\u200b"}"#, .subject),
      (#"{"alg":"HS256"}"#, #"{"exp":1790000100,"sub":"a\u0000"}"#, .subject),
      (#"{"alg":"HS256"}"#, #"{"exp":1790000100,"tidegate":{"channels":["candlesticks"]}}"#, .claims),
      (#"{"alg":"HS256"}"#, #"{"exp":1790000100,"tidegate":{"symbols":["kraken"]}}"#, .claims),
      (#"{"alg":"HS256"}"#, #"{"exp":1790000100,"tidegate":{"subscriptions":0}}"#, .claims),
      (#"{"alg":"HS256"}"#, #"{"exp":1790000100,"tidegate":{"subscription":5}}"#, .claims),
      (#"{"alg":"HS256"}"#, #"{"exp":1790000100,"tidegate":[]}"#, .claims),
    ])
  func strict(header: String, claims: String, expected: AccessError) {
    #expect(Self.error(Self.policy(), Self.token(claims, header: header)) == expected)
  }

  @Test("sizes are bounded, text must be UTF-8")
  func bounds() {
    let padding = String(repeating: "a", count: 1_100)
    #expect(
      Self.error(Self.policy(), Self.token(#"{"exp":1790000100}"#, header: "{\"alg\":\"HS256\",\"x\":\"\(padding)\"}"))
        == .malformed)
    #expect(Self.error(Self.policy(), String(repeating: "a", count: JSONWebToken.sizeLimit + 1)) == .tooLong)
    #expect(Self.error(Self.policy(), "..") == .malformed)
    let bad = Base64URL.encode([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D])
    let header = Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8))
    let signature = Base64URL.encode(Digest.hmacSHA256(key: Self.secret, message: Array("\(header).\(bad)".utf8)))
    #expect(Self.error(Self.policy(), "\(header).\(bad).\(signature)") == .malformed)
    let deep =
      "{\"exp\":1790000100,\"x\":" + String(repeating: "[", count: 500) + String(repeating: "]", count: 500) + "}"
    #expect(Self.error(Self.policy(), Self.token(deep)) == .malformed)
  }

  @Test("what a token allows is cut to what its issuer may allow")
  func ceiling() throws {
    let policy = Self.policy {
      $0.rules.channels = [.trades, .quote]
      $0.rules.symbols = SymbolRules(["kraken:*", "coinbase:BTC-USD"])!
      $0.rules.subscriptions = 5
      $0.rules.connections = 3
    }
    let claims =
      #"{"exp":1790000100,"tidegate":{"channels":["book","trades"],"symbols":["*:BTC-USD"],"subscriptions":9,"requests_per_s":2}}"#
    let grant = try policy.authenticate(Self.token(claims), now: Self.now).grant
    #expect(grant.channels == [.trades])
    #expect(grant.subscriptions == 5 && grant.requestsPerSecond == 2 && grant.connections == 3)
    for (symbol, isAllowed) in [
      ("kraken:BTC-USD", true), ("coinbase:BTC-USD", true), ("kraken:ETH-USD", false), ("binance:BTC-USD", false),
    ] {
      #expect(grant.allows(symbol) == isAllowed, "\(symbol)")
    }
    #expect(grant.subject == "local")
  }

  @Test("another key file is applied to those who are in: changed rules, withdrawn keys, issuers with another key")
  func renewal() throws {
    var policy = Self.policy()
    policy.keys = [AccessPolicy.APIKey(name: "desk-1", hash: Digest.sha256(Array("tg_desk".utf8)))]
    let byKey = try policy.authenticate("tg_desk", now: Self.now)
    let byToken = try policy.authenticate(
      Self.token(#"{"exp":1790000100,"tidegate":{"channels":["book"]}}"#), now: Self.now)
    policy.keys[0].rules.channels = [.trades]
    policy.issuers[0].rules.subscriptions = 3
    #expect(try policy.renew(byKey).grant.channels == [.trades])
    let renewed = try policy.renew(byToken).grant
    #expect(renewed.channels == [.book] && renewed.subscriptions == 3 && renewed.expires == byToken.grant.expires)
    policy.issuers[0].key = .secret([UInt8](repeating: 7, count: 32))
    policy.keys = []
    for credential in [byKey, byToken] { #expect(throws: AccessError.withdrawn) { try policy.renew(credential) } }
  }

  @Test("an issuer with another kid, iss or aud lets nobody stay whose token was checked against the old ones")
  func changedIssuer() throws {
    let policy = Self.policy()
    let credential = try policy.authenticate(Self.token(#"{"exp":1790000100}"#), now: Self.now)
    for change: (inout AccessPolicy.Issuer) -> Void in [
      { $0.keyID = "another" }, { $0.audience = "another" }, { $0.issuer = "another" },
    ] {
      var changed = policy
      change(&changed.issuers[0])
      #expect(throws: AccessError.withdrawn) { try changed.renew(credential) }
    }
    var same = policy
    same.issuers[0].leeway = 60
    #expect(try same.renew(credential).grant == credential.grant)
  }

  @Test("garbage is refused and never more than that", .longComputation, arguments: testSeeds(4))
  func fuzz(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let policy = try Self.vectors()
    let alphabet = Array(#"{}[]":,.\abcdeflgkinpstuxHS256-_ 0123456789"#.utf8)
    let good = [TokenVectors.hs256, TokenVectors.rs256, TokenVectors.es256].map { Array($0.utf8) }
    for round in 0..<2_000 {
      let token: String
      switch round % 4 {
      case 0:  // Any text.
        token = String(
          decoding: (0..<Int.random(in: 0..<200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
          },
          as: UTF8.self)
      case 1:  // A good token with pieces cut out, doubled or changed.
        var bytes = good.randomElement(using: &random)!
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let at = Int.random(in: 0..<bytes.count, using: &random)
          switch Int.random(in: 0..<3, using: &random) {
          case 0: bytes[at] = alphabet.randomElement(using: &random)!
          case 1: bytes.remove(at: at)
          default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: at)
          }
        }
        if good.contains(bytes) { continue }
        token = String(decoding: bytes, as: UTF8.self)
      default:  // Claims of almost JSON, well signed: none of them has a known issuer and audience.
        var claims = Array(#"{"iss":"x","exp":1790000100,"tidegate":{"channels":["book"],"symbols":["*"]}}"#.utf8)
        for _ in 0..<Int.random(in: 0...6, using: &random) {
          claims[Int.random(in: 0..<claims.count, using: &random)] = alphabet.randomElement(using: &random)!
        }
        let signed =
          Base64URL.encode(Array(#"{"alg":"HS256","kid":"hmac-1"}"#.utf8)) + "." + Base64URL.encode(claims)
        token = signed + "." + Base64URL.encode(Digest.hmacSHA256(key: Self.secret, message: Array(signed.utf8)))
      }
      #expect(Self.error(policy, token) != nil, "seed \(seed), round \(round)")
    }
  }
}
