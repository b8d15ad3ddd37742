import Access
import Bytes
import Foundation
import MarketData
import PubSub
import Transport

/// Reads a key file: one entry a line, words with spaces between, `#` before a comment.
///
///     key desk-1 sha256=9f86d0…0a08 channels=trades,book symbols=kraken:*,*:BTC-USD connections=5 expires=2027-01-01
///     jwt auth-a alg=ES256 public-key=auth-a.pem kid=2026-07 iss=https://auth.example aud=tidegate symbols=kraken:*
///     jwt local alg=HS256 secret-file=local.secret
///     anonymous channels=status,pulse symbols=*:BTC-USD
///
/// Every line is checked, and all problems are reported together, each with its line and what is allowed there.
package struct KeyFile {
  /// Bytes of a key file and of a file that it names.
  static let sizeLimit = 1 << 20
  static let keyLimit = 10_000
  static let issuerLimit = 64
  /// RFC 7518 section 3.2.
  static let secretBytes = 32...1024

  private static let kinds = ["key", "jwt", "anonymous"]
  private static let ruleFields = ["channels", "symbols", "subscriptions", "requests-per-second", "connections"]
  private static let fields = [
    "key": ["sha256", "expires", "publish"] + ruleFields,
    "jwt": ["alg", "public-key", "secret", "secret-file", "kid", "iss", "aud", "leeway", "publish"] + ruleFields,
    "anonymous": ruleFields,
  ]

  private let path: String
  private let read: (String) -> [UInt8]?
  private var policy = AccessPolicy()
  private var problems: [ConfigurationProblem] = []
  private var names: Set<String> = []
  private var place = ""

  private init(path: String, read: @escaping (String) -> [UInt8]?) {
    self.path = path
    self.read = read
  }

  /// Reads the file and those that it names.
  static func load(_ path: String) throws(ConfigurationProblems) -> AccessPolicy {
    var exposed: [String] = []
    let read: (String) -> [UInt8]? = { path in
      if isWritableByAll(path) { exposed.append(path) }
      return FileManager.default.contents(atPath: path).map { [UInt8]($0) }
    }
    guard let bytes = read(path) else {
      throw ConfigurationProblems(
        problems: [
          ConfigurationProblem(
            name: "keys-file", place: "file \(path)", message: "cannot be read", allowed: "a readable file")
        ])
    }
    let policy = try parse(bytes, path: path, read: read)
    guard exposed.isEmpty else {
      throw ConfigurationProblems(
        problems: exposed.map {
          ConfigurationProblem(
            name: "keys-file", place: "file \($0)", message: "can be written by everybody on this machine",
            allowed: "a file that its owner alone may write: chmod go-w \($0)")
        })
    }
    return policy
  }

  private static func isWritableByAll(_ path: String) -> Bool {
    // Of what a link points to: links themselves are open to all.
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? NSNumber
    return mode.map { $0.intValue & 0o002 != 0 } ?? false
  }

  /// - Parameter read: the contents of a file, nil if it cannot be read; names are relative to the key file's folder.
  package static func parse(
    _ bytes: [UInt8], path: String, read: @escaping (String) -> [UInt8]?
  ) throws(ConfigurationProblems) -> AccessPolicy {
    var file = KeyFile(path: path, read: read)
    file.parse(bytes)
    guard file.problems.isEmpty else { throw ConfigurationProblems(problems: file.problems) }
    return file.policy
  }

  private mutating func parse(_ bytes: [UInt8]) {
    place = "file \(path)"
    guard bytes.count <= Self.sizeLimit else {
      return problem("keys-file", "has \(bytes.count) bytes", allowed: "at most \(Self.sizeLimit)")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return problem("keys-file", "is not UTF-8 text", allowed: "lines of key, jwt or anonymous")
    }
    // By bytes: to Swift, a carriage return and a line feed are one character.
    for (index, bytes) in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      place = "file \(path), line \(index + 1)"
      var line = Substring(bytes)
      if bytes.last == 0x0D { line = Substring(bytes.dropLast()) }
      let words = line.split { $0 == " " || $0 == "\t" }.prefix { !$0.hasPrefix("#") }.map(String.init)
      if let kind = words.first { parse(kind, Array(words.dropFirst())) }
    }
    place = "file \(path)"
    if problems.isEmpty, policy.keys.isEmpty, policy.issuers.isEmpty, policy.anonymous == nil {
      problem(
        "keys-file", "lets nobody in", allowed: "at least one line of key, jwt or anonymous; `tidegate key` makes one")
    }
  }

  private mutating func problem(_ name: String, _ message: String, allowed: String = "", suggestion: String? = nil) {
    problems.append(
      ConfigurationProblem(name: name, place: place, message: message, allowed: allowed, suggestion: suggestion))
  }

  private mutating func parse(_ kind: String, _ words: [String]) {
    guard let allowed = Self.fields[kind] else {
      return problem(
        "keys-file", "a line cannot begin with this word", allowed: Self.kinds.joined(separator: ", "),
        suggestion: NearNames.of(kind, among: Self.kinds, limit: 1).first)
    }
    var words = words[...]
    var name = "anonymous"
    if kind != "anonymous" {
      guard let given = words.popFirst(), Self.isName(given) else {
        return problem(kind, "has no name", allowed: "1 to 64 letters, digits, '-', '_' or '.' after \(kind)")
      }
      name = given
    }
    guard names.insert(name).inserted else {
      return problem("\(kind) \(name)", "is there twice", allowed: "each name once")
    }
    let label = kind == name ? kind : "\(kind) \(name)"
    let before = problems.count
    var values: [String: String] = [:]
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, allowed.contains(parts[0]) else {
        // The word itself is not shown: it may be a secret in the wrong place.
        problem(
          label, parts.count == 2 && Self.isName(parts[0]) ? "unknown field \(parts[0])" : "a word is no field=value",
          allowed: allowed.joined(separator: ", "),
          suggestion: parts.count == 2 ? NearNames.of(parts[0], among: allowed, limit: 1).first : nil)
        continue
      }
      guard !parts[1].isEmpty, values.updateValue(parts[1], forKey: parts[0]) == nil else {
        problem("\(label) \(parts[0])", parts[1].isEmpty ? "is empty" : "is there twice", allowed: "one value")
        continue
      }
    }
    let rules = rules(label, values)
    switch kind {
    case "key": parseKey(label, name, values, rules, before)
    case "jwt": parseIssuer(label, name, values, rules, before)
    default: policy.anonymous = AccessPolicy.grant("anonymous", rules, .init(), expires: nil)
    }
  }

  private mutating func rules(_ label: String, _ values: [String: String]) -> AccessPolicy.Rules {
    var rules = AccessPolicy.Rules()
    if let text = values["channels"], text != "*" {
      let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      rules.channels = Set(names.compactMap { ChannelName(rawValue: $0) })
      if let bad = names.first(where: { ChannelName(rawValue: $0) == nil }) {
        let all = ChannelName.allCases.map(\.rawValue)
        problem(
          "\(label) channels", "\"\(bad)\" is not allowed", allowed: "* or \(all.joined(separator: ","))",
          suggestion: NearNames.of(bad, among: all, limit: 1).first)
      }
    }
    if let text = values["symbols"] {
      let patterns = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      if let symbols = SymbolRules(patterns) {
        rules.symbols = symbols
      } else {
        problem(
          "\(label) symbols", "\"\(text)\" is not allowed",
          allowed: "kraken:BTC-USD, kraken:*, *:BTC-USD or * between commas")
      }
    }
    if let text = values["publish"] {
      rules.publish = TopicRules(text.split(separator: ",", omittingEmptySubsequences: false).map(String.init))
      if rules.publish == nil {
        problem("\(label) publish", "\"\(text)\" is not allowed", allowed: "risk-state, risk-* or * between commas")
      }
    }
    rules.subscriptions = number(label, "subscriptions", values, 1...100_000)
    rules.requestsPerSecond = number(label, "requests-per-second", values, 1...10_000)
    rules.connections = number(label, "connections", values, 1...1_000_000)
    return rules
  }

  private mutating func number(
    _ label: String, _ field: String, _ values: [String: String], _ range: ClosedRange<Int>
  ) -> Int? {
    guard let text = values[field] else { return nil }
    guard let value = Int(text), range.contains(value) else {
      problem(
        "\(label) \(field)", "\"\(text)\" is not allowed",
        allowed: "a whole number, \(range.lowerBound)…\(range.upperBound)")
      return nil
    }
    return value
  }

  private mutating func parseKey(
    _ label: String, _ name: String, _ values: [String: String], _ rules: AccessPolicy.Rules, _ before: Int
  ) {
    var key = AccessPolicy.APIKey(name: name, hash: [], rules: rules)
    if let hash = values["sha256"].flatMap({ Self.hexadecimal($0) }), hash.count == Digest.count {
      key.hash = hash
      if policy.keys.contains(where: { $0.hash == hash }) {
        problem("\(label) sha256", "is that of another key", allowed: "each hash once")
      }
    } else {
      problem(
        "\(label) sha256", values["sha256"] == nil ? "is missing" : "is not allowed",
        allowed: "the 64 hexadecimal digits that `tidegate key` prints")
    }
    if let text = values["expires"] {
      key.expires = Self.date(text)
      if key.expires == nil {
        problem("\(label) expires", "\"\(text)\" is not allowed", allowed: "2027-01-31 or 2027-01-31T12:00:00Z")
      }
    }
    guard policy.keys.count < Self.keyLimit else {
      return problem(label, "is one too many", allowed: "\(Self.keyLimit) keys")
    }
    if problems.count == before { policy.keys.append(key) }
  }

  private mutating func parseIssuer(
    _ label: String, _ name: String, _ values: [String: String], _ rules: AccessPolicy.Rules, _ before: Int
  ) {
    let names = JSONWebToken.Algorithm.allCases.map(\.rawValue)
    guard let text = values["alg"], let algorithm = JSONWebToken.Algorithm(rawValue: text) else {
      return problem(
        "\(label) alg", values["alg"].map { "\"\($0)\" is not allowed" } ?? "is missing",
        allowed: names.joined(separator: ", "))
    }
    let sources = ["public-key", "secret", "secret-file"].filter { values[$0] != nil }
    let wanted = algorithm == .hs256 ? ["secret", "secret-file"] : ["public-key"]
    guard sources.count == 1, wanted.contains(sources[0]) else {
      return problem(
        label, sources.isEmpty ? "has no key" : "has \(sources.joined(separator: " and "))",
        allowed: "\(algorithm.rawValue) with \(wanted.joined(separator: " or "))")
    }
    guard let key = algorithm == .hs256 ? secret(label, values) : publicKey(label, algorithm, values["public-key"]!)
    else { return }
    let leeway = number(label, "leeway", values, 0...300)
    guard policy.issuers.count < Self.issuerLimit else {
      return problem(label, "is one too many", allowed: "\(Self.issuerLimit) issuers")
    }
    guard problems.count == before else { return }
    policy.issuers.append(
      AccessPolicy.Issuer(
        name: name, key: key, keyID: values["kid"], issuer: values["iss"], audience: values["aud"],
        leeway: leeway.map { Int64($0) } ?? 30, rules: rules))
  }

  private mutating func contents(_ label: String, _ field: String, _ name: String) -> [UInt8]? {
    let file = name.hasPrefix("/") ? name : (path as NSString).deletingLastPathComponent + "/" + name
    guard let bytes = read(name.hasPrefix("/") || !path.contains("/") ? name : file), bytes.count <= Self.sizeLimit
    else {
      problem(
        "\(label) \(field)", "\"\(name)\" cannot be read", allowed: "a readable file of at most \(Self.sizeLimit) bytes"
      )
      return nil
    }
    return bytes
  }

  private mutating func secret(_ label: String, _ values: [String: String]) -> AccessPolicy.Issuer.Key? {
    let field = values["secret"] != nil ? "secret" : "secret-file"
    var text = Array((values["secret"] ?? "").utf8)
    if let file = values["secret-file"] {
      guard let bytes = contents(label, field, file) else { return nil }
      text = bytes
      while let last = text.last, last == 0x0A || last == 0x0D { text.removeLast() }
    }
    guard let secret = Base64URL.decode(text), Self.secretBytes.contains(secret.count) else {
      problem(
        "\(label) \(field)", "is not allowed",
        allowed: "\(Self.secretBytes.lowerBound) to \(Self.secretBytes.upperBound) bytes in base64url without padding")
      return nil
    }
    return .secret(secret)
  }

  private mutating func publicKey(
    _ label: String, _ algorithm: JSONWebToken.Algorithm, _ file: String
  ) -> AccessPolicy.Issuer.Key? {
    guard let bytes = contents(label, "public-key", file) else { return nil }
    do throws(SignatureKey.Problem) {
      let key = try SignatureKey(pem: bytes)
      guard (key.kind == .rsa) == (algorithm == .rs256) else {
        problem(
          "\(label) public-key", "\"\(file)\" is not a key for \(algorithm.rawValue)",
          allowed: "RSA for RS256, EC on P-256 for ES256")
        return nil
      }
      return .publicKey(key)
    } catch {
      problem("\(label) public-key", "\"\(file)\": \(error.description)")
      return nil
    }
  }

  // MARK: Values

  static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || byte == 0x2D || byte == 0x2E || byte == 0x5F
      }
  }

  static func hexadecimal(_ text: String) -> [UInt8]? {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  /// `2027-01-31` (its first moment) or `2027-01-31T12:00:00Z`, in UTC.
  static func date(_ text: String) -> Timestamp? {
    let full = text.utf8.count == 10 ? text + "T00:00:00Z" : text
    let digits = Array(full.utf8)
    guard digits.count == 20 else { return nil }
    let shape = Array("0000-00-00T00:00:00Z".utf8)
    let isShaped = zip(digits, shape).allSatisfy { $1 == 0x30 ? (0x30...0x39).contains($0) : $0 == $1 }
    guard isShaped else { return nil }
    func number(_ range: Range<Int>) -> Int64 { digits[range].reduce(0) { $0 * 10 + Int64($1 - 0x30) } }
    let date = CivilDate(year: number(0..<4), month: number(5..<7), day: number(8..<10))
    let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
    guard date.isValid, hour < 24, minute < 60, second < 60 else { return nil }
    return Timestamp(
      microseconds: (date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000_000)
  }
}

extension Authenticator {
  /// Reads the policy from a key file.
  /// - Throws: every problem of the file, with its line.
  package convenience init(path: String) throws(ConfigurationProblems) {
    self.init(policy: try KeyFile.load(path), file: path)
  }

  /// Reads the key file again. If it has problems, the policy in force stays.
  package func reload() throws(ConfigurationProblems) {
    if let file { replace(try KeyFile.load(file)) }
  }
}
