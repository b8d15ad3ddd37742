import Testing

@testable import Gateway

@Suite("Descriptors")
struct DescriptorPlanTests {
  @Test("clients are lowered to what there are descriptors for, and the reason says what to raise")
  func fit() throws {
    var configuration = GatewayConfiguration()
    configuration.loops = 2
    configuration.limits.clients = 10_000
    #expect(DescriptorPlan.fit(&configuration, descriptors: 1 << 20) == nil)
    #expect(configuration.limits.clients == 10_000)
    let reason = try #require(DescriptorPlan.fit(&configuration, descriptors: 4_096))
    #expect(configuration.limits.clients == 4_096 - DescriptorPlan.reserve(loops: 2, feeds: 0))
    for words in ["10000", "4096", "\(configuration.limits.clients)", "ulimit -Hn"] { #expect(reason.contains(words)) }
    #expect(DescriptorPlan.fit(&configuration, descriptors: 100) != nil)
    #expect(configuration.limits.clients == 50)
  }

  @Test("running out of descriptors is told once a period, not once a connection, and so is the end of it")
  func report() {
    var report = ShedReport()
    let second: Int64 = 1_000_000
    #expect(report.look(0, now: 0) == nil)
    #expect(report.look(5, now: second) == .exhausted(5))
    for time in 2...10 { #expect(report.look(5 + 100 * time, now: Int64(time) * second) == nil) }
    #expect(report.look(1_105, now: 11 * second) == .exhausted(1_100))
    for time in 12...20 { #expect(report.look(1_105, now: Int64(time) * second) == nil) }
    #expect(report.look(1_105, now: 21 * second) == .recovered(1_105))
    #expect(report.look(1_105, now: 60 * second) == nil)
    #expect(report.look(1_106, now: 61 * second) == .exhausted(1))
  }
}
