/// Validates UTF-8 as it arrives (RFC 3629; the Unicode Standard, table 3-7), refusing an octet as soon as no
/// continuation could make the text valid.
struct UTF8Validator {
  /// The number of missing continuation bytes of the last character.
  private var owed: UInt8 = 0
  /// The range of the next continuation byte, narrower than 80…BF after E0, ED, F0 and F4.
  private var low: UInt8 = 0x80
  private var high: UInt8 = 0xBF

  /// Whether the text so far ends with a whole character.
  var isComplete: Bool { owed == 0 }

  /// Whether `bytes` can follow the earlier bytes. O(n); ASCII sixteen bytes at a time.
  @inline(__always)
  mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let count = bytes.count
    guard count > 0, let base = bytes.baseAddress else { return true }
    var index = 0
    if owed == 0 {
      index = Self.skipASCII(base, 0, count)
      if index == count { return true }
    }
    return acceptRest(base, index, count)
  }

  /// The index of the first byte from `index` on that may not be ASCII, at most 15 before the one that is not.
  @inline(__always)
  private static func skipASCII(_ base: UnsafeRawPointer, _ start: Int, _ count: Int) -> Int {
    let tops: UInt64 = 0x8080_8080_8080_8080
    var index = start
    while index &+ 16 <= count {
      let a = base.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      let b = base.loadUnaligned(fromByteOffset: index &+ 8, as: UInt64.self)
      if (a | b) & tops != 0 { return index }
      index &+= 16
    }
    if index &+ 8 <= count {
      if base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & tops != 0 { return index }
      index &+= 8
    }
    while index < count, base.load(fromByteOffset: index, as: UInt8.self) < 0x80 { index &+= 1 }
    return index
  }

  /// The index after a run of whole characters of two and three bytes, each checked with one load. The loop of single
  /// bytes handles characters that may be wrong, end within four bytes of the end, or have another length.
  @inline(__always)
  private static func skipShort(_ base: UnsafeRawPointer, _ start: Int, _ count: Int) -> Int {
    var index = start
    while index &+ 4 <= count {
      let word = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt32.self))
      if word & 0xC0E0 == 0x80C0, word & 0x1E != 0 {
        // 110xxxxx 10xxxxxx, but neither C0 nor C1.
        index &+= 2
      } else if word & 0xC0C0F0 == 0x8080E0, word & 0x200F != 0, word & 0x200F != 0x200D {
        // 1110xxxx 10xxxxxx 10xxxxxx, but neither E0 80…9F nor ED A0…BF.
        index &+= 3
      } else {
        break
      }
    }
    return index
  }

  private mutating func acceptRest(_ base: UnsafeRawPointer, _ start: Int, _ count: Int) -> Bool {
    var index = start
    var owed = self.owed
    var low = self.low
    var high = self.high
    while index < count {
      if owed == 0 { index = Self.skipShort(base, index, count) }
      if index == count { break }
      let byte = base.load(fromByteOffset: index, as: UInt8.self)
      index &+= 1
      if owed > 0 {
        guard byte >= low, byte <= high else { return false }
        owed &-= 1
        low = 0x80
        high = 0xBF
        continue
      }
      switch byte {
      case 0..<0x80:
        // A run of ASCII in other text: the wide loop is faster only if the run is long enough.
        if index &+ 16 <= count, base.load(fromByteOffset: index, as: UInt8.self) < 0x80 {
          index = Self.skipASCII(base, index, count)
        }
      case 0xC2...0xDF: owed = 1
      case 0xE0:
        owed = 2
        low = 0xA0
      case 0xED:
        owed = 2
        high = 0x9F
      case 0xE1...0xEF: owed = 2
      case 0xF0:
        owed = 3
        low = 0x90
      case 0xF1...0xF3: owed = 3
      case 0xF4:
        owed = 3
        high = 0x8F
      default: return false
      }
    }
    self.owed = owed
    self.low = low
    self.high = high
    return true
  }
}
