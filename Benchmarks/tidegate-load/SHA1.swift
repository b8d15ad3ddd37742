/// SHA-1 (RFC 3174) of a short text and base64 of the digest: what the accept value of an upgrade needs.
enum WebSocketAccept {
  /// `Sec-WebSocket-Accept` for a key (RFC 6455 section 4.2.2).
  static func value(for key: String) -> String {
    base64(sha1(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
  }

  static func sha1(_ message: [UInt8]) -> [UInt8] {
    var h: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    var padded = message + [0x80]
    while padded.count % 64 != 56 { padded.append(0) }
    let bits = UInt64(message.count) * 8
    for shift in stride(from: 56, through: 0, by: -8) {
      padded.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
    }
    for block in stride(from: 0, to: padded.count, by: 64) {
      var w = [UInt32](repeating: 0, count: 80)
      for t in 0..<16 { for k in 0..<4 { w[t] = w[t] << 8 | UInt32(padded[block + t * 4 + k]) } }
      for t in 16..<80 {
        let x = w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16]
        w[t] = x << 1 | x >> 31
      }
      var (a, b, c, d, e) = (h[0], h[1], h[2], h[3], h[4])
      for t in 0..<80 {
        let (f, k): (UInt32, UInt32) =
          switch t {
          case 0..<20: ((b & c) | (~b & d), 0x5A82_7999)
          case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
          case 40..<60: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
          default: (b ^ c ^ d, 0xCA62_C1D6)
          }
        let next = (a << 5 | a >> 27) &+ f &+ e &+ k &+ w[t]
        (e, d, c, b, a) = (d, c, b << 30 | b >> 2, a, next)
      }
      for (index, value) in [a, b, c, d, e].enumerated() { h[index] &+= value }
    }
    return h.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
  }

  static func base64(_ bytes: [UInt8]) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = (0..<3).reduce(0) { $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0) }
      for k in 0..<4 {
        text.append(start + k <= bytes.count ? alphabet[group >> (18 - 6 * k) & 63] : "=")
      }
    }
    return text
  }
}
