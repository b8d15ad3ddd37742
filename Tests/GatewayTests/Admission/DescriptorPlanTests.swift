import Testing

@testable import Gateway

@Suite("Descriptors")
struct DescriptorPlanTests {
  @Test("clients are lowered to what there are descriptors for, and the reason says what to raise")
  func fit() throws {
    var configuration = GatewayConfiguration()
    configuration.loops = 2
    configuration.limits.clients = 10_000
    let none = DescriptorPlan.fit(&configuration, descriptors: 1 << 20)
    #expect(none == nil && configuration.limits.clients == 10_000)
    let found = DescriptorPlan.fit(&configuration, descriptors: 4_096)
    let reason = try #require(found)
    #expect(configuration.limits.clients == 4_096 - DescriptorPlan.reserve(loops: 2, feeds: 0))
    for words in ["10000", "4096", "\(configuration.limits.clients)", "ulimit -Hn"] { #expect(reason.contains(words)) }
    let few = DescriptorPlan.fit(&configuration, descriptors: 100)
    #expect(few != nil && configuration.limits.clients == 50)
  }

  @Test("running out of descriptors is told once a period, not once a connection, and so is the end of it")
  func report() {
    var report = ShedReport()
    // What has been shed by each second, and what is said of it.
    var counts = [0: 0, 1: 5]
    for second in 2...10 { counts[second] = 5 + 100 * second }
    for second in 11...60 { counts[second] = 1_105 }
    counts[61] = 1_106
    let said = counts.keys.sorted().compactMap { second in
      report.look(counts[second]!, now: Int64(second) * 1_000_000).map { (second, $0) }
    }
    #expect(said.map(\.0) == [1, 11, 21, 61])
    #expect(said.map(\.1) == [.exhausted(5), .exhausted(1_100), .recovered(1_105), .exhausted(1)])
  }
}
