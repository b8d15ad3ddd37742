import TestSupport
import Testing

@testable import WebSocket

@Suite("Validating UTF-8 as it arrives")
struct UTF8ValidatorTests {
  /// How far `bytes`, given in `pieces`, are accepted: valid, a prefix of something valid, or refused in which piece.
  private func verdict(_ pieces: [[UInt8]]) -> (isValid: Bool, refusedIn: Int?) {
    var validator = UTF8Validator()
    for (index, piece) in pieces.enumerated() {
      let isFine = piece.withUnsafeBytes { validator.accept($0) }
      if !isFine { return (false, index) }
    }
    return (validator.isComplete, nil)
  }

  /// Holds the validator to the naive one: whole, cut, and byte by byte, where the very byte of the refusal must agree.
  private func agrees(_ bytes: [UInt8], cut: Int) -> Bool {
    let truth = naiveUTF8(bytes)
    let whole = verdict([bytes])
    let single = verdict(bytes.map { [$0] })
    let split = verdict(pieces(bytes, at: [cut]))
    let firstBad = bytes.indices.first { !naiveUTF8(Array(bytes[...$0])).isPrefix }
    return whole.isValid == truth.isValid && (whole.refusedIn == nil) == truth.isPrefix
      && single.isValid == truth.isValid && single.refusedIn == firstBad
      && split.isValid == truth.isValid && (split.refusedIn == nil) == truth.isPrefix
      && (firstBad.map { ($0 < cut ? 0 : 1) } == split.refusedIn)
  }

  @Test("Sequences at the borders of the table, alone and with text behind them")
  func borders() {
    let interesting: [UInt8] = [
      0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
      0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF,
    ]
    let ends: [UInt8] = [0x7F, 0x80, 0xBF, 0xC0]
    func check(_ bytes: [UInt8]) {
      for tail in [[], Array("abcd".utf8)] where !agrees(bytes + tail, cut: bytes.count - 1) {
        Issue.record("\(bytes + tail)")
      }
    }
    for a in UInt8.min ... .max {
      for b in interesting { check([a, b]) }
    }
    for a in interesting.filter({ $0 >= 0xE0 }) {
      for b in interesting {
        for c in ends { check([a, b, c]) }
      }
    }
    for a in interesting.filter({ $0 >= 0xF0 }) {
      for b in interesting {
        for c in ends {
          for d in ends { check([a, b, c, d]) }
        }
      }
    }
  }

  @Test("Random text, whole and damaged, cut anywhere", arguments: testSeeds(20))
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let alphabet: [String] = [
      "a", "plain ascii of some length, ", "é", "€", "漢", "🐢", "\u{0}", "\u{7FF}", "\u{FFFF}", "\u{10FFFF}",
    ]
    for round in 0..<40 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...20, using: &random) {
        bytes += Array(alphabet.randomElement(using: &random)!.utf8)
      }
      if round % 2 == 1, !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0x70...0xFF, using: &random)
      }
      let cut = Int.random(in: 0...bytes.count, using: &random)
      #expect(agrees(bytes, cut: cut), "seed \(seed), round \(round), cut \(cut): \(bytes)")
    }
  }

  @Test("A bad octet is found at every offset of the wide path")
  func offsets() {
    for length in 1...40 {
      for position in 0..<length {
        var bytes = [UInt8](repeating: 0x61, count: length)
        bytes[position] = 0x80
        #expect(verdict([bytes]).refusedIn == 0, "length \(length), position \(position)")
      }
    }
  }
}
