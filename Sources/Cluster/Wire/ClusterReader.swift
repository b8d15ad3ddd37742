import Bytes

/// The reason why a message of another node is not readable. It is dropped and counted; the link stays.
package enum ClusterWireError: Error, Sendable, Equatable {
  /// It ends too early, or goes on after its end.
  case length
  /// A version that this node does not know.
  case version(UInt8)
  /// A count or a length is larger than its limit.
  case limit
  /// A value that the field does not have.
  case value
}

/// Reads the fields of a message in order; integers have the least byte first.
struct ClusterReader {
  private var rest: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  @inline(__always)
  mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>(
    _ type: Value.Type = Value.self
  ) throws(ClusterWireError) -> Value {
    guard rest.count >= MemoryLayout<Value>.size else { throw .length }
    let value = Value(littleEndian: rest.loadUnaligned(as: Value.self))
    rest = UnsafeRawBufferPointer(rebasing: rest[MemoryLayout<Value>.size...])
    return value
  }

  mutating func bytes(_ count: Int) throws(ClusterWireError) -> UnsafeRawBufferPointer {
    guard count <= rest.count else { throw .length }
    defer { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }
    return UnsafeRawBufferPointer(rebasing: rest[..<count])
  }

  /// Bytes after their count in 16 bits.
  mutating func shortBytes(limit: Int) throws(ClusterWireError) -> UnsafeRawBufferPointer {
    let count = Int(try integer(UInt16.self))
    guard count <= limit else { throw .limit }
    return try bytes(count)
  }

  mutating func text(limit: Int) throws(ClusterWireError) -> String {
    guard let text = String(validating: try shortBytes(limit: limit), as: UTF8.self) else { throw .value }
    return text
  }

  mutating func key() throws(ClusterWireError) -> ClusterKey {
    guard let key = ClusterKey(tail: try shortBytes(limit: ClusterKey.limit)) else { throw .value }
    return key
  }

  /// A count of elements that take `size` bytes each at least, so that it cannot be larger than the message.
  mutating func count(limit: Int, size: Int) throws(ClusterWireError) -> Int {
    let count = Int(try integer(UInt32.self))
    guard count <= limit, count <= rest.count / size else { throw .limit }
    return count
  }

  mutating func version() throws(ClusterWireError) {
    let version = try integer(UInt8.self)
    guard version == ClusterWire.version else { throw .version(version) }
  }

  func end() throws(ClusterWireError) { if !rest.isEmpty { throw .length } }
}

/// The form of all messages between nodes.
package enum ClusterWire {
  /// The first byte of each message. Nodes of another version are not understood: roll ingests and edges together.
  package static let version: UInt8 = 1
}

extension ByteBuffer {
  /// Appends an integer, the least byte first.
  @inline(__always)
  mutating func append<Value: FixedWidthInteger & BitwiseCopyable>(little value: Value) {
    withUnsafeBytes(of: value.littleEndian) { append($0) }
  }

  /// Appends at most 65,535 bytes after their count.
  mutating func append(short bytes: some Collection<UInt8>) {
    let cut = Array(bytes.prefix(Int(UInt16.max)))
    append(little: UInt16(cut.count))
    append(cut)
  }
}
