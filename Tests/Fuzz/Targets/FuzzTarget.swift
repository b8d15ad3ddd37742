/// A parser under fuzzing: a body that takes any bytes and throws where the parser breaks one of its promises.
///
/// The same bodies are run by libFuzzer (`Deploy/fuzz.sh`) and, over seeds and seeded mutations of them, by
/// `swift test`. A body is a function of its bytes alone: what is random in it (where input is cut) is drawn from a
/// hash of them, so that every finding replays.
package struct FuzzTarget: Sendable {
  package let name: String
  /// Bytes beyond which an input says nothing new.
  package let maxLength: Int
  /// What texts of this format are made of, for the mutator of `swift test`, beside the words of `Seeds/NAME.dict`.
  package let words: [String]
  package let run: @Sendable (UnsafeRawBufferPointer) throws(FuzzFailure) -> Void

  package init(
    _ name: String, maxLength: Int = 4096, words: [String] = [],
    run: @escaping @Sendable (UnsafeRawBufferPointer) throws(FuzzFailure) -> Void
  ) {
    self.name = name
    self.maxLength = maxLength
    self.words = words
    self.run = run
  }

  /// Every target there is. Each has a folder of that name in `Tests/Fuzz/Seeds`.
  package static let all: [FuzzTarget] =
    [
      .httpRequest, .httpResponse, .webSocket, .deflate, .json, .clientRequest, .serverMessage, .tokens, .keyFile,
      .selection, .events, .dialect, .replay,
      .recording, .recordingIndex, .configuration, .alertRule, .portfolio, .topic, .deck, .zoneFile, .history,
      .httpQuery,
      .candles, .upgrade, .nats, .cluster, .binary,
    ] + venues
}

/// A promise that an input broke.
package struct FuzzFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// Throws unless `condition` holds.
func require(_ condition: Bool, _ promise: @autoclosure () -> String) throws(FuzzFailure) {
  if !condition { throw FuzzFailure(promise()) }
}

/// Throws unless two readings of the same bytes are the same.
func requireSame<T: Equatable>(_ a: T, _ b: T, _ what: String) throws(FuzzFailure) {
  if a != b { throw FuzzFailure("\(what):\n  \(a)\n  \(b)") }
}

/// Ways to cut an input, as a network may.
enum Cuts {
  /// FNV-1a over the bytes.
  static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
  }

  /// All in one piece.
  static func whole(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]] { [Array(bytes)] }

  /// A piece for each byte.
  static func single(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]] { bytes.map { [$0] } }

  /// Pieces of 1 to 64 bytes, drawn from the bytes' hash. Each has memory of its own, so that reading past it is found.
  static func random(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]] {
    var state = hash(bytes) | 1
    var pieces: [[UInt8]] = []
    var index = 0
    while index < bytes.count {
      // xorshift64
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      let end = min(bytes.count, index + 1 + Int(state >> 16 & (state & 1 == 0 ? 63 : 7)))
      pieces.append(Array(bytes[index..<end]))
      index = end
    }
    return pieces
  }
}

extension UnsafeRawBufferPointer {
  /// The pieces between line feeds.
  var lines: [[UInt8]] { split(separator: 0x0A, omittingEmptySubsequences: true).map { Array($0) } }
}
