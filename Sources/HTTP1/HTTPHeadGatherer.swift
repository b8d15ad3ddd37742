import Bytes

/// Collects one head after another as bytes arrive, within the limits.
///
/// A head that is complete in the input is not copied. Only an incomplete one is stored, in a buffer that is freed once
/// the head is complete, so that an idle connection stores nothing.
struct HTTPHeadGatherer: ~Copyable {
  private let limits: HTTPLimits
  private var scanner: HTTPHeadScanner
  private var held = ByteBuffer()

  init(limits: HTTPLimits) {
    self.limits = limits
    self.scanner = HTTPHeadScanner(limits)
  }

  /// The stored bytes of an incomplete head.
  var count: Int { held.count }

  /// Takes bytes from the front of `input` until a head is whole and returns what `parse` makes of it; nil, with all of
  /// `input` taken, if its end has not come.
  /// - Throws: what is wrong with the head's octets or its length, or what `parse` throws.
  mutating func take<Head: ~Copyable>(
    _ input: inout UnsafeRawBufferPointer, parse: (UnsafeRawBufferPointer) throws(HTTPError) -> Head
  ) throws(HTTPError) -> Head? {
    guard let end = try scanner.scan(input) else {
      held.append(input)
      input = UnsafeRawBufferPointer(rebasing: input.suffix(0))
      return nil
    }
    let last = UnsafeRawBufferPointer(rebasing: input.prefix(end))
    input = UnsafeRawBufferPointer(rebasing: input.dropFirst(end))
    scanner = HTTPHeadScanner(limits)
    if held.isEmpty { return try parse(last) }
    held.append(last)
    defer { held.release() }
    return try parse(held.unsafeBytes)
  }

  /// Skips one empty line where a head would begin; returns false if there is none, or only half of one so far.
  mutating func skipEmptyLine(_ input: inout UnsafeRawBufferPointer) -> Bool {
    if held.isEmpty, input.count >= 2, input[0] == 0x0D, input[1] == 0x0A {
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst(2))
      return true
    }
    if held.count == 1, held.unsafeBytes[0] == 0x0D, input.first == 0x0A {
      input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
      held.release()
      scanner = HTTPHeadScanner(limits)
      return true
    }
    return false
  }
}
