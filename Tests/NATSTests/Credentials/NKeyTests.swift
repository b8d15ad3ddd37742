import Testing

@testable import NATS

@Suite("Nkeys")
struct NKeyTests {
  // The vectors were made with Python's nkeys 0.2.1.

  @Test("a seed has the public key and makes the signatures that another implementation makes")
  func vectors() throws {
    let key = try NKey(seed: userSeed.utf8)
    #expect(key.publicKey == "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK")
    let signature = try #require(key.sign(Array("nonce-1234567".utf8)))
    #expect(
      Base64.encodeURL(signature)
        == "s1LqZKSaJpE7JHLsRwIlc_OfNUFQFSOUx3nAbph5WXIOQ9VCCFWYM70d_ap4bTXAunUe-VI69v8rrHcdeTD3Ag")
  }

  @Test("the seed of an account is refused, and so is a key without its secret")
  func otherKinds() {
    #expect(throws: NKey.Problem.notAUser) {
      try NKey(seed: "SAAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4HYMHI".utf8)
    }
    #expect(throws: NKey.Problem.notBase32) {
      try NKey(seed: "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK".utf8)
    }
  }

  @Test("each mistyped character is found")
  func typos() {
    let seed = Array(userSeed.utf8)
    for index in seed.indices {
      var wrong = seed
      wrong[index] = wrong[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(throws: NKey.Problem.self, "\(index)") { try NKey(seed: wrong) }
    }
    for bad in ["", String(userSeed.dropLast()), userSeed + "A", userSeed.lowercased()] {
      #expect(throws: NKey.Problem.notBase32) { try NKey(seed: bad.utf8) }
    }
  }

  @Test("Base32 has one text for each byte string")
  func base32() {
    for count in 0..<20 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 77 + 13) }
      #expect(Base32.decode(Base32.encode(bytes).utf8) == bytes)
    }
    for bad in ["A", "AAA", "AB", "a1", "AA======"] { #expect(Base32.decode(bad.utf8) == nil, "\(bad)") }
  }

  @Test("the checksum is that of the catalogue of CRCs: CRC-16/XMODEM of 123456789 is 31C3")
  func checksum() { #expect(CRC16.checksum("123456789".utf8) == 0x31C3) }

  @Test("Base64 of JetStream's messages: the vectors of RFC 4648")
  func base64() {
    for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
      #expect(Base64.decode(encoded.utf8) == Array(text.utf8))
    }
    for bad in ["Zg", "Zg=", "Zh==", "Z===", "====", "Zm9v!", "Zg==Zg=="] {
      #expect(Base64.decode(bad.utf8) == nil, "\(bad)")
    }
  }
}
