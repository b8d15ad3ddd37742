import Benchmark
import MicroBenchmarks

let benchmarks: @Sendable () -> Void = {
  for micro in MicroBenchmark.all {
    // Every batch is a thousand operations, so that the scaled figures are those of one operation.
    Benchmark(
      micro.name,
      configuration: .init(
        metrics: [.wallClock, .throughput], warmupIterations: 3, scalingFactor: .kilo,
        maxDuration: .seconds(1), maxIterations: 10_000)
    ) { benchmark in
      let prepared: PreparedBenchmark
      do {
        prepared = try micro.prepare()
      } catch {
        return benchmark.error("\(error)")
      }
      for _ in 0..<10 {
        prepared.reset?()
        benchmark.startMeasurement()
        blackHole(prepared.run())
        benchmark.stopMeasurement()
      }
    }
  }
}
