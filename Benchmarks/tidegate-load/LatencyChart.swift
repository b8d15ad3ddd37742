import Glibc
import Histogram

/// A run as one SVG picture: latency by percentile, and what every second brought.
struct LatencyChart {
  /// One second of a run.
  struct Second {
    /// After the beginning, s.
    var at: Double
    var deliveries: UInt64
    /// µs; nil where no update came.
    var p50: UInt64?
    var p99: UInt64?
  }

  let title: String
  let latency: Histogram<UInt64>
  let seconds: [Second]

  private static let width = 900.0
  private static let plotLeft = 80.0
  private static let plotWidth = 790.0
  private static let plotHeight = 240.0

  var svg: String {
    var out = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) 680" font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>
      <text x="20" y="28" font-size="16">\(Self.escaped(title))</text>

      """
    out += distribution(top: 60)
    out += timeline(top: 380)
    return out + "</svg>\n"
  }

  // MARK: Parts

  /// Latency over percentile; both axes are logarithmic, as in HdrHistogram's plots: each nine has the same width.
  private func distribution(top: Double) -> String {
    var out = Self.heading("latency by percentile, ms", top)
    guard latency.totalCount > 0 else { return out + Self.note("no update came", top) }
    let nines = max(2, log10(Double(latency.totalCount)).rounded(.up))
    let scale = LogScale(min: Double(Swift.max(1, latency.min)), max: Double(Swift.max(2, latency.maxRecorded)))
    out += grid(scale, top)
    for nine in 0...Int(nines) {
      let x = Self.plotLeft + Double(nine) / nines * Self.plotWidth
      let label =
        nine == 0 ? "0" : nine == 1 ? "90" : "99" + (nine > 2 ? "." + String(repeating: "9", count: nine - 2) : "")
      out += Self.vertical(x, top) + Self.label(label + " %", x, top + Self.plotHeight + 16, anchor: "middle")
    }
    var points: [(Double, Double)] = []
    for value in latency.percentiles(ticksPerHalfDistance: 10) {
      let rest = Swift.max(1 - value.percentileLevelIteratedTo / 100, 1 / Double(latency.totalCount))
      let x = Self.plotLeft + Swift.min(1, -log10(rest) / nines) * Self.plotWidth
      points.append((x, top + scale.index(Double(value.value)) * Self.plotHeight))
    }
    return out + Self.line(points, "#1f77b4")
  }

  /// p50 and p99 of each second over time, and the deliveries under them.
  private func timeline(top: Double) -> String {
    var out = Self.heading("each second: p99 and p50, ms; deliveries/s as bars", top)
    let known = seconds.compactMap(\.p99) + seconds.compactMap(\.p50)
    guard let longest = seconds.last?.at, longest > 0, let least = known.min(), let most = known.max() else {
      return out + Self.note("nothing came", top)
    }
    let scale = LogScale(min: Double(Swift.max(1, least)), max: Double(Swift.max(2, most)))
    let busiest = Double(Swift.max(1, seconds.map(\.deliveries).max() ?? 1))
    func x(_ at: Double) -> Double { Self.plotLeft + at / longest * Self.plotWidth }
    let barWidth = Swift.max(0.5, Self.plotWidth / Double(seconds.count) - 1)
    for second in seconds {
      let height = Double(second.deliveries) / busiest * Self.plotHeight
      out += "<rect x=\"\(Self.number(x(second.at) - barWidth))\" y=\"\(Self.number(top + Self.plotHeight - height))\" "
      out += "width=\"\(Self.number(barWidth))\" height=\"\(Self.number(height))\" fill=\"#eeeeee\"/>\n"
    }
    out += grid(scale, top)
    out += Self.line(
      seconds.compactMap { s in s.p50.map { (x(s.at), top + scale.index(Double($0)) * Self.plotHeight) } }, "#2ca02c")
    out += Self.line(
      seconds.compactMap { s in s.p99.map { (x(s.at), top + scale.index(Double($0)) * Self.plotHeight) } }, "#d62728")
    out += Self.label("0 s", Self.plotLeft, top + Self.plotHeight + 16, anchor: "middle")
    out += Self.label(
      "\(Decimal.text(longest, digits: 0)) s", Self.plotLeft + Self.plotWidth, top + Self.plotHeight + 16, anchor: "end"
    )
    return out + Self.label("the highest bar: \(Int(busiest))", Self.plotLeft + Self.plotWidth, top - 6, anchor: "end")
  }

  /// Powers of ten of µs.
  private struct LogScale {
    let low: Double
    let high: Double
    init(min: Double, max: Double) {
      low = log10(min).rounded(.down)
      high = Swift.max(low + 1, log10(max).rounded(.up))
    }
    /// 0 at the top, 1 at the bottom.
    func index(_ value: Double) -> Double {
      1 - Swift.min(1, Swift.max(0, (log10(Swift.max(value, 1)) - low) / (high - low)))
    }
  }

  private func grid(_ scale: LogScale, _ top: Double) -> String {
    var out = ""
    for power in Int(scale.low)...Int(scale.high) {
      let value = pow(10, Double(power))
      let y = top + scale.index(value) * Self.plotHeight
      out += "<line x1=\"\(Self.number(Self.plotLeft))\" x2=\"\(Self.number(Self.plotLeft + Self.plotWidth))\" "
      out += "y1=\"\(Self.number(y))\" y2=\"\(Self.number(y))\" stroke=\"#cccccc\"/>\n"
      out += Self.label(
        Decimal.text(value / 1_000, digits: power < 3 ? 3 - power : 0), Self.plotLeft - 6, y + 4, anchor: "end")
    }
    return out
  }

  private static func heading(_ text: String, _ top: Double) -> String {
    label(text, plotLeft, top - 6, anchor: "start")
  }
  private static func note(_ text: String, _ top: Double) -> String {
    label(text, plotLeft + plotWidth / 2, top + plotHeight / 2, anchor: "middle")
  }
  private static func vertical(_ x: Double, _ top: Double) -> String {
    "<line x1=\"\(number(x))\" x2=\"\(number(x))\" y1=\"\(number(top))\" y2=\"\(number(top + plotHeight))\" stroke=\"#eeeeee\"/>\n"
  }
  private static func label(_ text: String, _ x: Double, _ y: Double, anchor: String) -> String {
    "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\">\(escaped(text))</text>\n"
  }
  private static func line(_ points: [(Double, Double)], _ color: String) -> String {
    let text = points.map { "\(number($0.0)),\(number($0.1))" }.joined(separator: " ")
    return "<polyline points=\"\(text)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"1.5\"/>\n"
  }
  private static func number(_ value: Double) -> String { Decimal.text(value, digits: 1) }
  static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      default: result.append(character)
      }
    }
  }
}
