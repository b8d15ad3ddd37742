import Access
import Bytes
import Foundation
import MarketData
import PubSub
import Transport

/// Checks the entries of admitted clients and makes an access policy of them. Reports all problems together, each with
/// its location and the allowed values.
struct AccessReader {
  /// The largest file that an entry may name, bytes.
  static let sizeLimit = 1 << 20
  static let keyLimit = 10_000
  static let issuerLimit = 64
  /// Bytes of a secret: RFC 7518 section 3.2 requires 32 or more.
  static let secretBytes = 32...1024

  /// The folder that file names are relative to; nil: the working directory of the process.
  private let folder: String?
  private let read: (String) -> [UInt8]?
  private(set) var policy = AccessPolicy()
  private(set) var problems: [ConfigurationProblem] = []
  private var names: Set<String> = []
  private var entry = AccessEntry(kind: .anonymous, name: "", style: .line, location: "")

  /// - Parameters:
  ///   - path: the file that holds the entries; other file names are relative to its folder.
  ///   - read: the contents of a file; nil if it cannot be read.
  init(path: String, read: @escaping (String) -> [UInt8]?) {
    folder = path.contains("/") ? (path as NSString).deletingLastPathComponent : nil
    self.read = read
  }

  /// Checks one entry; O(fields), for a key with `sha256` O(keys).
  mutating func add(_ entry: AccessEntry) {
    self.entry = entry
    problems += entry.problems
    let (label, values) = (entry.label, entry.values)
    guard AccessEntry.isName(entry.name) else {
      return problem(label, "has no name", allowed: "1 to 64 letters, digits, '-', '_' or '.' as its name")
    }
    guard names.insert(entry.name).inserted else { return problem(label, "appears twice", allowed: "each name once") }
    let before = problems.count - entry.problems.count
    let rules = rules(label, values)
    switch entry.kind {
    case .key: parseKey(label, entry.name, values, rules, before)
    case .jwt: parseIssuer(label, entry.name, values, rules, before)
    case .anonymous: policy.anonymous = AccessPolicy.grant("anonymous", rules, .init(), expires: nil)
    }
  }

  /// Whether all entries are valid and together admit nobody.
  var letsNobodyIn: Bool {
    problems.isEmpty && policy.keys.isEmpty && policy.issuers.isEmpty && policy.anonymous == nil
  }

  private mutating func problem(_ name: String, _ message: String, allowed: String = "", suggestion: String? = nil) {
    problems.append(
      ConfigurationProblem(
        name: name, location: entry.location, message: message, allowed: allowed, suggestion: suggestion))
  }

  private mutating func rules(_ label: String, _ values: [String: String]) -> AccessPolicy.Rules {
    var rules = AccessPolicy.Rules()
    if let text = values["channels"], text != "*" {
      let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      rules.channels = Set(names.compactMap { ChannelName(rawValue: $0) })
      if let bad = names.first(where: { ChannelName(rawValue: $0) == nil }) {
        let all = ChannelName.allCases.map(\.rawValue)
        problem(
          entry.label(of: "channels"), "\"\(bad)\" is not allowed", allowed: "* or \(all.joined(separator: ","))",
          suggestion: NearNames.of(bad, among: all, limit: 1).first)
      }
    }
    if let text = values["symbols"] {
      let patterns = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      if let symbols = SymbolRules(patterns) {
        rules.symbols = symbols
      } else {
        problem(
          entry.label(of: "symbols"), "\"\(text)\" is not allowed",
          allowed: "kraken:BTC-USD, kraken:*, *:BTC-USD or * between commas")
      }
    }
    if let text = values["publish"] {
      rules.publish = TopicRules(text.split(separator: ",", omittingEmptySubsequences: false).map(String.init))
      if rules.publish == nil {
        problem(
          entry.label(of: "publish"), "\"\(text)\" is not allowed", allowed: "risk-state, risk-* or * between commas")
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
        entry.label(of: field), "\"\(text)\" is not allowed",
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
        problem(entry.label(of: "sha256"), "is the hash of another key, too", allowed: "each hash once")
      }
    } else {
      problem(
        entry.label(of: "sha256"), values["sha256"] == nil ? "is missing" : "is not allowed",
        allowed: "the 64 hexadecimal digits that `tidegate key` prints")
    }
    if let text = values["expires"] {
      key.expires = Self.date(text)
      if key.expires == nil {
        problem(entry.label(of: "expires"), "\"\(text)\" is not allowed", allowed: "2027-01-31 or 2027-01-31T12:00:00Z")
      }
    }
    guard policy.keys.count < Self.keyLimit else {
      return problem(label, "exceeds the limit", allowed: "at most \(Self.keyLimit) keys")
    }
    if problems.count == before { policy.keys.append(key) }
  }

  private mutating func parseIssuer(
    _ label: String, _ name: String, _ values: [String: String], _ rules: AccessPolicy.Rules, _ before: Int
  ) {
    let names = JSONWebToken.Algorithm.allCases.map(\.rawValue)
    guard let text = values["alg"], let algorithm = JSONWebToken.Algorithm(rawValue: text) else {
      return problem(
        entry.label(of: "alg"), values["alg"].map { "\"\($0)\" is not allowed" } ?? "is missing",
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
      return problem(label, "exceeds the limit", allowed: "at most \(Self.issuerLimit) issuers")
    }
    guard problems.count == before else { return }
    policy.issuers.append(
      AccessPolicy.Issuer(
        name: name, key: key, keyID: values["kid"], issuer: values["iss"], audience: values["aud"],
        leeway: leeway.map { Int64($0) } ?? 30, rules: rules))
  }

  private mutating func contents(_ label: String, _ field: String, _ name: String) -> [UInt8]? {
    let file = folder.map { name.hasPrefix("/") ? name : $0 + "/" + name } ?? name
    guard let bytes = read(file), bytes.count <= Self.sizeLimit else {
      problem(
        entry.label(of: field), "\"\(name)\" cannot be read",
        allowed: "a readable file of at most \(Self.sizeLimit) bytes"
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
        entry.label(of: field), "is not allowed",
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
          entry.label(of: "public-key"), "\"\(file)\" is not a key for \(algorithm.rawValue)",
          allowed: "RSA for RS256, EC on P-256 for ES256")
        return nil
      }
      return .publicKey(key)
    } catch {
      problem(entry.label(of: "public-key"), "\"\(file)\": \(error.description)")
      return nil
    }
  }

  // MARK: Values

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
      reading: date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second, unit: Microseconds.second)
  }
}
