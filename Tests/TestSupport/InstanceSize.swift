/// Bytes of an instance of a class, its header of 16 included and what it refers to not: what `malloc` is asked for.
///
/// From the metadata of the class as the runtime has it on Linux: kind, superclass, flags, address point, size
/// (`TargetClassMetadata` in Swift's ABI/Metadata.h).
package func instanceSize(of type: AnyClass) -> Int {
  let size = unsafeBitCast(type, to: UnsafeRawPointer.self).load(fromByteOffset: 24, as: UInt32.self)
  return Int(size)
}
