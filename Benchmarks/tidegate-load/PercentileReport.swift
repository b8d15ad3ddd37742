import Histogram

/// Latencies for people and for the tools of others.
struct PercentileReport {
  static let percentiles: [Double] = [0, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100]

  let latency: Histogram<UInt64>

  /// A table: percentile, milliseconds, how many updates were above.
  var table: String {
    guard latency.totalCount > 0 else { return "no latencies: no update came\n" }
    func cell(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    var text = cell("percentile", 11) + cell("ms", 12) + cell("updates above", 16) + "\n"
    for percentile in Self.percentiles {
      let value = Self.value(of: latency, at: percentile)
      let above = latency.count(within: 0...value)
      text +=
        cell(Self.name(percentile), 11) + cell(Decimal.text(Double(value) / 1_000, digits: 3), 12)
        + cell("\(UInt64(latency.totalCount) - min(UInt64(latency.totalCount), UInt64(above)))", 16) + "\n"
    }
    return text
  }

  /// The percentile distribution of HdrHistogram's tools (https://hdrhistogram.github.io/HdrHistogram/plotFiles.html),
  /// in ms.
  var hgrm: String {
    var text = ""
    latency.outputPercentileDistribution(to: &text, outputValueUnitScalingRatio: 1_000)
    return text
  }

  static func name(_ percentile: Double) -> String {
    switch percentile {
    case 0: "min"
    case 100: "max"
    default: "p" + (percentile == percentile.rounded() ? "\(Int(percentile))" : "\(percentile)")
    }
  }

  static func value(of histogram: Histogram<UInt64>, at percentile: Double) -> UInt64 {
    switch percentile {
    case 0: histogram.min
    case 100: histogram.maxRecorded
    default: histogram.valueAtPercentile(percentile)
    }
  }
}
