import Foundation
import FuzzTargets
import TestSupport
import TestTraits
import Testing

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
    var mutator = SeededMutator(seed: seed, words: target.words)
    // Bounded by bytes, since some targets read an input a hundred times as slowly as others.
    for round in 0..<Self.rounds {
      let bytes = mutator.mutate(inputs, limit: min(target.maxLength, 1024))
      guard let failure = Self.failure(target, bytes) else { continue }
      Issue.record("\(name), seed \(seed), round \(round): \(failure)\ninput: \(Data(bytes).base64EncodedString())")
      return
    }
  }

  /// `TIDEGATE_FUZZ_ROUNDS` for more.
  private static let rounds = environment("TIDEGATE_FUZZ_ROUNDS").flatMap(Int.init) ?? 40
}
