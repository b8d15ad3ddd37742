import Bytes
import PubSub

/// A JSON Web Token in compact form (RFC 7519, RFC 7515 section 3.1), parsed but not verified.
///
/// Until the signature is verified, use its content only to choose the key. Parsing is strict: one spelling for each
/// token (see `Base64URL`), no repeated name in an object (RFC 7515 section 4), UTF-8, bounded sizes.
package struct JSONWebToken: Sendable, Equatable {
  package enum Algorithm: String, Sendable, CaseIterable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
  }

  /// The token's claims about its audience and its time.
  package struct Claims: Sendable, Equatable {
    package var issuer: String?
    package var subject: String?
    package var audience: [String]?
    /// Seconds since 1970.
    package var expires: Int64?
    var notBefore: Int64?
    var issuedAt: Int64?
    /// The claim `tidegate`.
    package var grant = GrantClaim()
  }

  /// `"tidegate":{"channels":["trades"],"symbols":["kraken:*"],"publish":["risk-*"],"subscriptions":10,
  /// "requests_per_s":5,"connections":2}`, all optional.
  package struct GrantClaim: Sendable, Equatable {
    package var channels: Set<ChannelName>?
    package var symbols: SymbolRules?
    /// The topics that the token may publish to; nil: none.
    package var publish: TopicRules?
    package var subscriptions: Int?
    package var requestsPerSecond: Int?
    package var connections: Int?

    package init() {}
  }

  /// The most bytes of a token, of its decoded header, and of a name in it.
  package static let sizeLimit = 8 << 10
  static let headerLimit = 1 << 10
  static let nameLimit = 256
  /// The most elements of a list.
  static let listLimit = 1_000
  /// Seconds since 1970 up to the year 9999.
  static let timeRange: ClosedRange<Int64> = 0...253_402_300_799

  /// The `alg` as written.
  package let algorithm: String
  package let keyID: String?
  package let claims: Claims
  /// The signed bytes.
  package let signed: [UInt8]
  package let signature: [UInt8]

  /// Whether a text has the form of a JWT: three parts.
  static func isLikely(_ text: String) -> Bool { text.utf8.count { $0 == UInt8(ascii: ".") } == 2 }

  package init(_ text: String) throws(AccessError) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Self.sizeLimit else { throw .tooLong }
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(parts[0]), let payload = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2]), header.count <= Self.headerLimit,
      String(validating: header, as: UTF8.self) != nil, String(validating: payload, as: UTF8.self) != nil
    else { throw .malformed }
    self.signature = signature
    signed = Array(bytes[..<parts[1].endIndex])
    (algorithm, keyID) = try Self.readHeader(header)
    claims = try Self.readClaims(payload)
  }

  private static func readHeader(_ bytes: [UInt8]) throws(AccessError) -> (String, String?) {
    var algorithm: String?
    var keyID: String?
    try object(bytes.span.bytes) { (name, json) throws(AccessError) in
      switch name {
      case "alg": algorithm = try string(&json, orElse: .malformed)
      case "kid": keyID = try string(&json, orElse: .malformed)
      case "typ":
        let type = try string(&json, orElse: .malformed).lowercased()
        guard type == "jwt" || type == "at+jwt" else { throw .malformed }
      case "crit": throw .critical
      default: try skip(&json)
      }
    }
    guard let algorithm else { throw .malformed }
    return (algorithm, keyID)
  }

  private static func readClaims(_ bytes: [UInt8]) throws(AccessError) -> Claims {
    var claims = Claims()
    try object(bytes.span.bytes) { (name, json) throws(AccessError) in
      switch name {
      case "iss": claims.issuer = try string(&json, orElse: .claims)
      case "sub": claims.subject = try subject(&json)
      case "aud": claims.audience = json.peek() == .string ? [try string(&json, orElse: .claims)] : try strings(&json)
      case "exp": claims.expires = try time(&json)
      case "nbf": claims.notBefore = try time(&json)
      case "iat": claims.issuedAt = try time(&json)
      case "tidegate": claims.grant = try grant(&json)
      default: try skip(&json)
      }
    }
    return claims
  }

  private static func grant(_ json: inout JSONScanner) throws(AccessError) -> GrantClaim {
    guard json.peek() == .object, let slice = try? json.rawValue() else { throw .claims }
    var grant = GrantClaim()
    try object(json.text(slice)) { (name, json) throws(AccessError) in
      switch name {
      case "channels":
        var channels: Set<ChannelName> = []
        for text in try strings(&json) {
          guard let channel = ChannelName(rawValue: text) else { throw .claims }
          channels.insert(channel)
        }
        grant.channels = channels
      case "symbols":
        guard let rules = SymbolRules(try strings(&json)) else { throw .claims }
        grant.symbols = rules
      case "publish":
        guard let rules = TopicRules(try strings(&json)) else { throw .claims }
        grant.publish = rules
      case "subscriptions": grant.subscriptions = try limit(&json)
      case "requests_per_s": grant.requestsPerSecond = try limit(&json)
      case "connections": grant.connections = try limit(&json)
      // An unknown limit must be an error; otherwise it would have no effect.
      default: throw .claims
      }
    }
    return grant
  }

  // MARK: Values

  /// The members of an object, each name once.
  private static func object(
    _ bytes: RawSpan, _ member: (String, inout JSONScanner) throws(AccessError) -> Void
  ) throws(AccessError) {
    var json = JSONScanner(bytes)
    var seen: Set<String> = []
    guard json.peek() == .object, (try? json.objectStart()) != nil else { throw .malformed }
    while true {
      let key: JSONSlice?
      do throws(JSONError) { key = try json.nextKey() } catch { throw .malformed }
      guard let key else { break }
      guard key.count <= nameLimit, let name = try? json.decoded(key), seen.insert(name).inserted else {
        throw .malformed
      }
      try member(name, &json)
    }
    guard (try? json.end()) != nil else { throw .malformed }
  }

  private static func skip(_ json: inout JSONScanner) throws(AccessError) {
    guard (try? json.skipValue()) != nil else { throw .malformed }
  }

  private static func string(_ json: inout JSONScanner, orElse error: AccessError) throws(AccessError) -> String {
    guard json.peek() == .string, let slice = try? json.string(), slice.count <= nameLimit,
      let text = try? json.decoded(slice)
    else { throw error }
    return text
  }

  /// A `sub` names someone: what is empty for the eye would be one owner for all who have such a token.
  private static func subject(_ json: inout JSONScanner) throws(AccessError) -> String {
    let text = try string(&json, orElse: .claims)
    let isVisible = text.unicodeScalars.contains { scalar in
      switch scalar.properties.generalCategory {
      case .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: false
      default: true
      }
    }
    guard isVisible, !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw .subject
    }
    return text
  }

  private static func strings(_ json: inout JSONScanner) throws(AccessError) -> [String] {
    guard json.peek() == .array, (try? json.arrayStart()) != nil else { throw .claims }
    var texts: [String] = []
    while true {
      let more: Bool
      do throws(JSONError) { more = try json.nextElement() } catch { throw .claims }
      guard more else { return texts }
      guard texts.count < listLimit else { throw .claims }
      texts.append(try string(&json, orElse: .claims))
    }
  }

  /// A NumericDate (RFC 7519 section 2): seconds, without the fraction.
  private static func time(_ json: inout JSONScanner) throws(AccessError) -> Int64 {
    guard json.peek() == .number, let slice = try? json.number() else { throw .claims }
    let text = json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    let whole = text.prefix { $0 != "." }
    let fraction = text.dropFirst(whole.count).dropFirst()
    guard fraction.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(whole),
      timeRange.contains(seconds)
    else { throw .claims }
    return seconds
  }

  private static func limit(_ json: inout JSONScanner) throws(AccessError) -> Int {
    guard json.peek() == .number, let value = try? json.int64(), (1...1_000_000).contains(value) else { throw .claims }
    return Int(value)
  }
}
