/// Finds the end of a head as bytes arrive, and refuses octets that no head may have: bare CR or LF and control
/// characters.
///
/// It reads each byte once, however the head is split, and stores no bytes.
struct HTTPHeadScanner {
  /// The bytes of the head that have been read.
  private(set) var count = 0
  /// The number of complete lines.
  private(set) var lines = 0
  private var lineLength = 0
  private var afterCR = false
  private let limit: Int
  private let lineLimit: Int

  init(_ limits: HTTPLimits) {
    self.limit = limits.headBytes
    self.lineLimit = limits.lineBytes
  }

  /// The number of bytes of `input` up to and including the empty line that ends the head; nil if it has not arrived.
  /// - Throws: 400 for a bad octet; 414 in the first line or 431 after it once the head, or one line of it, has as many
  ///   bytes as it may and no end.
  mutating func scan(_ input: UnsafeRawBufferPointer) throws(HTTPError) -> Int? {
    let end = min(input.count, limit - count)
    var index = 0
    while index < end {
      if !afterCR {
        let start = index
        let lineEnd = min(end, index + lineLimit - lineLength)
        while index + 8 <= lineEnd, Self.isPlain(input.loadUnaligned(fromByteOffset: index, as: UInt64.self)) {
          index += 8
        }
        lineLength += index - start
        if index == end { break }
      }
      let byte = input[index]
      index += 1
      if afterCR {
        guard byte == 0x0A else { throw HTTPError(status: 400, reason: "a CR is not followed by LF") }
        afterCR = false
        if lineLength == 0 {
          guard lines > 0 else {
            throw HTTPError(status: 400, reason: "an empty line is where a message should begin")
          }
          count += index
          return index
        }
        lines += 1
        lineLength = 0
      } else if byte == 0x0D {
        afterCR = true
      } else if byte == 0x0A {
        throw HTTPError(status: 400, reason: "a line ends with LF alone; it must end with CR LF")
      } else if ASCII.isFieldContent(byte) {
        guard lineLength < lineLimit else { throw tooLong("line", lineLimit) }
        lineLength += 1
      } else {
        throw HTTPError(status: 400, reason: "the head holds a control character")
      }
    }
    count += index
    if count == limit { throw tooLong("head", limit) }
    return nil
  }

  private func tooLong(_ what: String, _ limit: Int) -> HTTPError {
    lines == 0
      ? HTTPError(status: 414, reason: "the first line is longer than \(limit) bytes")
      : HTTPError(status: 431, reason: "a \(what) is longer than \(limit) bytes")
  }

  /// Whether none of eight bytes is below 0x20 or is 0x7F.
  private static func isPlain(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    let below = (word &- (ones &* 0x20)) & ~word
    let delete = word ^ (ones &* 0x7F)
    return (below | ((delete &- ones) & ~delete)) & tops == 0
  }
}
