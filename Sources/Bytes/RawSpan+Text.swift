extension RawSpan {
  /// Whether these are the same bytes. O(length).
  @inlinable @inline(always)
  package func equals(_ other: UnsafeRawBufferPointer) -> Bool {
    guard byteCount == other.count else { return false }
    return withUnsafeBytes { bytes in
      // An empty span may have no address.
      guard let start = bytes.baseAddress, let other = other.baseAddress else { return true }
      return SWAR.same(start, other, count: bytes.count)
    }
  }

  /// Whether these are the bytes of `literal`. O(length).
  @inlinable @inline(always)
  package func equals(_ literal: StaticString) -> Bool {
    byteCount == literal.utf8CodeUnitCount && begins(with: literal)
  }

  /// Whether the first bytes are those of `literal`. O(length of the literal).
  @inlinable @inline(always)
  package func begins(with literal: StaticString) -> Bool {
    let count = literal.utf8CodeUnitCount
    guard byteCount >= count else { return false }
    return withUnsafeBytes { bytes in
      // An empty span may have no address.
      guard count > 0, let start = bytes.baseAddress else { return true }
      return SWAR.same(start, UnsafeRawPointer(literal.utf8Start), count: count)
    }
  }
}
