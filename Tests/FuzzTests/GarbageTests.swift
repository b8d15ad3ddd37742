import Foundation
import FuzzTargets
import TestSupport
import TestTraits
import Testing

@Suite("Garbage through all layers at once", .longComputation)
struct GarbageTests {
  private static func seeds(_ name: String) throws -> [[UInt8]] {
    let folder = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fuzz/Seeds/\(name)")
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map {
      [UInt8](try Data(contentsOf: folder.appendingPathComponent($0)))
    }
  }

  private static func lines(_ inputs: [[UInt8]]) -> [[UInt8]] {
    inputs.flatMap { $0.split(separator: 0x0A).map { Array($0) } }.filter { $0.count > 1 }
  }

  /// Resident memory of this process in bytes; nil where /proc does not say.
  private static var resident: Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
    let fields = text.split(separator: " ")
    return fields.count > 1 ? Int(fields[1]).map { $0 * sysconf(Int32(_SC_PAGESIZE)) } : nil
  }

  /// `TIDEGATE_GARBAGE=1000000` for the long run.
  private static let count = environment("TIDEGATE_GARBAGE").flatMap(Int.init) ?? 2000

  @Test(
    "frames and requests of garbage break nothing, reach every layer, and leave nothing behind", arguments: testSeeds(1)
  )
  func garbage(_ seed: UInt64) throws {
    let stack = try GarbageStack(
      seed: seed, requests: try Self.seeds("http-request"), messages: Self.lines(try Self.seeds("client-request")),
      market: Self.lines(try Self.seeds("kraken")))
    var warm: Int?
    for round in 0..<Self.count {
      do throws(FuzzFailure) {
        try stack.step()
      } catch {
        Issue.record("seed \(seed), round \(round): \(error)")
        return
      }
      if round == Self.count / 10 { warm = Self.resident }
    }
    let tally = stack.tally
    #expect(tally.requestsRefused > 0 && tally.framesRefused > 0 && tally.upgrades > 0, "\(tally)")
    #expect(tally.messages > Self.count / 20 && tally.framesSent > Self.count / 20, "\(tally)")
    guard Self.count >= 100_000, let warm, let end = Self.resident else { return }
    print(
      "\(Self.count) frames and requests: \(tally); resident after a tenth \(warm >> 10) KiB, at the end \(end >> 10) KiB"
    )
    #expect(end - warm < 32 << 20, "it grew by \((end - warm) >> 10) KiB")
  }
}
