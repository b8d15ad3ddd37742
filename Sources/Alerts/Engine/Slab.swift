/// A table of records that grows by chunks, so that a large one neither moves nor doubles. Released entries are used
/// again.
struct Slab<Record> {
  private static var shift: Int { 10 }
  private static var mask: Int { 1 << shift - 1 }

  private var chunks: ContiguousArray<ContiguousArray<Record>> = []
  private var free: ContiguousArray<UInt32> = []
  /// The number of entries ever used; all indices are below it.
  private(set) var end = 0
  private let empty: Record

  init(empty: Record) { self.empty = empty }

  /// An entry to write to. Amortised O(1).
  mutating func take() -> UInt32 {
    if let index = free.popLast() { return index }
    extend(to: end + 1)
    return UInt32(end - 1)
  }

  mutating func release(_ index: UInt32) { free.append(index) }

  /// Makes entries up to `count`; new ones are neither free nor taken.
  mutating func extend(to count: Int) {
    while end < count {
      if end & Self.mask == 0 { chunks.append(ContiguousArray(repeating: empty, count: Self.mask + 1)) }
      end += 1
    }
  }

  subscript(_ index: Int) -> Record {
    @inline(__always) get { chunks[index >> Self.shift][index & Self.mask] }
    @inline(__always) _modify { yield &chunks[index >> Self.shift][index & Self.mask] }
  }

  subscript(_ index: UInt32) -> Record {
    @inline(__always) get { self[Int(index)] }
    @inline(__always) _modify { yield &self[Int(index)] }
  }
}
