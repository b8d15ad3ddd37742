/// Values that are passed over, to be read later or not at all.
extension JSONScanner {
  /// Reads a value of any kind and forgets it. Nesting beyond `depthLimit` is an error. O(length), without recursion:
  /// much of a feed is passed over once before it is read.
  @inlinable
  package mutating func skipValue() throws(JSONError) {
    // What is open, the innermost lowest: 1 for an object, 0 for an array.
    var open: UInt64 = 0
    var depth = 0
    while true {
      guard depth < Self.depthLimit else { throw JSONError(reason: .tooDeep, offset: position) }
      skipWhitespace()
      guard position < length else { throw failure(position) }
      let first = byte(position)
      switch first {
      case UInt8(ascii: "\""): _ = try quoted()
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        position &+= 1
        skipWhitespace()
        guard position < length else { throw failure(position) }
        // `]` and `}` are two above what they close.
        if byte(position) == first &+ 2 {
          position &+= 1
        } else {
          let isObject = first == UInt8(ascii: "{")
          open = open &<< 1 | (isObject ? 1 : 0)
          depth &+= 1
          if isObject { try skipKey() }
          continue
        }
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try number()
      case UInt8(ascii: "t"), UInt8(ascii: "f"): _ = try bool()
      case UInt8(ascii: "n"): _ = try null()
      default: throw failure(position)
      }
      while depth > 0 {
        skipWhitespace()
        guard position < length else { throw failure(position) }
        let next = byte(position)
        if next == UInt8(ascii: ",") {
          position &+= 1
          if open & 1 == 1 { try skipKey() }
          break
        }
        guard next == (open & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw failure(position) }
        position &+= 1
        open &>>= 1
        depth &-= 1
      }
      guard depth > 0 else {
        isFirst = false
        return
      }
    }
  }

  /// Reads a key and its colon.
  @inlinable @inline(always)
  mutating func skipKey() throws(JSONError) {
    skipWhitespace()
    guard position < length, byte(position) == UInt8(ascii: "\"") else { throw failure(position) }
    _ = try quoted()
    try expect(UInt8(ascii: ":"))
  }

  /// Reads a value of any kind and returns where its text stands, to scan it again later.
  @inlinable
  package mutating func rawValue() throws(JSONError) -> JSONSlice {
    skipWhitespace()
    let begin = position
    try skipValue()
    return slice(from: begin)
  }

  /// What has been read since `begin`.
  @inlinable
  package func slice(from begin: Int) -> JSONSlice {
    JSONSlice(offset: begin, count: position - begin, isEscaped: false)
  }

  /// Goes back to where a value begins.
  @inlinable
  package mutating func rewind(to begin: Int) {
    position = begin
    isFirst = false
  }

  /// The text behind the last `"name":` of the text's end, if it is of the usual shape. It is a guess: the same
  /// bytes may stand elsewhere, too. O(`guessReach`).
  package func lastText(_ name: StaticString) -> JSONSlice? {
    let key = JSONLevelShape.Name(name)
    var end = length
    while end &- position >= 8, length &- end < Self.guessReach {
      end &-= 8
      var colons = SWAR.matches(word(end), UInt8(ascii: ":"))
      while colons != 0 {
        let bit = 63 &- colons.leadingZeroBitCount
        colons ^= 1 &<< UInt64(truncatingIfNeeded: bit)
        var index = end &+ bit >> 3 &- key.count &- 2
        if index >= position, takeKey(key, &index), let text = takeText(&index) { return text }
      }
    }
    return nil
  }

  /// How far from the end `lastText` looks.
  private static var guessReach: Int { 256 }
}
