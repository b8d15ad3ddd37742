/// A point of a file at which reading can begin, without what is before it: a line of a plain file, the beginning of a
/// gzip member (RFC 1952 section 2.2), or a boundary between two blocks of deflate (RFC 1951 section 3.2.3), which
/// needs the text before it.
struct RestartPoint: Sendable, Equatable {
  /// Deflate refers to this many bytes of text before (RFC 1951 section 3.2.5).
  static let windowLimit = 32 << 10

  /// Bytes of the file before the point.
  var fileOffset: Int
  /// The bits of the byte before `fileOffset` that have not been used, 0…7.
  var bits: UInt8 = 0
  /// The text before a block, at most `windowLimit` bytes; empty at a member, and in a plain file.
  var window: [UInt8] = []
  /// Bytes of text between the point and the first line to be read.
  var skip = 0
  /// Lines before that line.
  var line: Int

  static let beginning = RestartPoint(fileOffset: 0, line: 0)
}
