import Histogram

/// What one measured run came to.
struct Figures {
  /// `gateway` or `floor`.
  var label = ""
  var clients = 0
  var slowClients = 0
  var streamsPerClient = 0
  var seconds = 0.0
  /// Clients that were open when the measurement began, and how long connecting them took.
  var connected = 0
  var connectSeconds = 0.0

  /// Snapshots and updates of the fast clients in the measured time.
  var deliveries: UInt64 = 0
  /// Bytes of everything that they received, frame headers included.
  var bytes: UInt64 = 0
  var updates: UInt64 = 0
  var snapshots: UInt64 = 0
  var heartbeats: UInt64 = 0
  var slowDeliveries: UInt64 = 0
  var slowBytes: UInt64 = 0
  var slowSnapshots: UInt64 = 0
  var slowNotices: UInt64 = 0
  /// Age of snapshots that slow clients got, µs.
  var slowSnapshotAge = Figures.emptyHistogram()
  /// Bytes the server's kernel held for a slow client, sampled once a second.
  var slowQueuedSamples = 0
  var slowQueuedTotal = 0
  var slowQueuedMost = 0
  /// Calls of `recv` that brought something: deliveries per call say how much one send carried.
  var receives: UInt64 = 0

  /// Publication to after `recv`, µs, of updates to fast clients.
  var latency = Figures.emptyHistogram()
  /// Updates whose `time` was after their arrival: two clocks disagree.
  var fromTheFuture: UInt64 = 0

  /// From connecting to the end: links that broke and were not followed by a snapshot.
  var gaps: UInt64 = 0
  /// Links that broke and were followed by a snapshot.
  var resyncs: UInt64 = 0
  /// Data frames that heartbeats counted and clients did not get (`sent` less frames received, summed over clients).
  var missing: Int64 = 0
  /// Events that notices said were lost.
  var announcedLost: UInt64 = 0
  var notices: UInt64 = 0
  var errors: UInt64 = 0
  var refused: UInt64 = 0
  var protocolErrors: UInt64 = 0
  var disconnected: UInt64 = 0
  var slowDisconnected: UInt64 = 0
  var closeCodes: [UInt16: UInt64] = [:]
  var firstError = ""

  var serverCPU: Int64?
  var residentBefore: Int64?
  var residentIdle: Int64?
  var residentEnd: Int64?
  /// Whether the memory of a client can be known; nil: nobody asked.
  var freshness: Freshness?
  var toolCPU: Int64 = 0
  /// What every measured second brought.
  var timeline: [LatencyChart.Second] = []

  /// Publication times and frame bytes of the updates that one client got, for the floor to repeat.
  var trace = Trace()

  static func emptyHistogram() -> Histogram<UInt64> {
    Histogram<UInt64>(highestTrackableValue: latencyLimit, numberOfSignificantValueDigits: .three)
  }
  /// The longest latency told apart, µs; longer ones count as this.
  static let latencyLimit: UInt64 = 120_000_000

  var deliveriesPerSecond: Double { seconds > 0 ? Double(deliveries) / seconds : 0 }
  var bytesPerSecond: Double { seconds > 0 ? Double(bytes) / seconds : 0 }
  /// Server CPU over all deliveries, those to slow clients included.
  var cpuPerDelivery: Double? {
    let all = deliveries + slowDeliveries
    guard let serverCPU, all > 0 else { return nil }
    return Double(serverCPU) / Double(all)
  }
  var residentPerClient: Double? {
    guard freshness == .fresh, let residentBefore, let residentIdle, connected > 0 else { return nil }
    return Double(residentIdle - residentBefore) / Double(connected)
  }
  var toolCPUFraction: Double { seconds > 0 ? Double(toolCPU) / 1e9 / seconds : 0 }
  /// Above this the tool's one thread had hardly a pause, and its latencies are its own.
  var isToolBound: Bool { toolCPUFraction > Thresholds().maxToolCPU }

  /// A JSON object of everything.
  var json: JSONObject {
    var object = JSONObject()
    object["label"] = .text(label)
    object["clients"] = .integer(Int64(clients))
    object["connected"] = .integer(Int64(connected))
    object["connect_s"] = .number(connectSeconds, digits: 3)
    object["streams_per_client"] = .integer(Int64(streamsPerClient))
    object["seconds"] = .number(seconds, digits: 3)
    object["deliveries"] = .integer(Int64(deliveries))
    object["deliveries_per_s"] = .number(deliveriesPerSecond, digits: 1)
    object["bytes_per_s"] = .number(bytesPerSecond, digits: 0)
    object["updates"] = .integer(Int64(updates))
    object["snapshots"] = .integer(Int64(snapshots))
    object["heartbeats"] = .integer(Int64(heartbeats))
    object["deliveries_per_receive"] = .number(receives > 0 ? Double(deliveries) / Double(receives) : 0, digits: 2)
    var us = JSONObject()
    us["count"] = .integer(Int64(latency.totalCount))
    if latency.totalCount > 0 {
      for percentile in PercentileReport.percentiles {
        let value = PercentileReport.value(of: latency, at: percentile)
        us[PercentileReport.name(percentile)] = .integer(Int64(value))
      }
    }
    us["from_the_future"] = .integer(Int64(fromTheFuture))
    object["latency_us"] = .object(us)
    object["gaps"] = .integer(Int64(gaps))
    object["resyncs"] = .integer(Int64(resyncs))
    object["missing_frames"] = .integer(missing)
    object["announced_lost"] = .integer(Int64(announcedLost))
    object["notices"] = .integer(Int64(notices))
    object["errors"] = .integer(Int64(errors))
    object["refused_items"] = .integer(Int64(refused))
    object["protocol_errors"] = .integer(Int64(protocolErrors))
    object["disconnected"] = .integer(Int64(disconnected))
    var codes = JSONObject()
    for (code, count) in closeCodes.sorted(by: { $0.key < $1.key }) { codes["\(code)"] = .integer(Int64(count)) }
    object["close_codes"] = .object(codes)
    if !firstError.isEmpty { object["first_error"] = .text(firstError) }
    if slowClients > 0 {
      var slow = JSONObject()
      slow["clients"] = .integer(Int64(slowClients))
      slow["deliveries"] = .integer(Int64(slowDeliveries))
      slow["bytes"] = .integer(Int64(slowBytes))
      slow["disconnected"] = .integer(Int64(slowDisconnected))
      slow["snapshots"] = .integer(Int64(slowSnapshots))
      slow["notices"] = .integer(Int64(slowNotices))
      if slowSnapshotAge.totalCount > 0 {
        slow["snapshot_age_p50_ms"] = .integer(Int64(slowSnapshotAge.valueAtPercentile(50) / 1000))
        slow["snapshot_age_max_ms"] = .integer(Int64(slowSnapshotAge.maxRecorded / 1000))
      }
      if slowQueuedSamples > 0 {
        slow["kernel_bytes_mean"] = .integer(Int64(slowQueuedTotal / slowQueuedSamples))
        slow["kernel_bytes_most"] = .integer(Int64(slowQueuedMost))
      }
      object["slow"] = .object(slow)
    }
    if let serverCPU {
      object["server_cpu_ns"] = .integer(serverCPU)
      object["server_cpu_fraction"] = .number(seconds > 0 ? Double(serverCPU) / 1e9 / seconds : 0, digits: 4)
    }
    if let cpuPerDelivery { object["server_cpu_ns_per_delivery"] = .number(cpuPerDelivery, digits: 1) }
    if let residentBefore { object["rss_before"] = .integer(residentBefore) }
    if let residentIdle { object["rss_idle"] = .integer(residentIdle) }
    if let residentEnd { object["rss_end"] = .integer(residentEnd) }
    if let residentPerClient { object["rss_per_client"] = .number(residentPerClient, digits: 0) }
    if let objection = freshness?.objection { object["rss_per_client_unknown"] = .text(objection) }
    object["tool_cpu_fraction"] = .number(toolCPUFraction, digits: 3)
    object["tool_was_bottleneck"] = .bool(isToolBound)
    return object
  }
}

/// A JSON object in the order in which its members were set.
struct JSONObject {
  enum Value {
    case text(String)
    case integer(Int64)
    case number(Double, digits: Int)
    case bool(Bool)
    case object(JSONObject)
    case array([JSONObject])
    case texts([String])
  }

  private var members: [(name: String, value: Value)] = []

  subscript(_ name: String) -> Value? {
    get { members.first { $0.name == name }?.value }
    set { if let newValue { members.append((name, newValue)) } }
  }

  var text: String {
    "{" + members.map { "\"\($0.name)\":" + Self.text($0.value) }.joined(separator: ",") + "}"
  }

  private static func text(_ value: Value) -> String {
    switch value {
    case .text(let text): return quoted(text)
    case .texts(let texts): return "[" + texts.map(quoted).joined(separator: ",") + "]"
    case .integer(let integer): return "\(integer)"
    case .number(let number, let digits): return Decimal.text(number, digits: digits)
    case .bool(let bool): return "\(bool)"
    case .object(let object): return object.text
    case .array(let objects): return "[" + objects.map(\.text).joined(separator: ",") + "]"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      default: quoted.unicodeScalars.append(scalar.value < 0x20 ? " " : scalar)
      }
    }
    return quoted + "\""
  }
}

/// Numbers for people and JSON, without Foundation.
enum Decimal {
  /// `value` rounded to `digits` places after the point.
  static func text(_ value: Double, digits: Int) -> String {
    guard value.isFinite else { return "0" }
    var power = 1.0
    for _ in 0..<digits { power *= 10 }
    let scaled = Int64((value.magnitude * power).rounded())
    let whole = scaled / Int64(power)
    let sign = value < 0 && scaled != 0 ? "-" : ""
    guard digits > 0 else { return "\(sign)\(whole)" }
    let fraction = String(scaled % Int64(power))
    return "\(sign)\(whole)." + String(repeating: "0", count: digits - fraction.count) + fraction
  }
}
