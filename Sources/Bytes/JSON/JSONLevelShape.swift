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
