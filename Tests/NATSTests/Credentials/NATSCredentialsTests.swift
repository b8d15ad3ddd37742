import Testing

@testable import NATS

@Suite("Credentials")
struct NATSCredentialsTests {
  private static let file = """
    -----BEGIN NATS USER JWT-----
    eyJ0eXAi.eyJqdGki-_.c2ln
    ------END NATS USER JWT------

    ************************* IMPORTANT *************************
    NKEY Seed printed below can be used to sign and prove identity.

    -----BEGIN USER NKEY SEED-----
    \(userSeed)
    ------END USER NKEY SEED------
    """

  @Test("a credentials file holds a token and a key, with either end of line")
  func file() throws {
    for text in [Self.file, Self.file.replacing("\n", with: "\r\n")] {
      guard case .jwt(let token, let key) = try NATSCredentials(file: Array(text.utf8)) else {
        Issue.record("another kind")
        continue
      }
      #expect(token == "eyJ0eXAi.eyJqdGki-_.c2ln")
      #expect(key.publicKey.hasPrefix("UAB2CB57"))
    }
  }

  @Test("what is missing or malformed is named")
  func problems() {
    func read(_ text: String) throws { _ = try NATSCredentials(file: Array(text.utf8)) }
    #expect(throws: NATSCredentials.Problem.noJWT) { try read("") }
    #expect(throws: NATSCredentials.Problem.noJWT) { try read(Self.file.replacing("eyJ0eXAi.", with: "")) }
    #expect(throws: NATSCredentials.Problem.noJWT) { try read(Self.file.replacing("------END NATS", with: "END")) }
    #expect(throws: NATSCredentials.Problem.noSeed) { try read(Self.file.replacing("BEGIN USER", with: "BEGIN A")) }
    #expect(throws: NATSCredentials.Problem.key(.notBase32)) { try read(Self.file.replacing("SUAAAA", with: "SU")) }
    #expect(throws: NATSCredentials.Problem.key(.checksum)) { try read(Self.file.replacing("776Y", with: "777Y")) }
    #expect(throws: NATSCredentials.Problem.tooLong(limit: NATSCredentials.fileLimit)) {
      try read(String(repeating: "\n", count: NATSCredentials.fileLimit + 1))
    }
  }

  @Test("a seed file holds one seed, beside comments")
  func seedFile() throws {
    guard case .nkey = try NATSCredentials(seedFile: Array("# node a\n\n  \(userSeed)\n".utf8)) else {
      Issue.record("another kind")
      return
    }
    #expect(throws: NATSCredentials.Problem.noSeed) { try NATSCredentials(seedFile: Array("\(userSeed)\nx".utf8)) }
  }

  @Test("no way to print credentials prints a secret")
  func printing() throws {
    let key = try NKey(seed: userSeed.utf8)
    let all: [NATSCredentials] = [
      .token("secret"), .password(user: "u", password: "secret"), .nkey(key), .jwt("secret", key),
    ]
    for credentials in all {
      var dumped = ""
      dump(NATSOptions(name: "n", credentials: credentials), to: &dumped)
      for text in ["\(credentials)", String(reflecting: credentials), dumped] {
        #expect(!text.contains("secret") && !text.contains(userSeed), "\(text)")
      }
    }
  }
}
