import Histogram

/// What a run may come to and still be good.
struct Thresholds {
  var maxGaps: UInt64 = 0
  /// Data frames that heartbeats counted and clients did not get.
  var maxMissing: Int64 = 0
  /// Answers to subscribe requests that refused something.
  var maxRefused: UInt64 = 0
  var maxErrors: UInt64 = 0
  /// Clients at full speed whose connection ended.
  var maxDisconnected: UInt64 = 0
  /// Healed and announced losses are of no harm by default: the protocol allows them.
  var maxResyncs: UInt64?
  var maxAnnouncedLost: UInt64?
  /// Of updates, ms.
  var maxP50: Double?
  var maxP99: Double?
  var maxP999: Double?
  var minDeliveriesPerSecond: Double?
  /// Server CPU of a delivery, ns.
  var maxCPUPerDelivery: Double?
  /// Of its core, by the tool; above it the run says more of the tool than of the gateway.
  var maxToolCPU = 0.9
}

/// Whether a run was good, and if not, why.
struct Verdict: Equatable {
  enum Outcome: String {
    case pass = "PASS"
    /// The gateway missed a threshold.
    case fail = "FAIL"
    /// The run says nothing about the gateway.
    case invalid = "INVALID"

    /// 1 is for a run that did not take place.
    var exitCode: Int32 {
      switch self {
      case .pass: 0
      case .fail: 2
      case .invalid: 3
      }
    }
  }

  let outcome: Outcome
  /// What was missed, in words; empty for `pass`.
  let reasons: [String]

  /// What it says of a run's connections only, for runs that measure nothing else.
  static func ofConnections(_ figures: Figures) -> Verdict {
    var faults = connectionFaults(figures, Thresholds())
    if figures.connected < figures.clients {
      faults.insert("\(figures.connected) of \(figures.clients) clients were connected", at: 0)
    }
    return Verdict(outcome: faults.isEmpty ? .pass : .fail, reasons: faults)
  }

  init(outcome: Outcome, reasons: [String]) {
    self.outcome = outcome
    self.reasons = reasons
  }

  /// Lost, refused and broken are the gateway's faults, however busy the tool was. Slow and few are not, where the tool
  /// was the bottleneck: then the run is invalid. So is one in which nothing was delivered to measure.
  init(_ figures: Figures, _ thresholds: Thresholds) {
    var faults = Self.connectionFaults(figures, thresholds)
    func atMost<N: BinaryInteger>(_ value: N, _ limit: N?, _ name: String) {
      if let limit, value > limit { faults.append("\(value) \(name) (at most \(limit))") }
    }
    atMost(figures.gaps, thresholds.maxGaps, "gaps")
    atMost(figures.missing, thresholds.maxMissing, "missing frames")
    // More frames than were sent: the gateway counts wrongly.
    if figures.missing < 0 { faults.append("\(-figures.missing) more frames came than heartbeats counted") }
    atMost(figures.resyncs, thresholds.maxResyncs, "resyncs")
    atMost(figures.announcedLost, thresholds.maxAnnouncedLost, "announced losses")

    var doubts: [String] = []
    if figures.toolCPUFraction > thresholds.maxToolCPU {
      doubts.append(
        "the load test itself was the bottleneck: it used \(Decimal.text(figures.toolCPUFraction, digits: 2)) of its core "
          + "(at most \(Decimal.text(thresholds.maxToolCPU, digits: 2)))")
    }
    if figures.deliveries == 0 { doubts.append("nothing was delivered in the measured time") }
    if figures.fromTheFuture * 100 > figures.updates {
      doubts.append(
        "\(figures.fromTheFuture) of \(figures.updates) updates came before they were published: two clocks disagree")
    }

    var missed: [String] = []
    func slower(_ percentile: Double, _ limit: Double?, _ name: String) {
      guard let limit, figures.latency.totalCount > 0 else { return }
      let value = Double(figures.latency.valueAtPercentile(percentile)) / 1_000
      if value > limit { missed.append("\(name) \(Self.milliseconds(value)) (at most \(Self.milliseconds(limit)))") }
    }
    slower(50, thresholds.maxP50, "p50")
    slower(99, thresholds.maxP99, "p99")
    slower(99.9, thresholds.maxP999, "p99.9")
    if let least = thresholds.minDeliveriesPerSecond, figures.deliveriesPerSecond < least {
      missed.append(
        "\(Decimal.text(figures.deliveriesPerSecond, digits: 0)) deliveries/s (at least \(Decimal.text(least, digits: 0)))"
      )
    }
    if let most = thresholds.maxCPUPerDelivery {
      if let value = figures.cpuPerDelivery {
        if value > most {
          missed.append(
            "\(Decimal.text(value, digits: 0)) ns of CPU a delivery (at most \(Decimal.text(most, digits: 0)))")
        }
      } else {
        doubts.append("the gateway's CPU time is not known: give --pid")
      }
    }

    if !faults.isEmpty {
      self.init(outcome: .fail, reasons: faults + missed + doubts)
    } else if !doubts.isEmpty {
      self.init(outcome: .invalid, reasons: doubts + missed)
    } else {
      self.init(outcome: missed.isEmpty ? .pass : .fail, reasons: missed)
    }
  }

  /// The worst of several runs; reasons say which run they are of.
  init(worstOf verdicts: [Verdict]) {
    let order: [Outcome] = [.pass, .invalid, .fail]
    let worst = verdicts.map(\.outcome).max { order.firstIndex(of: $0)! < order.firstIndex(of: $1)! } ?? .invalid
    let reasons =
      verdicts.count == 1
      ? verdicts[0].reasons
      : verdicts.enumerated().flatMap { index, verdict in verdict.reasons.map { "run \(index + 1): \($0)" } }
    self.init(outcome: worst, reasons: verdicts.isEmpty ? ["nothing was run"] : reasons)
  }

  private static func connectionFaults(_ figures: Figures, _ thresholds: Thresholds) -> [String] {
    var faults: [String] = []
    func atMost(_ value: UInt64, _ limit: UInt64, _ name: String) {
      if value > limit { faults.append("\(value) \(name) (at most \(limit))") }
    }
    atMost(figures.refused, thresholds.maxRefused, "refused subscriptions")
    atMost(figures.errors, thresholds.maxErrors, "errors")
    atMost(figures.protocolErrors, 0, "protocol errors")
    // The gateway closes slow clients by design.
    let ended = figures.disconnected >= figures.slowDisconnected ? figures.disconnected - figures.slowDisconnected : 0
    atMost(ended, thresholds.maxDisconnected, "clients that were cut off")
    if !faults.isEmpty, !figures.firstError.isEmpty { faults.append("first: \(figures.firstError)") }
    return faults
  }

  /// `3.21 ms`.
  static func milliseconds(_ value: Double) -> String { Decimal.text(value, digits: value < 10 ? 2 : 1) + " ms" }

  /// One line: `PASS  1000 clients, 45210 deliveries/s, p99 3.21 ms`, or the outcome and its reasons.
  func line(_ figures: Figures?) -> String {
    var text = outcome.rawValue
    if let figures {
      text += "  \(figures.clients) clients"
      if figures.seconds > 0 { text += ", \(Decimal.text(figures.deliveriesPerSecond, digits: 0)) deliveries/s" }
      if figures.latency.totalCount > 0 {
        text += ", p99 \(Self.milliseconds(Double(figures.latency.valueAtPercentile(99)) / 1_000))"
      }
    }
    if !reasons.isEmpty { text += ": " + reasons.joined(separator: "; ") }
    return text + "\n"
  }

  var json: JSONObject {
    var object = JSONObject()
    object["outcome"] = .text(outcome.rawValue)
    object["exit_code"] = .integer(Int64(outcome.exitCode))
    object["reasons"] = .texts(reasons)
    return object
  }
}
