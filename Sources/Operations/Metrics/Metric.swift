import Bytes

/// A family of metrics as Prometheus' text format has it: its name, its kind, what it means, and its samples, which
/// follow from the figures of one thing. A table of families is all that `/metrics` knows of a thing.
package struct Metric<Figures>: Sendable {
  /// Without the prefix that all names of a table share.
  let name: String
  let kind: MetricKind
  let help: String
  /// Whether the family is written even if nothing has a sample.
  let isAlwaysListed: Bool
  let samples: @Sendable (Figures) -> [MetricSample]

  private init(
    _ name: String, _ kind: MetricKind, _ help: String, isAlwaysListed: Bool = false,
    _ samples: @escaping @Sendable (Figures) -> [MetricSample]
  ) {
    self.name = name
    self.kind = kind
    self.help = help
    self.isAlwaysListed = isAlwaysListed
    self.samples = samples
  }

  /// A value that only grows.
  package static func counter<N: MetricNumber>(
    _ name: String, _ help: String, _ value: @escaping @Sendable (Figures) -> N
  ) -> Metric {
    Metric(name, .counter, help) { [MetricSample([:], value($0))] }
  }

  /// A value that goes up and down.
  package static func gauge<N: MetricNumber>(
    _ name: String, _ help: String, _ value: @escaping @Sendable (Figures) -> N
  ) -> Metric {
    Metric(name, .gauge, help) { [MetricSample([:], value($0))] }
  }

  /// A value that goes up and down; nil: it is unknown.
  package static func gauge<N: MetricNumber>(
    _ name: String, _ help: String, ifKnown value: @escaping @Sendable (Figures) -> N?
  ) -> Metric {
    Metric(name, .gauge, help) { figures in value(figures).map { [MetricSample([:], $0)] } ?? [] }
  }

  /// Several values that only grow, by their labels.
  package static func counters<N: MetricNumber>(
    _ name: String, _ help: String, _ values: @escaping @Sendable (Figures) -> [(MetricLabels, N)]
  ) -> Metric {
    Metric(name, .counter, help) { figures in values(figures).map { MetricSample($0.0, $0.1) } }
  }

  /// Several values that only grow, by the value of one label.
  package static func counters<N: MetricNumber>(
    _ name: String, _ help: String, by label: String, _ values: @escaping @Sendable (Figures) -> [(String, N)]
  ) -> Metric {
    counters(name, help) { figures in values(figures).map { ([label: $0.0], $0.1) } }
  }

  /// Several values that go up and down, by the value of one label.
  package static func gauges<N: MetricNumber>(
    _ name: String, _ help: String, by label: String, _ values: @escaping @Sendable (Figures) -> [(String, N)]
  ) -> Metric {
    gauges(name, help) { figures in values(figures).map { ([label: $0.0], $0.1) } }
  }

  /// Several values that go up and down, by their labels.
  package static func gauges<N: MetricNumber>(
    _ name: String, _ help: String, isAlwaysListed: Bool = false,
    _ values: @escaping @Sendable (Figures) -> [(MetricLabels, N)]
  ) -> Metric {
    Metric(name, .gauge, help, isAlwaysListed: isAlwaysListed) { figures in
      values(figures).map { MetricSample($0.0, $0.1) }
    }
  }

  /// A distribution.
  /// - Parameter unit: recorded units per unit of the name: 1e9 for ns as seconds.
  package static func histogram(
    _ name: String, _ help: String, unit: Double, _ value: @escaping @Sendable (Figures) -> Histogram
  ) -> Metric {
    Metric(name, .histogram, help) { [MetricSample(labels: [:], value: .histogram(value($0), unit: unit))] }
  }

  /// A distribution; nil: it is unknown.
  package static func histogram(
    _ name: String, _ help: String, unit: Double, ifKnown value: @escaping @Sendable (Figures) -> Histogram?
  ) -> Metric {
    Metric(name, .histogram, help) { figures in
      value(figures).map { [MetricSample(labels: [:], value: .histogram($0, unit: unit))] } ?? []
    }
  }

  /// Several distributions, by the value of one label.
  package static func histograms(
    _ name: String, _ help: String, by label: String, unit: Double,
    _ values: @escaping @Sendable (Figures) -> [(String, Histogram)]
  ) -> Metric {
    Metric(name, .histogram, help) { figures in
      values(figures).map { MetricSample(labels: [label: $0.0], value: .histogram($0.1, unit: unit)) }
    }
  }
}

package typealias MetricLabels = KeyValuePairs<String, String>
/// Shown as Swift writes it.
package typealias MetricNumber = Numeric & Sendable

enum MetricKind: String, Sendable { case counter, gauge, histogram }

struct MetricSample {
  enum Value {
    case number(String)
    /// With the recorded units per unit of the name.
    case histogram(Histogram, unit: Double)
  }

  let labels: MetricLabels
  let value: Value
}

extension MetricSample {
  init(_ labels: MetricLabels, _ value: some MetricNumber) { self.init(labels: labels, value: .number("\(value)")) }
}
