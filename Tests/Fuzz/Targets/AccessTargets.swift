import Access
import Bytes
import Foundation
import Gateway
import HTTP1
import MarketData
import PubSub
import Settings
import TestSupport
import Transport

extension FuzzTarget {
  /// Tokens, a line each, as a client may send them. `>` is a whole `Authorization` field before its name. `+` is a
  /// header and claims, a tab between them, which are signed here, so that what stands behind the signature is reached
  /// as well.
  static let tokens = FuzzTarget("tokens") { (bytes) throws(FuzzFailure) in
    let policy = try AccessScript.policy()
    for line in bytes.lines.prefix(32) {
      switch line[0] {
      case UInt8(ascii: ">"): try readField(Array(line.dropFirst()), policy)
      case UInt8(ascii: "+"): try signed(Array(line.dropFirst()), policy)
      default: try foreign(line, policy)
      }
    }
  }

  /// A key file: read, or refused with every problem in words.
  static let keyFile = FuzzTarget("key-file") { (bytes) throws(FuzzFailure) in
    for path in ["keys", "keys.yaml", "keys.json"] {
      switch AccessScript.parse(Array(bytes), path: path) {
      case .success(let policy): try requireRefused(policy, "nobody's-key")
      case .failure(let error):
        try require(!error.problems.isEmpty, "refused without a problem")
        for problem in error.problems {
          try require(
            !problem.name.isEmpty && !problem.message.isEmpty && problem.location.hasPrefix("file \(path)"),
            "a problem without words or place: \(problem)")
        }
      }
    }
  }

  private static func requireRefused(_ policy: AccessPolicy, _ token: String) throws(FuzzFailure) {
    if case .success(let grant) = authenticate(token, policy) {
      throw FuzzFailure("a token that nobody was given is taken: \(grant)")
    }
  }

  private static func authenticate(_ token: String, _ policy: AccessPolicy) -> Result<Grant, AccessError> {
    do throws(AccessError) {
      return .success(try policy.authenticate(token, now: AccessScript.now).grant)
    } catch {
      return .failure(error)
    }
  }

  /// An `Authorization` field that gives a token gives the one that stands in it.
  private static func readField(_ value: [UInt8], _ policy: AccessPolicy) throws(FuzzFailure) {
    let text = String(decoding: value, as: UTF8.self)
    let head = HTTPRequestHead(
      method: "GET", target: "/v1/stream", fields: HTTPFields([HTTPField("Authorization", text)]))
    let token: String?
    do throws(BearerToken.Problem) { token = try BearerToken.read(head) } catch { return }
    guard let token else { throw FuzzFailure("the field is not seen") }
    try requireSame(token, text.split(separator: " ").last.map(String.init) ?? "", "not the token that stands there")
    try foreign(Array(token.utf8), policy)
  }

  /// A token that anybody may have made: only those that were given out are taken.
  private static func foreign(_ line: [UInt8], _ policy: AccessPolicy) throws(FuzzFailure) {
    let token = String(decoding: line, as: UTF8.self)
    let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    for part in parts {
      guard let decoded = Base64URL.decode(part) else { continue }
      try requireSame(Base64URL.encode(decoded), String(decoding: part, as: UTF8.self), "a second text of one value")
    }
    switch authenticate(token, policy) {
    case .failure(let error): try require(!error.description.isEmpty, "refused without a reason")
    case .success(let grant):
      if token == AccessScript.apiKey { return try require(grant.subject == "desk-1", "another's key") }
      // What is signed must be what was signed; of a signature by a curve there is a second that is as good.
      guard parts.count == 3, let signature = Base64URL.decode(parts[2]) else { throw FuzzFailure("taken: \(token)") }
      let message = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
      if [TokenVectors.rs256, TokenVectors.es256].contains(where: { $0.utf8.starts(with: message) }) { return }
      try requireSame(
        Digest.hmacSHA256(key: AccessScript.secret, message: message), signature, "a signature that was not made here")
    }
  }

  /// Claims with a good signature: what they are granted is theirs, now, and no more than their issuer may give.
  private static func signed(_ line: [UInt8], _ policy: AccessPolicy) throws(FuzzFailure) {
    let halves = line.split(separator: 0x09, maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2 else { return }
    let message = Base64URL.encode(Array(halves[0])) + "." + Base64URL.encode(Array(halves[1]))
    let token =
      message + "." + Base64URL.encode(Digest.hmacSHA256(key: AccessScript.secret, message: Array(message.utf8)))
    guard case .success(let grant) = authenticate(token, policy) else { return }
    // Claims that are not looked at are skipped without a look at their escapes, or at how large a number is, which
    // another reader may refuse.
    guard let header = object(halves[0]), let claims = object(halves[1]) else {
      let hasExponent = zip(line, line.dropFirst()).contains { (0x30...0x39).contains($0) && $1 | 0x20 == 0x65 }
      return try require(
        hasExponent || line.contains(UInt8(ascii: "\\")), "granted for what is no object: \(token)")
    }
    try requireSame(header["alg"] as? String, "HS256", "another algorithm")
    try require(header["crit"] == nil, "what must be understood is passed over")
    let now = Double(AccessScript.now.microseconds) / 1e6
    func time(_ name: String) -> Double? { (claims[name] as? NSNumber)?.doubleValue }
    try require(time("exp").map { $0 + 30 > now } ?? false, "granted without an end, or after it")
    for name in ["nbf", "iat"] where claims[name] != nil {
      try require(time(name).map { $0 < now + 31 } ?? false, "granted before \(name)")
    }
    try require(claims["aud"] == nil, "granted for others")
    try require(grant.expires.map { $0 > AccessScript.now } ?? false, "a grant without an end")
    let own = claims["tidegate"] as? [String: Any]
    if let channels = own?["channels"] as? [String] {
      try requireSame(
        grant.channels, Set(channels.compactMap { ChannelName(rawValue: $0) }).intersection([.trades, .book]),
        "channels")
    }
    try require(grant.channels.isSubset(of: [.trades, .book]), "channels that the issuer may not give")
    try require(!grant.allows("binance:BTC-USDT"), "symbols that the issuer may not give")
    try require((1...5).contains(grant.subscriptions ?? 0), "\(grant.subscriptions ?? 0) subscriptions")
    try require((1...4).contains(grant.requestsPerSecond ?? 0), "\(grant.requestsPerSecond ?? 0) requests")
    // Whatever is changed, it is another token, and nobody's.
    var bytes = Array(token.utf8)
    let indices = line.withUnsafeBytes { Cuts.hash($0) }
    for shift in [0, 16, 32] as [UInt64] {
      let index = Int(indices >> shift & 0xFFFF) % bytes.count
      let kept = bytes[index]
      bytes[index] = kept == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      try requireRefused(policy, String(decoding: bytes, as: UTF8.self))
      bytes[index] = kept
    }
  }

  private static func object(_ text: ArraySlice<UInt8>) -> [String: Any]? {
    (try? JSONSerialization.jsonObject(with: Data(text))) as? [String: Any]
  }
}

/// Who may come in here. Keys and tokens of these targets alone.
private enum AccessScript {
  static let now = Timestamp(microseconds: 1_790_000_000_000_000)
  static let secret = (0..<32).map { UInt8($0) }
  static let apiKey = "tg_desk"
  private static let hash = Digest.sha256(Array(apiKey.utf8)).map { byte in
    String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
  }.joined()

  private static let file = """
    # Who may come in.
    key desk-1 sha256=\(hash) channels=trades,book symbols=kraken:*
    key late sha256=\(String(hash.reversed())) expires=2020-01-01
    jwt local alg=HS256 secret-file=secret channels=trades,book symbols=kraken:*,*:BTC-USD subscriptions=5 requests-per-second=4
    jwt rsa alg=RS256 public-key=rsa.pem kid=rsa-1 iss=https://auth.example aud=tidegate
    jwt ec alg=ES256 public-key=ec.pem kid=ec-1 iss=https://auth.example aud=tidegate
    """

  // Reading the keys anew for each input would take most of a run's time.
  private static let parsed = parse(Array(file.utf8))

  static func parse(_ bytes: [UInt8], path: String = "keys") -> Result<AccessPolicy, ConfigurationProblems> {
    do throws(ConfigurationProblems) {
      return .success(try KeyFile.parse(bytes, path: path, read: read))
    } catch {
      return .failure(error)
    }
  }

  static func policy() throws(FuzzFailure) -> AccessPolicy {
    switch parsed {
    case .success(let policy): return policy
    case .failure(let problems): throw FuzzFailure(problems.description)
    }
  }

  /// The files that a key file may name.
  @Sendable static func read(_ path: String) -> [UInt8]? {
    switch path.split(separator: "/").last {
    case "secret": Array(Base64URL.encode(secret).utf8)
    case "rsa.pem": Array(TokenVectors.rsaKey.utf8)
    case "ec.pem": Array(TokenVectors.ecKey.utf8)
    default: nil
    }
  }
}
