import Testing

/// A trait around each case of a test, also where a suite has it.
package protocol CaseTrait: TestTrait, SuiteTrait, TestScoping {
  /// Runs the body of one case.
  func run(_ body: @Sendable () async throws -> Void) async throws
}

extension CaseTrait {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // A suite's scope is around waiting for its tests.
    guard testCase != nil else { return try await function() }
    try await run(function)
  }
}
