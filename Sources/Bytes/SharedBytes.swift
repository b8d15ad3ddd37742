import Synchronization

/// Bytes that are made once, never change, and are shared by reference: an encoded frame on its way to many clients.
///
/// One allocation holds object and bytes. Sharing costs one atomic retain.
@usableFromInline
package final class SharedBytes: @unchecked Sendable {
  // `@unchecked`: `start` and `count` are constants and the bytes are written only in `init`, before the object is
  // shared; `second` is atomic and owns what it points to.
  @usableFromInline package let start: UnsafeRawPointer
  @usableFromInline package let count: Int
  /// Nil: not requested yet. This object itself, not retained: there is no second form. Otherwise a retained second
  /// form.
  private let second = Atomic<UnsafeRawPointer?>(nil)

  /// A copy of `source`. O(n), one allocation for the bytes.
  package convenience init(_ source: UnsafeRawBufferPointer) {
    self.init(owning: Self.copy(source), count: source.count)
  }

  // The bytes are copied within `withUnsafeBytes`, because afterwards an optimizer may have released their owner.
  package convenience init(_ source: [UInt8]) {
    self.init(owning: source.withUnsafeBytes(Self.copy), count: source.count)
  }

  package convenience init(_ source: RawSpan) {
    self.init(owning: source.withUnsafeBytes(Self.copy), count: source.byteCount)
  }

  private init(owning start: UnsafeRawPointer, count: Int) {
    self.start = start
    self.count = count
  }

  private static func copy(_ source: UnsafeRawBufferPointer) -> UnsafeRawPointer {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(source.count, 1), alignment: 16)
    if let base = source.baseAddress { copy.copyMemory(from: base, byteCount: source.count) }
    return UnsafeRawPointer(copy)
  }

  deinit {
    if let pointer = second.load(ordering: .acquiring), pointer != own {
      Unmanaged<SharedBytes>.fromOpaque(pointer).release()
    }
    start.deallocate()
  }

  /// The bytes; valid as long as the object is held.
  @inlinable
  package var unsafeBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  private var own: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

  /// A second form of the same message, such as a compressed one. It is made on the first request, is nil if there is
  /// none, and lives as long as this object. Callable from several threads at once: each may then call `make`, and one
  /// result is kept.
  package func compressedForm(_ make: @autoclosure () -> SharedBytes?) -> SharedBytes? {
    if let known = second.load(ordering: .acquiring) { return resolve(known) }
    let made = make()
    let pointer = made.map { UnsafeRawPointer(Unmanaged.passRetained($0).toOpaque()) } ?? own
    let (isKept, other) = second.compareExchange(expected: nil, desired: pointer, ordering: .acquiringAndReleasing)
    if isKept { return made }
    if let made { Unmanaged.passUnretained(made).release() }
    return other.flatMap { resolve($0) }
  }

  private func resolve(_ pointer: UnsafeRawPointer) -> SharedBytes? {
    pointer == own ? nil : Unmanaged<SharedBytes>.fromOpaque(pointer).takeUnretainedValue()
  }
}
