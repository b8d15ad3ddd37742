import Foundation
import MarketData
import PubSub
import TestSupport
import Testing
import Transport

@testable import Access
@testable import Settings

@Suite("Key file")
struct KeyFileTests {
  private static let hash = String(repeating: "ab", count: 32)
  private static let files: [String: String] = [
    "rsa.pem": TokenVectors.rsaKey, "ec.pem": TokenVectors.ecKey, "cert.pem": TokenVectors.ecCertificate,
    "private.pem": TokenVectors.ecPrivateKey, "small.pem": TokenVectors.smallRSAKey, "p384.pem": TokenVectors.p384Key,
    "ed.pem": TokenVectors.ed25519Key, "secret": Base64URL.encode([UInt8](repeating: 7, count: 32)) + "\n",
    "short": "c2hvcnQ",
  ]

  private static func parse(_ text: String) throws(ConfigurationProblems) -> AccessPolicy {
    try KeyFile.parse(Array(text.utf8), path: "keys") { files[$0].map { Array($0.utf8) } }
  }

  private static func problems(_ text: String) -> [String] {
    do throws(ConfigurationProblems) {
      _ = try parse(text)
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  @Test("keys, issuers and what everybody may have are read, with comments and any spacing")
  func reads() throws {
    let policy = try Self.parse(
      """
      # people
      key desk-1 sha256=\(Self.hash) channels=trades,book symbols=kraken:*,*:BTC-USD connections=5 # ours
      \tkey  desk.2   sha256=\(String(repeating: "CD", count: 32)) expires=2027-01-31T12:00:00Z\r

      jwt auth-a alg=RS256 public-key=rsa.pem kid=2026 iss=https://auth.example aud=tidegate leeway=5 subscriptions=7
      jwt auth-b alg=ES256 public-key=ec.pem requests-per-second=3
      jwt auth-c alg=ES256 public-key=cert.pem
      jwt local alg=HS256 secret-file=secret
      jwt inline alg=HS256 secret=\(Base64URL.encode([UInt8](repeating: 8, count: 32)))
      anonymous channels=status
      """)
    #expect(policy.keys.map(\.name) == ["desk-1", "desk.2"])
    #expect(policy.keys[0].rules.channels == [.trades, .book] && policy.keys[0].rules.connections == 5)
    #expect(policy.keys[0].hash == [UInt8](repeating: 0xAB, count: 32))
    #expect(
      policy.keys[1].rules == AccessPolicy.Rules() && policy.keys[1].expires?.microseconds == 1_801_396_800_000_000)
    #expect(policy.issuers.map(\.algorithm) == [.rs256, .es256, .es256, .hs256, .hs256])
    #expect(
      policy.issuers[0].leeway == 5 && policy.issuers[1].leeway == 30 && policy.issuers[0].rules.subscriptions == 7)
    #expect(policy.issuers[0].keyID == "2026" && policy.issuers[0].audience == "tidegate")
    #expect(policy.anonymous?.channels == [.status])
  }

  @Test("every problem is told with its line and what is allowed; what may be a secret is not shown")
  func problems() {
    let found = Self.problems(
      """
      kee desk-1 sha256=\(Self.hash)
      key
      key a sha256=12
      key b sha256=\(Self.hash) chanels=book
      key c sha256=\(Self.hash) tg_verysecret
      key d sha256=\(Self.hash) channels=books symbols=kraken connections=0 expires=2027-02-30
      key e sha256=\(Self.hash) sha256=\(Self.hash)
      jwt f alg=none secret-file=secret
      jwt g alg=HS256 public-key=rsa.pem
      jwt h alg=RS256 public-key=ec.pem
      jwt i alg=ES256 public-key=missing.pem leeway=301
      jwt j alg=HS256 secret-file=short
      jwt k alg=ES256 public-key=private.pem
      jwt l alg=RS256 public-key=small.pem
      jwt m alg=ES256 public-key=p384.pem
      jwt n alg=ES256 public-key=ed.pem
      jwt o alg=ES256 public-key=secret
      jwt p alg=ES256
      key q sha256=\(Self.hash)
      key q sha256=\(Self.hash)
      key r sha256=\(Self.hash)
      anonymous connections=x
      """)
    let expected = [
      "line 1); allowed: key, jwt, anonymous; did you mean key?", "line 2); allowed: 1 to 64 letters",
      "key a sha256: is not allowed (file keys, line 3); allowed: the 64 hexadecimal digits",
      "key b: unknown field chanels (file keys, line 4)",
      "key c: a word is not of the form field=value (file keys, line 5)",
      "key d channels: \"books\" is not allowed (file keys, line 6); allowed: * or trades,quote,ticker,pulse,book,sparkline,candles,status,alerts,topic,rate,portfolio,deck,derivative,liquidations; did you mean book?",
      "key d symbols: \"kraken\" is not allowed", "key d connections: \"0\" is not allowed",
      "key d expires: \"2027-02-30\" is not allowed",
      "key e sha256: appears twice",
      "jwt f alg: \"none\" is not allowed (file keys, line 8); allowed: HS256, RS256, ES256",
      "jwt g: has public-key (file keys, line 9); allowed: HS256 with secret or secret-file",
      "jwt h public-key: \"ec.pem\" is not a key for RS256", "jwt i public-key: \"missing.pem\" cannot be read",
      "jwt j secret-file: is not allowed (file keys, line 12); allowed: 32 to 1024 bytes",
      "jwt k public-key: \"private.pem\": it is not a public key",
      "jwt l public-key: \"small.pem\": it holds an RSA key of 1024 bits",
      "jwt m public-key: \"p384.pem\": it holds an EC key on secp384r1",
      "jwt n public-key: \"ed.pem\": it holds a key of another kind",
      "jwt o public-key: \"secret\": it is not a public key",
      "jwt p: has no key", "key q: appears twice (file keys, line 20)", "key r sha256: is the hash of another key, too",
      "anonymous connections: \"x\" is not allowed",
    ]
    for (index, words) in expected.enumerated() {
      #expect(found.contains { $0.contains(words) }, "\(index): \(words)\n\(found.joined(separator: "\n"))")
    }
    #expect(found.count == expected.count, "\(found.joined(separator: "\n"))")
    #expect(!found.contains { $0.contains("verysecret") || $0.contains(Self.hash) })
  }

  @Test("a file of lines, written as YAML, lets in the same, in whatever order its entries stand")
  func conversion() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let secret = Base64URL.encode([UInt8](repeating: 8, count: 32))
    let lines = """
      jwt local alg=HS256 secret=\(secret) kid=2026 iss=https://a.example/"x"\\y aud=tidegate leeway=5
      key desk-1 sha256=\(Self.hash) channels=trades,book symbols=kraken:*,*:BTC-USD connections=5 expires=2027-01-31
      key 12e4 sha256=\(String(repeating: "1e", count: 32)) publish=risk-*,state
      anonymous
      """
    let file = folder.appending(path: "keys").path
    try lines.write(toFile: file, atomically: false, encoding: .utf8)
    let old = try KeyFile.load(file)
    let yaml = try KeyFile.converted(file)
    let new = try KeyFile.parse(Array(yaml.utf8), path: "keys.yaml") { _ in nil }
    #expect(Set(new.keys.map(\.name)) == ["desk-1", "12e4"], "\(yaml)")
    for key in old.keys { #expect(new.keys.contains(key), "\(yaml)") }
    let (was, becomes) = (try #require(old.issuers.first), try #require(new.issuers.first))
    #expect(becomes.name == was.name && becomes.keyID == was.keyID && becomes.issuer == was.issuer, "\(yaml)")
    #expect(becomes.audience == was.audience && becomes.leeway == 5 && becomes.rules == was.rules)
    #expect(new.anonymous?.channels == old.anonymous?.channels && new.anonymous?.allowsAllSymbols == true)
  }

  @Test("every problem of a YAML file is told with its path; nothing but access belongs there")
  func problemsOfTrees() {
    let text = """
      listen: 127.0.0.1:1
      access:
        keyz: {a: {sha256: 12}}
        keys:
          a: {sha256: 12}
          b: {sha256: \(Self.hash), chanels: [book]}
          c: \(Self.hash)
          d e: {sha256: \(String(repeating: "cd", count: 32))}
        issuers:
          g: {alg: HS256, public-key: rsa.pem}
          tg_verysecret!: {alg: HS256}
        anonymous: {connections: [1, 2]}
      """
    let found: [String]
    do throws(ConfigurationProblems) {
      _ = try KeyFile.parse(Array(text.utf8), path: "keys.yaml") { _ in nil }
      found = []
    } catch {
      found = error.problems.map(\.description)
    }
    let expected = [
      "listen: does not belong in a key file", "access.keyz.a.sha256: unknown key", "did you mean access.keys?",
      "access.keys.a.sha256: is not allowed (file keys.yaml); allowed: the 64 hexadecimal digits",
      "access.keys.b: unknown field chanels", "did you mean channels?", "access.keys.c: is not a map",
      "access.keys.d e: has no name", "access.issuers.g: has public-key",
      "access.issuers.tg_verysecret!: has no name", "access.anonymous.connections: \"1,2\" is not allowed",
    ]
    for words in expected {
      #expect(found.contains { $0.contains(words) }, "\(words)\n\(found.joined(separator: "\n"))")
    }
    #expect(!found.contains { $0.contains(Self.hash) }, "\(found)")
  }

  @Test("a configuration that says itself who may come in, beside a key file, or to everybody who may write it")
  func inConfiguration() throws {
    let text = "access:\n  keys:\n    desk.1:\n      sha256: \(Self.hash)\n      symbols: ['kraken:*']\n"
    let loaded = try ConfigurationLoaderTests.load(text)
    let key = try #require(loaded.configuration.access?.keys.first)
    #expect(key.name == "desk.1" && key.hash == [UInt8](repeating: 0xAB, count: 32))
    #expect(loaded.entries.last == .init(key: "access", value: "1 keys, 0 issuers", origin: "file t.yaml"))
    let problems = #expect(throws: ConfigurationProblems.self) {
      try ConfigurationLoaderTests.load(text + "keys-file: keys.yaml\n")
    }
    #expect(problems?.problems.map(\.name) == ["access"])
  }

  @Test("a file that admits nobody is refused")
  func empty() {
    for text in ["", "# nothing\n\n"] { #expect(Self.problems(text).first?.contains("admits nobody") == true) }
    for text in ["", "# nothing\n", "access:\n", "access: {}\n", "access:\n  keys: {}\n"] {
      #expect(throws: ConfigurationProblems.self, "\(text)") {
        try KeyFile.parse(Array(text.utf8), path: "keys.yaml") { _ in nil }
      }
    }
    #expect(throws: ConfigurationProblems.self) { try KeyFile.load("/nowhere/keys") }
    #expect(throws: ConfigurationProblems.self) { try KeyFile.parse([0xFF], path: "k") { _ in nil } }
  }

  @Test("a key file that everybody may write is refused with what to do, also behind a link")
  func writableByAll() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "keys").path
    let link = folder.appending(path: "link").path
    try "key desk-1 sha256=\(Self.hash)\n".write(toFile: file, atomically: false, encoding: .utf8)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    #expect(try KeyFile.load(file).keys.count == 1)
    try FileManager.default.setAttributes([.posixPermissions: 0o646], ofItemAtPath: file)
    for path in [file, link] {
      let problems = #expect(throws: ConfigurationProblems.self) { try KeyFile.load(path) }
      #expect(problems?.problems.first?.description.contains("chmod go-w") == true)
    }
  }
}
