import TestSupport
import Testing

@testable import Transport

@Suite("Crypto")
struct CryptoTests {
  @Test("SHA-256 and HMAC are those of FIPS 180-4 and RFC 4231")
  func digests() {
    #expect(
      Digest.sha256(Array("abc".utf8)) == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    #expect(Digest.sha256([]) == hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
    #expect(
      Digest.hmacSHA256(key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8))
        == hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
    #expect(
      Digest.hmacSHA256(
        key: [UInt8](repeating: 0xAA, count: 131),
        message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8))
        == hex("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"))
  }

  @Test("equal is what is equal in every byte, and in length")
  func equality() {
    #expect(Digest.equalInConstantTime([1, 2, 3], [1, 2, 3]) && Digest.equalInConstantTime([], []))
    for other: [UInt8] in [[1, 2, 4], [0, 2, 3], [1, 2], [1, 2, 3, 0], []] {
      #expect(!Digest.equalInConstantTime([1, 2, 3], other))
    }
  }

  @Test("the example of RFC 7515 appendix A.3 is a signature, and nothing that differs from it in one bit")
  func es256() throws {
    let key = try SignatureKey(pem: Array(Self.ecKey.utf8))
    #expect(key.kind == .p256)
    let message = Array(
      ("eyJhbGciOiJFUzI1NiJ9."
        + "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ").utf8)
    let signature: [UInt8] = [
      14, 209, 33, 83, 121, 99, 108, 72, 60, 47, 127, 21, 88, 7, 212, 2, 163, 178, 40, 3, 58, 249, 124, 126, 23, 129,
      154,
      195, 22, 158, 166, 101, 197, 10, 7, 211, 140, 60, 112, 229, 216, 241, 45, 175, 8, 74, 84, 128, 166, 101, 144, 197,
      242, 147, 80, 154, 143, 63, 127, 138, 131, 163, 84, 213,
    ]
    #expect(key.verifies(signature, of: message))
    for bit in 0..<(64 * 8) {
      var other = signature
      other[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(!key.verifies(other, of: message), "bit \(bit)")
    }
    #expect(!key.verifies(signature, of: message + [0]))
    // Of another length, of zeros (r and s are at least 1), and of all ones (more than the order of the group).
    for other in [[], Array(signature.dropLast()), signature + [0], zeros(64), [UInt8](repeating: 255, count: 64)] {
      #expect(!key.verifies(other, of: message))
    }
    #expect(!key.verifies(zeros(32) + signature[32...], of: message))
  }

  @Test("an RSA signature is one of SHA-256 by that key, and nothing else")
  func rs256() throws {
    let key = try SignatureKey(pem: Array(Self.rsaKey.utf8))
    #expect(key.kind == .rsa)
    let message = Array("tidegate".utf8)
    let signature = hex(Self.rsaSignature)
    #expect(key.verifies(signature, of: message))
    #expect(!key.verifies(hex(Self.rsaSHA1Signature), of: message))
    #expect(!key.verifies(signature, of: Array("Tidegate".utf8)))
    for other in [[], [0] + signature, signature + [0], Array(signature.dropFirst()), zeros(256)] {
      #expect(!key.verifies(other, of: message))
    }
    for seed in testSeeds(1) {
      var random = SeededGenerator(seed: seed)
      for _ in 0..<200 {
        var other = signature
        other[Int.random(in: 0..<256, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        #expect(!key.verifies(other, of: message), "seed \(seed)")
      }
    }
  }

  @Test("what is no key is refused with its reason")
  func badKeys() {
    for text in ["", "hello", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"] {
      #expect(throws: SignatureKey.Problem.self) { try SignatureKey(pem: Array(text.utf8)) }
    }
  }

  private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  private func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  /// The key of RFC 7515 appendix A.3.
  private static let ecKey = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
    6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
    -----END PUBLIC KEY-----
    """

  /// Made for this test with another implementation, Python's `cryptography`.
  private static let rsaKey = """
    -----BEGIN PUBLIC KEY-----
    MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAk8S+kvMiT6ITuN34SgqF
    xTjEzrmZt4KmMa+omozKzbTteSnh/1+4uiB4CFT8sRRdO5lA7/zPUpgXtpH/jA2d
    LOmTCNKQGwBChsC/HnQkg5GOhX3C2SZkulwDJNivUDUlJYslRkCt92HGWixf/K3E
    g5ARVJl3GYxeXo63M1J6x8a3c6vUaOudWyjv4roHh6PZ79Hy5d9+ZISlcort28/W
    EwpR/FAeaeVBbd+5PQx7QUHa+R/CdMMYv/GBS/7IMqZIUXdH3F+HqrvlvPZ3m7Vb
    CT4J3jqpq+oqyF+dVrby0DCla5h5+bKOOv3/zcUeK7v/E5psDEmGT/jTzCE82zrt
    UQIDAQAB
    -----END PUBLIC KEY-----
    """
  private static let rsaSignature =
    "8f016e0cdf297fe4e416e90da5a73812ad34dae73a3eeff66a9ffa9a8a8bf90c381448f74c7c98bd4bc32b99f2533fa5fcd5496feb0f"
    + "ff5f0f89da91c7fa58ca36a7c244bc1bdbd8a6ed50f49b449a8cede4e35e31c22e11c92de5b9507459dda8b4f302cce0719e2b27cbd0"
    + "c83d52b6eeeeb81d87ff0940020cfa5ad7c1221743a20daba4f443c7b4d0f4599f34dc1f99da3b0981c7e9e655a71ed8cd7862ffa6cd"
    + "92c47b6e955c3046c8f1f171f0cc1e4197f3ac7408080c694106ccc193873af7dc9d13c7d3ae5c56155f3e1f8609c9fb9c220c15a0ec"
    + "1115065f539414b74a9f263fbcbe81607c1eec15f59f355333eba320f91b0d31e3e690315b7bfcdf"
  private static let rsaSHA1Signature =
    "3a3fe1b3d2d639c60da483e9c62e33326fa7568d04bb6cf9e61b80e683a62596e263d8394478d395366cc83794247bdc4d04887ee29b"
    + "05aad05f46a8acc04631dd8079e65608b9988ccc79ab3a6793ad861da2aa252e3404422cfefca49e3b40aef6d71ae977e4bdb2846634"
    + "af73b2024b8ccdcae901a742484c362859edcd5b1a066fd560137bea7f69035a18d3ff6356fa3ce4575146b1b0c968b4b054daedb00e"
    + "d10d3221110b4674e251194b905520abb858b398ed4a96540ec163d1ceed0b62b1e475cd0f828117581e42b6b0c4acd1ecd8db79acc3"
    + "0cd899716554d94b54815323b19e112cd486aab01f9491649667b52b34241e6fc0664d1d7b996b27"
}
