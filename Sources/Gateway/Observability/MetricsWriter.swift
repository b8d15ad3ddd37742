import Bytes

/// Writes Prometheus' text format, version 0.0.4: families with their help and type, samples with escaped labels.
struct MetricsWriter {
  typealias Labels = KeyValuePairs<String, String>

  private(set) var text = ""
  private let prefix: String

  /// - Parameter prefix: the prefix of every name: `tidegate_`.
  init(prefix: String = "tidegate_") { self.prefix = prefix }

  /// Writes a family; nothing without samples.
  mutating func family(_ name: String, _ type: String, _ help: String, _ samples: [(labels: Labels, value: String)]) {
    guard !samples.isEmpty else { return }
    head(name, type, help)
    for sample in samples { text += "\(prefix)\(name)\(Self.braces(sample.labels)) \(sample.value)\n" }
  }

  /// A family of one sample without labels.
  mutating func single(_ name: String, _ type: String, _ help: String, _ value: some Numeric) {
    family(name, type, help, [([:], "\(value)")])
  }

  /// A family of histograms.
  /// - Parameter unit: recorded units per unit of the name: 1e9 for ns as seconds.
  mutating func histograms(
    _ name: String, _ help: String, unit: Double, _ samples: [(labels: Labels, value: Histogram)]
  ) {
    guard !samples.isEmpty else { return }
    head(name, "histogram", help)
    for (labels, histogram) in samples {
      let inner = Self.pairs(labels)
      let first = inner.isEmpty ? "" : inner + ","
      for (bound, count) in histogram.cumulative {
        text += "\(prefix)\(name)_bucket{\(first)le=\"\(Self.number(Double(bound) / unit))\"} \(count)\n"
      }
      text += "\(prefix)\(name)_bucket{\(first)le=\"+Inf\"} \(histogram.count)\n"
      text += "\(prefix)\(name)_sum\(Self.braces(labels)) \(Double(histogram.sum) / unit)\n"
      text += "\(prefix)\(name)_count\(Self.braces(labels)) \(histogram.count)\n"
    }
  }

  private mutating func head(_ name: String, _ type: String, _ help: String) {
    text += "# HELP \(prefix)\(name) \(help)\n# TYPE \(prefix)\(name) \(type)\n"
  }

  private static func braces(_ labels: Labels) -> String { labels.isEmpty ? "" : "{\(pairs(labels))}" }

  private static func pairs(_ labels: Labels) -> String {
    labels.map { "\($0.key)=\"\(TLSMetricsText.escaped($0.value))\"" }.joined(separator: ",")
  }

  /// Without the fraction of a whole number.
  private static func number(_ value: Double) -> String {
    value == value.rounded() && value < 1e15 ? "\(Int(value))" : "\(value)"
  }
}
