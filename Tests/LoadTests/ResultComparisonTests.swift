import Foundation
import Testing

@testable import tidegate_load

@Suite("Comparison of two load tests")
struct ResultComparisonTests {
  /// A result as `--json` writes it.
  private static func result(
    _ name: String, verdict: Verdict = Verdict(outcome: .pass, reasons: []), depth: Int = 25, cores: Int = 2,
    _ change: (inout Figures) -> Void = { _ in }
  ) throws -> ResultFile {
    var object = ScriptedRun.good(change).json
    var plan = JSONObject()
    plan["symbols"] = .texts(["kraken:BTC-USD"])
    plan["depth"] = .integer(Int64(depth))
    object["plan"] = .object(plan)
    var environment = RunEnvironment(commit: "abc \"quoted\"")
    environment.cores = cores
    object["environment"] = .object(environment.json(loadAfter: "0.1 0.2 0.3"))
    object["verdict"] = .object(verdict.json)
    return try ResultFile(name: name, data: Data(object.text.utf8))
  }

  private static func compare(_ tolerance: Double = 0.1, _ change: (inout Figures) -> Void) throws -> ResultComparison {
    ResultComparison(try result("a.json"), try result("b.json", change), tolerance: tolerance)
  }

  @Test("a result is read back as it was written, names with a point in them included")
  func readBack() throws {
    let result = try Self.result("a.json")
    #expect(result.number("latency_us.p99") == 1_000)
    #expect(result.number("latency_us.p99.9").map { (19_900...20_100).contains($0) } == true)
    #expect(result.number("deliveries_per_s") == 1_020)
    #expect(result.text("environment.commit") == "abc \"quoted\"")
    #expect(result.number("latency_us.p12") == nil && result.number("nothing.at.all") == nil)
  }

  @Test("the same twice is not worse")
  func same() throws {
    let comparison = try Self.compare { _ in }
    #expect(comparison.verdict == Verdict(outcome: .pass, reasons: []))
    #expect(comparison.text.contains("the same") && comparison.text.hasSuffix("PASS\n"))
  }

  @Test("worse within the tolerance is the same, beyond it fails; better never does")
  func tolerance() throws {
    #expect(try Self.compare { $0.serverCPU = 10_200 * 2_190 }.verdict.outcome == .pass)
    let worse = try Self.compare { $0.serverCPU = 10_200 * 2_300 }
    #expect(worse.verdict.outcome == .fail)
    #expect(worse.verdict.reasons == ["server_cpu_ns_per_delivery is worse: 2000 before, 2300 now"])
    #expect(worse.text.contains("15.0 % worse"))
    #expect(try Self.compare(0.2) { $0.serverCPU = 10_200 * 2_300 }.verdict.outcome == .pass)
    let better = try Self.compare { $0.serverCPU = 10_200 * 1_000 }
    #expect(better.verdict.outcome == .pass && better.text.contains("50.0 % better"))
    #expect(try Self.compare { $0.deliveries = 8_000 }.verdict.outcome == .fail)
    #expect(try Self.compare { $0.deliveries = 20_000 }.verdict.reasons.allSatisfy { !$0.contains("deliveries_per_s") })
  }

  @Test("one fault more is worse, at any tolerance")
  func faults() throws {
    let comparison = try Self.compare(10) { $0.gaps = 1 }
    #expect(comparison.verdict.reasons == ["gaps is worse: 0 before, 1 now"])
    #expect(comparison.verdict.outcome.exitCode == 2)
  }

  @Test("what was measured of another plan, machine or in an invalid run is not compared")
  func conditions() throws {
    let first = try Self.result("a.json")
    let invalid = Verdict(outcome: .invalid, reasons: ["the load test itself was the bottleneck"])
    let others = [
      try Self.result("b.json", depth: 100), try Self.result("b.json", cores: 64),
      try Self.result("b.json", verdict: invalid), try Self.result("b.json") { $0.clients = 50 },
      try Self.result("b.json") { $0.serverCPU = nil },
    ]
    for other in others {
      let comparison = ResultComparison(first, other, tolerance: 0.1)
      #expect(comparison.verdict.outcome == .invalid)
      #expect(comparison.verdict.reasons.first == "not comparable" && comparison.verdict.reasons.count > 1)
      #expect(comparison.verdict.outcome.exitCode == 3)
    }
  }

  @Test("what is no result is refused by name", arguments: ["", "[1]", "{}", "{\"verdict\":{}}", "not json"])
  func garbage(_ text: String) {
    #expect { try ResultFile(name: "x.json", data: Data(text.utf8)) } throws: { error in
      (error as? LoadError)?.description.hasPrefix("x.json is no") == true
    }
  }
}
