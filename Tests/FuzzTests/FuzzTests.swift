import Foundation
import FuzzTargets
import TestSupport
import TestTraits
import Testing
import Venues

@Suite("Parsers keep their promises on any bytes", .longComputation)
struct FuzzTests {
  private static let seeds = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fuzz/Seeds")

  private static func inputs(_ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
    let folder = seeds.appendingPathComponent(target.name)
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
      (name, [UInt8](try Data(contentsOf: folder.appendingPathComponent(name))))
    }
  }

  private static func failure(_ target: FuzzTarget, _ bytes: [UInt8]) -> FuzzFailure? {
    // A copy of its own size, so that AddressSanitizer sees a read past it.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: bytes)
    do throws(FuzzFailure) {
      try target.run(UnsafeRawBufferPointer(copy))
      return nil
    } catch {
      return error
    }
  }

  /// The words of `Seeds/NAME.dict`, none where there is no such file.
  private static func dictionary(_ target: FuzzTarget) throws -> [[UInt8]] {
    let path = seeds.appendingPathComponent("\(target.name).dict").path
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    let text = try String(contentsOfFile: path, encoding: .utf8)
    return try text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
      let match = try #require(
        try #/(?:[A-Za-z0-9_]+=)?"((?:[^"\\]|\\["\\]|\\x[0-9a-fA-F]{2})+)"/#.wholeMatch(in: line),
        "\(target.name).dict: \(line) is not as libFuzzer's dictionaries are written")
      return Self.unescaped(Array(match.1.utf8))
    }
  }

  /// `\x0a`, `\"` and `\\` as what they stand for.
  private static func unescaped(_ text: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    var index = 0
    while index < text.count {
      if text[index] != UInt8(ascii: "\\") {
        bytes.append(text[index])
        index += 1
      } else if text[index + 1] == UInt8(ascii: "x") {
        bytes.append(UInt8(String(decoding: text[(index + 2)..<(index + 4)], as: UTF8.self), radix: 16) ?? 0)
        index += 4
      } else {
        bytes.append(text[index + 1])
        index += 2
      }
    }
    return bytes
  }

  @Test("every connection of every venue has a target, and what lies among the seeds belongs to one")
  func complete() throws {
    let names = FuzzTarget.all.map(\.name)
    #expect(Set(names).count == names.count)
    for venue in VenueRegistry.connections {
      #expect(names.contains(venue.label), "no target of \(venue.label)")
      let words = try FuzzTarget.all.first { $0.name == venue.label }.map(Self.dictionary) ?? []
      #expect(words.count >= 10, "too few words in Tests/Fuzz/Seeds/\(venue.label).dict")
    }
    let entries = try FileManager.default.contentsOfDirectory(atPath: Self.seeds.path)
    for entry in entries {
      let name = entry.hasSuffix(".dict") ? String(entry.dropLast(5)) : entry
      #expect(names.contains(name), "Tests/Fuzz/Seeds/\(entry) is no target's")
    }
  }

  @Test("every seed is read", arguments: FuzzTarget.all.map(\.name))
  func seeds(_ name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let inputs = try Self.inputs(target)
    #expect(inputs.count >= 3, "too few seeds in Tests/Fuzz/Seeds/\(name)")
    for (file, bytes) in inputs {
      #expect(bytes.count <= target.maxLength, "\(file) is longer than the target looks at")
      if let failure = Self.failure(target, bytes) { Issue.record("\(name)/\(file): \(failure)") }
    }
  }

  @Test("and so is what damage makes of them", arguments: FuzzTarget.all.map(\.name), testSeeds(1))
  func damage(_ name: String, seed: UInt64) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let inputs = try Self.inputs(target).map(\.bytes)
    var mutator = SeededMutator(seed: seed, words: target.words.map { Array($0.utf8) } + (try Self.dictionary(target)))
    // Bounded by bytes, since some targets read an input a hundred times as slowly as others.
    for round in 0..<Self.rounds {
      let bytes = mutator.mutate(inputs, limit: min(target.maxLength, 1024))
      guard let failure = Self.failure(target, bytes) else { continue }
      Issue.record("\(name), seed \(seed), round \(round): \(failure)\ninput: \(Data(bytes).base64EncodedString())")
      return
    }
  }

  @Test("and so is any number in place of one of theirs", arguments: FuzzTarget.all.map(\.name), testSeeds(1))
  func extremes(_ name: String, seed: UInt64) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    var variants = (try Self.inputs(target).map(\.bytes) + [FuzzTarget.prelude(name)]).flatMap { input in
      NumericExtremes.numbers(in: input).flatMap { number in
        NumericExtremes.texts.map { (input, number, $0) }
      }
    }
    if environment("TIDEGATE_EXTREMES") != "all" {
      var random = SeededGenerator(seed: seed)
      variants = Array(variants.shuffled(using: &random).prefix(Self.rounds))
    }
    for (input, number, extreme) in variants {
      let bytes = NumericExtremes.replacing(number, of: input, by: extreme)
      guard let failure = Self.failure(target, bytes) else { continue }
      Issue.record("\(name), \(extreme.prefix(40)): \(failure)\ninput: \(Data(bytes).base64EncodedString())")
      return
    }
  }

  /// `TIDEGATE_FUZZ_ROUNDS` for more.
  private static let rounds = environment("TIDEGATE_FUZZ_ROUNDS").flatMap(Int.init) ?? 40
}
