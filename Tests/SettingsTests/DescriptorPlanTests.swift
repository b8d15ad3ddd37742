import Testing

@testable import Settings

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
}
