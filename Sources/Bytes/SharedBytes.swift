/// Bytes that are made once, never change, and are shared by reference: an encoded frame on its way to many clients.
///
/// One allocation holds object and bytes. Sharing costs one atomic retain.
package final class SharedBytes: @unchecked Sendable {
  // `@unchecked`: `start` and `count` are constants and the bytes are written only in `init`, before the object is shared.
  package let start: UnsafeRawPointer
  package let count: Int

  /// A copy of `source`. O(n), one allocation for the bytes.
  package init(_ source: UnsafeRawBufferPointer) {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(source.count, 1), alignment: 16)
    if let base = source.baseAddress { copy.copyMemory(from: base, byteCount: source.count) }
    self.start = UnsafeRawPointer(copy)
    self.count = source.count
  }

  package convenience init(_ source: [UInt8]) {
    self.init(source.withUnsafeBytes { UnsafeRawBufferPointer(start: $0.baseAddress, count: $0.count) })
  }

  package convenience init(_ source: RawSpan) {
    let bytes = source.withUnsafeBytes { UnsafeRawBufferPointer(start: $0.baseAddress, count: $0.count) }
    self.init(bytes)
  }

  deinit { start.deallocate() }

  /// The bytes; valid as long as the object is held.
  @inlinable
  package var unsafeBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }
}
