import Foundation

/// A result of an earlier run, read back.
struct ResultFile {
  let name: String
  let members: [String: Any]

  /// - Throws: `LoadError` naming the file and what is wrong with it.
  init(path: String) throws {
    guard let data = FileManager.default.contents(atPath: path) else { throw LoadError("\(path) cannot be read") }
    try self.init(name: path, data: data)
  }

  init(name: String, data: Data) throws {
    guard let object = try? JSONSerialization.jsonObject(with: data), let members = object as? [String: Any] else {
      throw LoadError("\(name) is no JSON object: give what --json wrote")
    }
    guard members["verdict"] is [String: Any], members["environment"] is [String: Any] else {
      throw LoadError("\(name) is no result of this tool: it has no verdict and no environment")
    }
    self.name = name
    self.members = members
  }

  /// A number at a path like `latency_us.p99`.
  func number(_ path: String) -> Double? { (value(path) as? NSNumber)?.doubleValue }
  func text(_ path: String) -> String? { value(path).map { "\($0)" } }

  private func value(_ path: String) -> Any? {
    var current: Any? = members
    // A name may have a point in it: p99.9.
    var rest = path[...]
    while let object = current as? [String: Any] {
      if let found = object[String(rest)] { return found }
      guard let point = rest.firstIndex(of: ".") else { return nil }
      current = object[String(rest[..<point])]
      rest = rest[rest.index(after: point)...]
    }
    return nil
  }
}

/// Two results side by side: is the second worse?
struct ResultComparison {
  struct Row {
    let name: String
    let before: Double?
    let after: Double?
    /// Whether less is better; nil: neither is, it is shown for its own sake.
    let lessIsBetter: Bool?
    /// Whether any more is worse, however little.
    var isExact = false

    /// By how much the second is worse, as a fraction of the first; negative where it is better.
    var worsening: Double? {
      guard let lessIsBetter, let before, let after else { return nil }
      if before == after { return 0 }
      guard before != 0 else { return (after > before) == lessIsBetter ? .infinity : -.infinity }
      return (lessIsBetter ? after - before : before - after) / abs(before)
    }
  }

  let rows: [Row]
  let verdict: Verdict
  private let names: (String, String)

  private static let measured: [(path: String, lessIsBetter: Bool?, isExact: Bool)] = [
    ("deliveries_per_s", false, false), ("latency_us.p50", true, false), ("latency_us.p99", true, false),
    ("latency_us.p99.9", true, false), ("latency_us.max", nil, false), ("server_cpu_ns_per_delivery", true, false),
    ("rss_per_client", true, false), ("gaps", true, true), ("missing_frames", true, true),
    ("refused_items", true, true),
    ("errors", true, true), ("protocol_errors", true, true), ("disconnected", true, true), ("resyncs", nil, false),
    ("tool_cpu_fraction", nil, false),
  ]
  /// What must be the same, or the figures are of different things.
  private static let conditions = [
    "clients", "streams_per_client", "slow.clients", "plan.symbols", "plan.channels", "plan.depth", "plan.interval_ms",
    "environment.machine.processor", "environment.machine.cores",
  ]

  /// - Parameter tolerance: how much worse is still the same, as a fraction: 0.1 for a tenth. Faults have none.
  init(_ before: ResultFile, _ after: ResultFile, tolerance: Double) {
    names = (before.name, after.name)
    rows = Self.measured.compactMap { path, lessIsBetter, isExact in
      let row = Row(
        name: path, before: before.number(path), after: after.number(path), lessIsBetter: lessIsBetter, isExact: isExact
      )
      return row.before == nil && row.after == nil ? nil : row
    }
    var doubts: [String] = []
    for path in Self.conditions where before.text(path) != after.text(path) {
      doubts.append("\(path) was \(before.text(path) ?? "-") and is \(after.text(path) ?? "-")")
    }
    for file in [before, after] where file.text("verdict.outcome") == Verdict.Outcome.invalid.rawValue {
      doubts.append("\(file.name) is of an invalid run")
    }
    // A figure that only one of them has was measured in one of them only.
    for row in rows where row.lessIsBetter != nil && (row.before == nil) != (row.after == nil) {
      doubts.append("only one of them has \(row.name)")
    }
    var worse: [String] = []
    for row in rows {
      guard let worsening = row.worsening, worsening > (row.isExact ? 0 : tolerance) else { continue }
      worse.append("\(row.name) is worse: \(Self.text(row.before)) before, \(Self.text(row.after)) now")
    }
    if !doubts.isEmpty {
      verdict = Verdict(outcome: .invalid, reasons: ["not comparable"] + doubts + worse)
    } else {
      verdict = Verdict(outcome: worse.isEmpty ? .pass : .fail, reasons: worse)
    }
  }

  /// A table for people, and the verdict's line.
  var text: String {
    func cell(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    var out = "A \(names.0)\nB \(names.1)\n"
    out += String(repeating: " ", count: 28) + cell("A", 14) + cell("B", 14) + cell("B is", 18) + "\n"
    for row in rows {
      out +=
        row.name + String(repeating: " ", count: max(0, 28 - row.name.count)) + cell(Self.text(row.before), 14)
        + cell(Self.text(row.after), 14) + cell(Self.change(row), 18) + "\n"
    }
    return out + verdict.line(nil)
  }

  private static func change(_ row: Row) -> String {
    guard let worsening = row.worsening else { return "" }
    if worsening == 0 { return "the same" }
    guard worsening.isFinite else { return worsening > 0 ? "worse" : "better" }
    return "\(Decimal.text(abs(worsening) * 100, digits: 1)) % \(worsening > 0 ? "worse" : "better")"
  }

  private static func text(_ value: Double?) -> String {
    guard let value else { return "-" }
    return Decimal.text(value, digits: value == value.rounded() ? 0 : 3)
  }
}
