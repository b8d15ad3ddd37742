import Histogram

/// Gateway and floor side by side.
struct Comparison {
  let gateway: [Figures]
  let floor: [Figures]
  let gathers: Bool

  /// CPU per delivery of the gateway over that of the floor, turn by turn.
  var ratios: [Double] {
    zip(gateway, floor).compactMap { pair in
      guard let above = pair.0.cpuPerDelivery, let below = pair.1.cpuPerDelivery, below > 0 else { return nil }
      return above / below
    }
  }

  static func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  var json: JSONObject {
    var object = JSONObject()
    object["ratio_median"] = .number(Self.median(ratios), digits: 3)
    object["ratio_min"] = .number(ratios.min() ?? 0, digits: 3)
    object["ratio_max"] = .number(ratios.max() ?? 0, digits: 3)
    object["gateway_cpu_ns_per_delivery"] = .number(Self.median(gateway.compactMap(\.cpuPerDelivery)), digits: 1)
    object["floor_cpu_ns_per_delivery"] = .number(Self.median(floor.compactMap(\.cpuPerDelivery)), digits: 1)
    object["floor_gathers"] = .bool(gathers)
    object["gateway"] = .array(gateway.map(\.json))
    object["floor"] = .array(floor.map(\.json))
    return object
  }

  /// A table for people.
  var text: String {
    var lines =
      "              deliveries/s  per receive  CPU ns/delivery   p50 µs   p99 µs  p99.9 µs   gaps  tool CPU\n"
    for (index, pair) in zip(gateway, floor).enumerated() {
      lines += Self.row("\(index + 1) gateway", pair.0) + Self.row("\(index + 1) floor", pair.1)
    }
    lines += "ratio gateway/floor of CPU per delivery: \(Decimal.text(Self.median(ratios), digits: 2))"
    lines += " (\(ratios.map { Decimal.text($0, digits: 2) }.joined(separator: ", ")))\n"
    if (gateway + floor).contains(where: \.isToolBound) {
      lines +=
        "The load test itself was the bottleneck of a turn: its latencies and rates say more of it than of the server.\n"
    }
    return lines
  }

  private static func row(_ name: String, _ figures: Figures) -> String {
    func cell(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let latency = figures.latency
    let has = latency.totalCount > 0
    return name + String(repeating: " ", count: max(0, 12 - name.count))
      + cell(Decimal.text(figures.deliveriesPerSecond, digits: 0), 14)
      + cell(
        Decimal.text(figures.receives > 0 ? Double(figures.deliveries) / Double(figures.receives) : 0, digits: 2), 13)
      + cell(figures.cpuPerDelivery.map { Decimal.text($0, digits: 0) } ?? "-", 17)
      + cell(has ? "\(latency.valueAtPercentile(50))" : "-", 9)
      + cell(has ? "\(latency.valueAtPercentile(99))" : "-", 9)
      + cell(has ? "\(latency.valueAtPercentile(99.9))" : "-", 10) + cell("\(figures.gaps)", 7)
      + cell(Decimal.text(figures.toolCPUFraction, digits: 2), 10) + "\n"
  }
}
