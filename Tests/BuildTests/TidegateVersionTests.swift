import Build
import Testing

@Suite("The version")
struct TidegateVersionTests {
  @Test("it has three numbers, and the full one adds what is known of the build in brackets")
  func form() {
    let numbers = TidegateVersion.current.split(separator: ".", omittingEmptySubsequences: false)
    #expect(numbers.count == 3 && numbers.allSatisfy { UInt($0) != nil }, "\(TidegateVersion.current)")
    let known = [TidegateVersion.commit, TidegateVersion.buildDate].filter { !$0.isEmpty }
    let rest = known.isEmpty ? "" : " (\(known.joined(separator: ", ")))"
    #expect(TidegateVersion.full == TidegateVersion.current + rest)
  }
}
