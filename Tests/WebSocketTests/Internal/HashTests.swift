import Testing

@testable import WebSocket

@Suite("SHA-1 and base64 of the handshake")
struct HashTests {
  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test("SHA-1 of the examples of FIPS 180-1, and at every padding")
  func sha1() {
    #expect(hex(SHA1.hash(Array("abc".utf8))) == "a9993e364706816aba3e25717850c26c9cd0d89d")
    #expect(hex(SHA1.hash([])) == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    #expect(
      hex(SHA1.hash(Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)))
        == "84983e441c3bd26ebaae4aa1f95129e5e54670f1")
    #expect(hex(SHA1.hash([UInt8](repeating: 0x61, count: 55))) == "c1c8bbdc22796e28c0e15163d20899b65621d65a")
    #expect(hex(SHA1.hash([UInt8](repeating: 0x61, count: 64))) == "0098ba824b5c16427bd7a1122a5a442a25ec644d")
    #expect(hex(SHA1.hash([UInt8](repeating: 0x61, count: 1000))) == "291e9a6c66994949b57ba5e650361e98fc36b1ba")
  }

  @Test(
    "Base64 of the examples of RFC 4648 section 10",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func base64(_ text: String, _ expected: String) {
    #expect(Base64.encode(Array(text.utf8)) == expected)
  }

  @Test("Only the encoding of 16 bytes is taken for a key")
  func keys() {
    #expect(Base64.isSixteenBytes("dGhlIHNhbXBsZSBub25jZQ=="))
    #expect(!Base64.isSixteenBytes("dGhlIHNhbXBsZSBub25jZR=="), "stray bits")
    #expect(!Base64.isSixteenBytes("dGhlIHNhbXBsZSBub25jZQ="))
    #expect(!Base64.isSixteenBytes("dGhlIHNhbXBsZSBub25jZQAA"))
    #expect(!Base64.isSixteenBytes("dGhlIHNhbXBsZSBub25j*Q=="))
    #expect(!Base64.isSixteenBytes(""))
  }
}
