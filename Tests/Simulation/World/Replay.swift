import TestSupport

/// What to type to see a failure again.
package func replayCommand(seed: UInt64, size: Scenario.Size) -> String {
  switch size {
  case .small: "TIDEGATE_SEED=\(seed) TIDEGATE_TRACE=1 swift test --filter SimulationTests"
  case .large: "swift run -c release tidegate-simulation --seed \(seed) --trace"
  }
}
