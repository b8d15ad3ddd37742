import Bytes

/// How a client proves to a server who it is. Its description names the kind and the public key, never a secret.
package enum NATSCredentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  case none
  case token(String)
  case password(user: String, password: String)
  /// A key whose public part the server has in its configuration.
  case nkey(NKey)
  /// A token of an operator's account, and the key that it names.
  case jwt(String, NKey)

  package var description: String {
    switch self {
    case .none: "no credentials"
    case .token: "a token"
    case .password: "a user and a password"
    case .nkey(let key): "the nkey \(key)"
    case .jwt(_, let key): "a JWT for the nkey \(key)"
    }
  }

  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }

  /// The reason why a file is not a credentials file.
  package enum Problem: Error, Sendable, Equatable, CustomStringConvertible {
    case tooLong(limit: Int)
    case noJWT
    case noSeed
    case key(NKey.Problem)

    package var description: String {
      switch self {
      case .tooLong(let limit): "it has more than \(limit) bytes"
      case .noJWT: "it holds no JWT (-----BEGIN NATS USER JWT-----)"
      case .noSeed: "it holds no seed (-----BEGIN USER NKEY SEED-----)"
      case .key(let problem): problem.description
      }
    }
  }

  /// Bytes of a credentials file.
  package static let fileLimit = 64 << 10

  /// Reads a file of `nsc generate creds`: a JWT and a seed between dashed lines.
  package init(file: [UInt8]) throws(Problem) {
    guard file.count <= Self.fileLimit else { throw .tooLong(limit: Self.fileLimit) }
    guard let jwt = Self.block("NATS USER JWT", of: file), Self.isJWT(jwt) else { throw .noJWT }
    guard let seed = Self.block("USER NKEY SEED", of: file) else { throw .noSeed }
    do throws(NKey.Problem) {
      self = .jwt(String(decoding: jwt, as: UTF8.self), try NKey(seed: seed))
    } catch {
      throw .key(error)
    }
  }

  /// Reads a file that holds a seed alone, as `nk -gen user` writes it; blank lines and `#` comments are skipped.
  package init(seedFile file: [UInt8]) throws(Problem) {
    guard file.count <= Self.fileLimit else { throw .tooLong(limit: Self.fileLimit) }
    let lines = Self.lines(file).filter { !$0.isEmpty && $0.first != UInt8(ascii: "#") }
    guard lines.count == 1, let seed = lines.first else { throw .noSeed }
    do throws(NKey.Problem) {
      self = .nkey(try NKey(seed: seed))
    } catch {
      throw .key(error)
    }
  }

  /// The lines without white space around them.
  private static func lines(_ file: [UInt8]) -> [ArraySlice<UInt8>] {
    file.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      var line = line
      while let byte = line.first, byte <= 0x20 { line.removeFirst() }
      while let byte = line.last, byte <= 0x20 { line.removeLast() }
      return line
    }
  }

  /// The one line between `-----BEGIN name-----` and the next dashed line.
  private static func block(_ name: String, of file: [UInt8]) -> ArraySlice<UInt8>? {
    let lines = lines(file)
    let dash = UInt8(ascii: "-")
    let begin = Array("BEGIN \(name)".utf8)
    guard
      let start = lines.firstIndex(where: { line in
        let inner = line.drop { $0 == dash }
        return line.count - inner.count >= 3 && inner.starts(with: begin)
          && inner.dropFirst(begin.count).allSatisfy { $0 == dash }
      })
    else { return nil }
    let inner = lines[(start + 1)...].drop(while: \.isEmpty)
    guard let content = inner.first, content.first != dash else { return nil }
    guard let end = inner.dropFirst().first(where: { !$0.isEmpty }), end.first == dash else { return nil }
    return content
  }

  /// Three parts of Base64 with the URL alphabet (RFC 7515 section 3.1); only the server reads them.
  private static func isJWT(_ text: ArraySlice<UInt8>) -> Bool {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 3 && parts.allSatisfy { part in !part.isEmpty && part.allSatisfy(Base64.isURLCharacter) }
  }
}
