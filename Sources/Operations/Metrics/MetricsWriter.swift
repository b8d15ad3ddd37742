import Bytes

/// Writes Prometheus' text format, version 0.0.4: families with their help and type, samples with escaped labels.
package struct MetricsWriter {
  package private(set) var text = ""
  private let prefix: String

  /// - Parameter prefix: the prefix of every name: `tidegate_`.
  package init(prefix: String = "tidegate_") { self.prefix = prefix }

  /// Appends the families of one thing.
  package mutating func append<Figures>(_ table: [Metric<Figures>], of figures: Figures) {
    append(table, of: [figures]) { _ in [:] }
  }

  /// Appends the families of several things of a kind: a family has the samples of all of them.
  /// - Parameter labels: tells the things apart; they stand before a sample's own labels.
  package mutating func append<Figures>(
    _ table: [Metric<Figures>], of things: [Figures], labels: (Figures) -> MetricLabels
  ) {
    for metric in table {
      let samples = things.flatMap { thing in metric.samples(thing).map { (labels(thing), $0) } }
      guard !samples.isEmpty || metric.isAlwaysListed else { continue }
      let name = prefix + metric.name
      text += "# HELP \(name) \(metric.help)\n# TYPE \(name) \(metric.kind.rawValue)\n"
      for (labels, sample) in samples {
        let pairs = [labels, sample.labels].joined().map { "\($0.key)=\"\(Self.escaped($0.value))\"" }
        append(name, pairs.joined(separator: ","), sample.value)
      }
    }
  }

  private mutating func append(_ name: String, _ pairs: String, _ value: MetricSample.Value) {
    let braces = pairs.isEmpty ? "" : "{\(pairs)}"
    switch value {
    case .number(let number): text += "\(name)\(braces) \(number)\n"
    case .histogram(let histogram, let unit):
      let first = pairs.isEmpty ? "" : pairs + ","
      for (bound, count) in histogram.cumulative {
        text += "\(name)_bucket{\(first)le=\"\(Self.number(Double(bound) / unit))\"} \(count)\n"
      }
      text += "\(name)_bucket{\(first)le=\"+Inf\"} \(histogram.count)\n"
      text += "\(name)_sum\(braces) \(Double(histogram.sum) / unit)\n"
      text += "\(name)_count\(braces) \(histogram.count)\n"
    }
  }

  /// Without the fraction of a whole number.
  private static func number(_ value: Double) -> String {
    value == value.rounded() && value < 1e15 ? "\(Int(value))" : "\(value)"
  }

  /// A label's value (Prometheus' text format: backslash, quotation mark and line feed are escaped).
  static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.append(character)
      }
    }
  }
}
