/// Why a token is rejected. The texts are for the client; they contain no part of the token.
package enum AccessError: Error, Sendable, Equatable, CaseIterable {
  case malformed
  case tooLong
  /// No key of that hash.
  case unknownKey
  /// No key fits the issuer, the `kid` or the `alg`.
  case unknownIssuer
  /// The algorithm is not the key's own; it may be `none`.
  case algorithm
  case signature
  case noExpiry
  case expired
  case notYetValid
  case audience
  /// `crit` names an extension that must be supported and is not (RFC 7515 section 4.1.11).
  case critical
  /// A claim has the wrong type, or a grant is contradictory.
  case claims
  /// The `sub` is empty, white space, or has control characters.
  case subject
  /// The key was removed from the configuration.
  case withdrawn

  package var description: String {
    switch self {
    case .malformed: "the token is neither a key nor a JWT in compact form"
    case .tooLong: "the token has more than \(JSONWebToken.sizeLimit) bytes"
    case .unknownKey: "the key is not known"
    case .unknownIssuer: "no key fits the token's issuer and kid"
    case .algorithm: "the token's alg is not that of its key"
    case .signature: "the token's signature is wrong"
    case .noExpiry: "the token has no exp"
    case .expired: "the token has expired"
    case .notYetValid: "the token is not valid yet"
    case .audience: "the token is for another audience"
    case .critical: "the token has a crit header, which is not supported"
    case .claims: "a claim of the token has the wrong type or value"
    case .subject: "the token's sub is empty, or has control characters: name someone, or leave it out"
    case .withdrawn: "the key has been withdrawn"
    }
  }
}
