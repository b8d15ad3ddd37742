/// How the levels of a book are printed.
@frozen
@usableFromInline
package struct JSONLevelShape {
  /// A name that members of an object have.
  @frozen
  @usableFromInline
  struct Name {
    @usableFromInline let start: UnsafeRawPointer
    @usableFromInline let count: Int

    @inlinable
    init(_ name: StaticString) {
      start = UnsafeRawPointer(name.utf8Start)
      count = name.utf8CodeUnitCount
    }
  }

  /// Of the word and the two decimals; nil where a level is an array.
  @usableFromInline let names: (word: Name, first: Name, second: Name)?
  /// Whether a word stands before the decimals.
  @usableFromInline let hasWord: Bool
  @usableFromInline let first: DecimalScale
  @usableFromInline let second: DecimalScale

  @inlinable
  package init(
    names: (word: StaticString, first: StaticString, second: StaticString)?, hasWord: Bool, first: DecimalScale,
    second: DecimalScale
  ) {
    self.names = names.map { (Name($0.word), Name($0.first), Name($0.second)) }
    self.hasWord = hasWord
    self.first = first
    self.second = second
  }
}

/// Levels of books as venues print them.
extension JSONScanner {
  /// Reads a level of the usual shape: `["61737.63","0.5"]`, `["buy",61737.63,0.5]`, or
  /// `{"side":"bid","time":"…","price":61737.63,"qty":0.5,"n":3}`, with the word first and the decimals one after the
  /// other. Whatever else stands in it is texts, or whole numbers in an object. Of any other shape, right or wrong, it
  /// reads nothing and is nil.
  @inlinable @inline(always)
  package mutating func shortLevel(_ shape: JSONLevelShape) -> (word: JSONSlice?, first: Int64, second: Int64)? {
    var index = position
    var word: JSONSlice?
    guard take(shape.names == nil ? UInt8(ascii: "[") : UInt8(ascii: "{"), &index) else { return nil }
    if shape.hasWord {
      if let names = shape.names, !takeKey(names.word, &index) { return nil }
      guard let text = takeText(&index), take(UInt8(ascii: ","), &index) else { return nil }
      word = text
    }
    if let names = shape.names {
      while !takeKey(names.first, &index) {
        guard takeMember(but: names, &index), take(UInt8(ascii: ","), &index) else { return nil }
      }
    }
    guard let first = takeDecimal(&index, shape.first), take(UInt8(ascii: ","), &index) else { return nil }
    if let names = shape.names, !takeKey(names.second, &index) { return nil }
    guard let second = takeDecimal(&index, shape.second) else { return nil }
    while take(UInt8(ascii: ","), &index) {
      if let names = shape.names {
        guard takeMember(but: names, &index) else { return nil }
      } else {
        guard takeText(&index) != nil else { return nil }
      }
    }
    guard take(shape.names == nil ? UInt8(ascii: "]") : UInt8(ascii: "}"), &index) else { return nil }
    position = index
    isFirst = false
    return (word, Int64(bitPattern: first), Int64(bitPattern: second))
  }

  /// Takes the comma before another level, if both are next with no space between them.
  @inlinable @inline(always)
  package mutating func nextLevel(_ shape: JSONLevelShape) -> Bool {
    let opening = shape.names == nil ? UInt8(ascii: "[") : UInt8(ascii: "{")
    guard length &- position > 1, byte(position) == UInt8(ascii: ","), byte(position &+ 1) == opening else {
      return false
    }
    position &+= 1
    return true
  }

  /// Takes a decimal without a sign, bare or in quotes.
  @inlinable @inline(always)
  func takeDecimal(_ index: inout Int, _ scale: DecimalScale) -> UInt64? {
    let isQuoted = take(UInt8(ascii: "\""), &index)
    guard let value = takeDigits(&index, isQuoted: isQuoted, scale), takeEnd(&index, isQuoted: isQuoted) else {
      return nil
    }
    return value
  }

  /// Takes `"name":` if it is next, with no space in it.
  @inlinable @inline(always)
  func takeKey(_ name: JSONLevelShape.Name, _ index: inout Int) -> Bool {
    let end = index &+ name.count
    guard length &- end > 3, byte(index) == UInt8(ascii: "\""), byte(end &+ 1) == UInt8(ascii: "\""),
      byte(end &+ 2) == UInt8(ascii: ":"), SWAR.same(start + (index &+ 1), name.start, count: name.count)
    else { return false }
    index = end &+ 3
    return true
  }

  /// Takes a member whose value is a text or a whole number, and that has none of these names.
  @inlinable @inline(always)
  func takeMember(
    but names: (word: JSONLevelShape.Name, first: JSONLevelShape.Name, second: JSONLevelShape.Name), _ index: inout Int
  ) -> Bool {
    guard let key = takeText(&index), take(UInt8(ascii: ":"), &index) else { return false }
    guard !isKey(key, names.word), !isKey(key, names.first), !isKey(key, names.second) else { return false }
    if takeText(&index) != nil { return true }
    let first = index
    let count = SWAR.digitCount(SWAR.digits(paddedWord(index)))
    index &+= count
    return count > 0 && (byte(first) != UInt8(ascii: "0") || count == 1) && takeEnd(&index, isQuoted: false)
  }

  @inlinable @inline(always)
  func isKey(_ key: JSONSlice, _ name: JSONLevelShape.Name) -> Bool {
    key.count == name.count && SWAR.same(start + key.offset, name.start, count: key.count)
  }
}
