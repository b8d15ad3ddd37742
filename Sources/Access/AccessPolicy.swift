import MarketData
import PubSub
import Transport

/// The admitted clients and their rights, from a configuration or a key file. A plain value.
package struct AccessPolicy: Sendable, Equatable {
  /// The smaller value of an entry's limit and a token's.
  package struct Rules: Sendable, Equatable {
    package var channels = Set(ChannelName.allCases)
    package var symbols = SymbolRules.all
    /// Topics that may be published to; nil: none. A token must name its own, too.
    package var publish: TopicRules?
    package var subscriptions: Int?
    package var requestsPerSecond: Int?
    package var connections: Int?

    package init() {}
  }

  /// A random text that is shown once; only its SHA-256 is stored. It has 256 random bits, so a slow hash is not
  /// necessary.
  package struct APIKey: Sendable, Equatable {
    package var name: String
    package var hash: [UInt8]
    package var rules = Rules()
    package var expires: Timestamp?

    package init(name: String, hash: [UInt8], rules: Rules = Rules(), expires: Timestamp? = nil) {
      self.name = name
      self.hash = hash
      self.rules = rules
      self.expires = expires
    }
  }

  /// An issuer whose tokens are accepted. The algorithm belongs to the key: the token's header must name the same one.
  package struct Issuer: Sendable, Equatable {
    package enum Key: Sendable {
      case secret([UInt8])
      case publicKey(SignatureKey)
    }
    package var name: String
    package var key: Key
    package var keyID: String?
    package var issuer: String?
    package var audience: String?
    /// The seconds by which clocks may differ.
    package var leeway: Int64 = 30
    package var rules = Rules()

    /// - Parameters:
    ///   - keyID: the `kid` of the tokens that this key checks; nil: tokens whose `kid` is not that of another key.
    ///   - leeway: seconds, 0…300.
    package init(
      name: String, key: Key, keyID: String? = nil, issuer: String? = nil, audience: String? = nil, leeway: Int64 = 30,
      rules: Rules = Rules()
    ) {
      self.name = name
      self.key = key
      self.keyID = keyID
      self.issuer = issuer
      self.audience = audience
      self.leeway = leeway
      self.rules = rules
    }

    package var algorithm: JSONWebToken.Algorithm {
      switch key {
      case .secret: .hs256
      case .publicKey(let key): key.kind == .rsa ? .rs256 : .es256
      }
    }

    /// Distinguishes this key from another one with the same name.
    fileprivate var fingerprint: [UInt8] {
      switch key {
      case .secret(let bytes): Digest.sha256(bytes)
      case .publicKey(let key): key.fingerprint
      }
    }

    /// The data that a token was checked with. If any of it changes, the token must be sent and checked again.
    fileprivate struct Identity: Sendable, Equatable {
      var name: String
      var fingerprint: [UInt8]
      var keyID: String?
      var issuer: String?
      var audience: String?
    }
    fileprivate var identity: Identity {
      Identity(name: name, fingerprint: fingerprint, keyID: keyID, issuer: issuer, audience: audience)
    }

    /// Keys are the same if their fingerprints are.
    package static func == (one: Issuer, other: Issuer) -> Bool {
      one.identity == other.identity && one.algorithm == other.algorithm && one.leeway == other.leeway
        && one.rules == other.rules
    }

    fileprivate func verifies(_ token: JSONWebToken) -> Bool {
      switch key {
      case .secret(let secret):
        Digest.equalInConstantTime(Digest.hmacSHA256(key: secret, message: token.signed), token.signature)
      case .publicKey(let key): key.verifies(token.signature, of: token.signed)
      }
    }
  }

  /// A client's verified identity and its rights. Stored with a session, so that changed keys can be applied to it.
  package final class Credential: Sendable {
    fileprivate enum Source: Sendable {
      case key(hash: [UInt8])
      case token(issuer: Issuer.Identity, claim: JSONWebToken.GrantClaim, expires: Timestamp)
    }
    fileprivate let source: Source
    package let grant: Grant
    /// The name by which connections and requests are counted: `desk-1`, `issuer-a/alice`.
    package var subject: String { grant.subject }

    fileprivate init(source: Source, grant: Grant) {
      self.source = source
      self.grant = grant
    }
  }

  /// The most signatures that are checked for one token, and so the most simultaneous keys of an issuer.
  static let candidateLimit = 8

  package var keys: [APIKey] = []
  package var issuers: [Issuer] = []
  /// The grant of clients without a token; nil: none.
  package var anonymous: Grant?

  package init() {}

  /// The number of entries, for the log.
  package var summary: String {
    "\(keys.count) keys, \(issuers.count) issuers\(anonymous == nil ? "" : ", anonymous")"
  }

  /// Finds the holder of a token. `now` is UTC.
  package func authenticate(_ token: String, now: Timestamp) throws(AccessError) -> Credential {
    guard token.utf8.count <= JSONWebToken.sizeLimit else { throw .tooLong }
    guard JSONWebToken.isLikely(token) else { return try authenticate(key: token, now: now) }
    return try authenticate(JSONWebToken(token), now: now)
  }

  private func authenticate(key text: String, now: Timestamp) throws(AccessError) -> Credential {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw .malformed }
    let hash = Digest.sha256(Array(text.utf8))
    // Compares with every key, each in constant time, so the duration reveals nothing about the keys.
    var found: APIKey?
    for key in keys where Digest.equalInConstantTime(key.hash, hash) { found = key }
    guard let found else { throw .unknownKey }
    if let expires = found.expires, expires <= now { throw .expired }
    return Credential(source: .key(hash: hash), grant: Self.grant(of: found))
  }

  private func authenticate(_ token: JSONWebToken, now: Timestamp) throws(AccessError) -> Credential {
    let claims = token.claims
    let fits = issuers.filter { $0.issuer == nil || $0.issuer == claims.issuer }
    // A key that names a kid is for the tokens that name it; one that does not is for all others.
    var candidates = fits.filter { $0.keyID != nil && $0.keyID == token.keyID }
    if candidates.isEmpty { candidates = fits.filter { $0.keyID == nil } }
    guard !candidates.isEmpty else { throw .unknownIssuer }
    candidates.removeAll { $0.algorithm.rawValue != token.algorithm }
    guard !candidates.isEmpty else { throw .algorithm }
    guard let issuer = candidates.prefix(Self.candidateLimit).first(where: { $0.verifies(token) }) else {
      throw .signature
    }
    // From here on, the token's claims are verified as the issuer's.
    let seconds = now.microseconds / 1_000_000
    guard let expires = claims.expires else { throw .noExpiry }
    guard expires + issuer.leeway > seconds else { throw .expired }
    if let notBefore = claims.notBefore, notBefore > seconds + issuer.leeway { throw .notYetValid }
    if let issuedAt = claims.issuedAt, issuedAt > seconds + issuer.leeway { throw .notYetValid }
    // A token that names its audience is valid for no other (RFC 7519 section 4.1.3).
    if let audience = issuer.audience {
      guard claims.audience?.contains(audience) == true else { throw .audience }
    } else if claims.audience != nil {
      throw .audience
    }
    let end = Timestamp(microseconds: (expires + issuer.leeway) * 1_000_000)
    let subject = claims.subject.map { "\(issuer.name)/\($0)" } ?? issuer.name
    // Tokens without a subject identify no one, so they own nothing.
    let owner = claims.subject.map { "jwt:\(issuer.name)/\($0)" }
    return Credential(
      source: .token(issuer: issuer.identity, claim: claims.grant, expires: end),
      grant: Self.grant(subject, owner: owner, issuer.rules, claims.grant, expires: end))
  }

  /// The same credential under this policy.
  /// - Throws: `.withdrawn` if the key or issuer is no longer there.
  package func renew(_ credential: Credential) throws(AccessError) -> Credential {
    switch credential.source {
    case .key(let hash):
      guard let key = keys.first(where: { $0.hash == hash }) else { throw .withdrawn }
      return Credential(source: credential.source, grant: Self.grant(of: key))
    case .token(let identity, let claim, let expires):
      guard let issuer = issuers.first(where: { $0.identity == identity }) else {
        throw .withdrawn
      }
      return Credential(
        source: credential.source,
        grant: Self.grant(
          credential.subject, owner: credential.grant.owner, issuer.rules, claim, expires: expires))
    }
  }

  private static func grant(of key: APIKey) -> Grant {
    var grant = grant(key.name, owner: "key:\(key.name)", key.rules, .init(), expires: key.expires)
    grant.publish = key.rules.publish.map { [$0] } ?? []
    return grant
  }

  package static func grant(
    _ subject: String, owner: String? = nil, _ rules: Rules, _ claim: JSONWebToken.GrantClaim, expires: Timestamp?
  ) -> Grant {
    func least(_ a: Int?, _ b: Int?) -> Int? { [a, b].compactMap { $0 }.min() }
    var grant = Grant(
      subject: subject, owner: owner,
      channels: claim.channels.map { rules.channels.intersection($0) } ?? rules.channels,
      symbols: [rules.symbols] + (claim.symbols.map { [$0] } ?? []),
      subscriptions: least(rules.subscriptions, claim.subscriptions),
      requestsPerSecond: least(rules.requestsPerSecond, claim.requestsPerSecond),
      connections: least(rules.connections, claim.connections), expires: expires)
    // Both must allow it: an issuer's entry alone would let all of its users publish.
    if let line = rules.publish, let own = claim.publish { grant.publish = [line, own] }
    return grant
  }
}
