import Bytes

/// Finds the index of a venue symbol by its bytes: open addressing over one block of names, no allocation per look-up.
///
/// Bounded: at most `limit` names, of at most 255 bytes in all 64 KiB, so that no list from outside can grow it.
struct SymbolTable {
  /// The most names a table takes.
  static let limit = 4096

  /// Slots hold an index + 1; 0 is empty. Always at least twice as many slots as names, a power of two.
  private var slots: [Int32] = Array(repeating: 0, count: 16)
  private var hashes: [UInt32] = []
  private var starts: [Int32] = [0]
  private var names: [UInt8] = []

  var count: Int { hashes.count }

  /// Adds `name` at the next index and returns it; its present index if it is there already, nil if the table is full.
  mutating func insert(_ name: String) -> Int? {
    let bytes = Array(name.utf8)
    let known = bytes.withUnsafeBytes { find($0) }
    if known >= 0 { return known }
    guard bytes.count <= 255, count < Self.limit, names.count + bytes.count <= 1 << 16 else { return nil }
    hashes.append(bytes.withUnsafeBytes { Self.hash($0) })
    names.append(contentsOf: bytes)
    starts.append(Int32(names.count))
    if count * 2 > slots.count {
      slots = Array(repeating: 0, count: slots.count * 2)
      for index in 0..<count { occupy(index) }
    } else {
      occupy(count - 1)
    }
    return count - 1
  }

  /// The index of the symbol spelled `text`, -1 if it is not in the table. O(length).
  func find(_ text: RawSpan) -> Int { text.withUnsafeBytes { find($0) } }

  func find(_ text: UnsafeRawBufferPointer) -> Int {
    let hash = Self.hash(text)
    let mask = slots.count &- 1
    var slot = Int(hash) & mask
    while true {
      let index = Int(slots[slot]) &- 1
      if index < 0 { return -1 }
      if hashes[index] == hash, matches(index, text) { return index }
      slot = (slot &+ 1) & mask
    }
  }

  private func matches(_ index: Int, _ text: UnsafeRawBufferPointer) -> Bool {
    let start = Int(starts[index])
    guard Int(starts[index + 1]) &- start == text.count else { return false }
    return names.withUnsafeBytes { names in
      text.bytes.equals(UnsafeRawBufferPointer(rebasing: names[start..<start + text.count]))
    }
  }

  private mutating func occupy(_ index: Int) {
    let mask = slots.count - 1
    var slot = Int(hashes[index]) & mask
    while slots[slot] != 0 { slot = (slot + 1) & mask }
    slots[slot] = Int32(index + 1)
  }

  /// Over words of eight bytes, the last of which may overlap the one before it: most symbols have two.
  private static func hash(_ text: UnsafeRawBufferPointer) -> UInt32 {
    var hash = UInt64(truncatingIfNeeded: text.count)
    func add(_ word: UInt64) {
      hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash &>> 32
    }
    guard text.count >= 8 else {
      var word: UInt64 = 0
      for byte in text { word = word &<< 8 | UInt64(byte) }
      add(word)
      return UInt32(truncatingIfNeeded: hash)
    }
    var index = 0
    while text.count &- index > 8 {
      add(text.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      index &+= 8
    }
    add(text.loadUnaligned(fromByteOffset: text.count &- 8, as: UInt64.self))
    return UInt32(truncatingIfNeeded: hash)
  }
}
