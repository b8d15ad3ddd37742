/// A growable run of bytes: written at the end, consumed from the front.
///
/// It is the project's only mutable byte container: encoders append to it, connections collect the bytes of a turn in
/// it, and parsers keep an incomplete head in it. It never shrinks by itself, so a reused buffer allocates only until
/// it has held its largest message. `release()` frees the memory.
///
/// The buffer has no limit of its own. A caller that fills it from outside the process checks a limit *before*
/// appending.
@frozen
@usableFromInline
package struct ByteBuffer: ~Copyable {
  @usableFromInline var base: UnsafeMutableRawPointer?
  @usableFromInline var capacity: Int
  @usableFromInline var readIndex: Int
  @usableFromInline var writeIndex: Int

  /// An empty buffer with room for `capacity` bytes; 0 allocates nothing.
  @inlinable
  package init(capacity: Int = 0) {
    self.base = capacity > 0 ? UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16) : nil
    self.capacity = capacity
    self.readIndex = 0
    self.writeIndex = 0
  }

  @inlinable
  deinit { base?.deallocate() }

  /// The number of unread bytes.
  @inlinable package var count: Int { writeIndex - readIndex }
  @inlinable package var isEmpty: Bool { writeIndex == readIndex }

  /// The unread bytes; valid until the buffer is next changed, which the compiler checks.
  @inlinable
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    get { _overrideLifetime(RawSpan(_unsafeBytes: unsafeBytes), borrowing: self) }
  }

  /// The unread bytes for a system call or C library; valid until the buffer is next changed.
  @inlinable
  package var unsafeBytes: UnsafeRawBufferPointer {
    guard let base else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: base + readIndex, count: writeIndex - readIndex)
  }

  /// The unread bytes, to be changed in place (masking); valid until the buffer is next changed.
  @inlinable
  package var unsafeMutableBytes: UnsafeMutableRawBufferPointer {
    mutating get {
      guard let base else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
      return UnsafeMutableRawBufferPointer(start: base + readIndex, count: writeIndex - readIndex)
    }
  }

  /// Makes room for `extra` more bytes. Amortised O(1): capacity doubles.
  @inlinable
  package mutating func reserve(_ extra: Int) {
    if capacity - writeIndex < extra { grow(extra) }
  }

  @usableFromInline
  mutating func grow(_ extra: Int) {
    let unread = count
    if capacity >= unread + extra, readIndex > 0, readIndex >= unread {
      base!.copyMemory(from: base! + readIndex, byteCount: unread)
    } else {
      let newCapacity = max(64, max(capacity * 2, unread + extra))
      let new = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
      if unread > 0 { new.copyMemory(from: base! + readIndex, byteCount: unread) }
      base?.deallocate()
      base = new
      capacity = newCapacity
    }
    readIndex = 0
    writeIndex = unread
  }

  /// Appends one byte. Amortised O(1).
  @inlinable
  package mutating func append(_ byte: UInt8) {
    if writeIndex == capacity { grow(1) }
    base.unsafelyUnwrapped.storeBytes(of: byte, toByteOffset: writeIndex, as: UInt8.self)
    writeIndex &+= 1
  }

  /// Appends a copy of `source`. O(`source.count`).
  @inlinable
  package mutating func append(_ source: UnsafeRawBufferPointer) {
    guard source.count > 0 else { return }
    reserve(source.count)
    (base.unsafelyUnwrapped + writeIndex).copyMemory(
      from: source.baseAddress.unsafelyUnwrapped, byteCount: source.count)
    writeIndex &+= source.count
  }

  /// Appends a copy of `source`. O(`source.byteCount`).
  @inlinable
  package mutating func append(_ source: RawSpan) {
    source.withUnsafeBytes { append($0) }
  }

  /// Appends the bytes of a literal. O(length).
  @inlinable
  package mutating func append(_ literal: StaticString) {
    append(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  /// Appends the UTF-8 of `text` as it is, without quotes or escapes. O(length).
  @inlinable
  package mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  @inlinable
  package mutating func append(_ source: [UInt8]) {
    source.withUnsafeBytes { append($0) }
  }

  /// Lets `body` write up to `count` bytes past the end; it returns how many it wrote.
  @inlinable
  package mutating func appendUnsafe(
    _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws -> Int
  ) rethrows {
    reserve(count)
    let written = try body(UnsafeMutableRawBufferPointer(start: base.map { $0 + writeIndex }, count: count))
    precondition(written >= 0 && written <= count)
    writeIndex &+= written
  }

  /// Drops the first `count` unread bytes. O(1).
  @inlinable
  package mutating func consume(_ count: Int) {
    precondition(count >= 0 && count <= self.count)
    readIndex &+= count
    if readIndex == writeIndex {
      readIndex = 0
      writeIndex = 0
    }
  }

  /// Drops everything, keeps the memory. O(1).
  @inlinable
  package mutating func removeAll() {
    readIndex = 0
    writeIndex = 0
  }

  /// Cuts the buffer back to its first `count` unread bytes, to undo a half-written value. O(1).
  @inlinable
  package mutating func truncate(to count: Int) {
    precondition(count >= 0 && count <= self.count)
    writeIndex = readIndex + count
  }

  /// Drops everything and gives the memory back, so that an idle connection holds none. O(1).
  @inlinable
  package mutating func release() {
    base?.deallocate()
    base = nil
    capacity = 0
    readIndex = 0
    writeIndex = 0
  }

  /// A copy of the unread bytes. O(n).
  package borrowing func takeBytes() -> [UInt8] { Array(unsafeBytes) }

  /// The unread bytes as text, with U+FFFD for what is not UTF-8. For logs and tests. O(n).
  package var description: String { String(decoding: unsafeBytes, as: UTF8.self) }
}
