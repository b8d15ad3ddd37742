import Histogram
import Testing

@testable import tidegate_load

/// Figures of runs that never took place.
enum ScriptedRun {
  /// A good run of 10 s: 100 clients, 10,000 updates of 1 ms, and 100 of 20 ms.
  static func good(_ change: (inout Figures) -> Void = { _ in }) -> Figures {
    var figures = Figures()
    figures.label = "gateway"
    figures.clients = 100
    figures.connected = 100
    figures.streamsPerClient = 3
    figures.seconds = 10
    figures.updates = 10_100
    figures.deliveries = 10_200
    figures.snapshots = 100
    _ = figures.latency.record(1_000, count: 10_000)
    _ = figures.latency.record(20_000, count: 100)
    figures.serverCPU = 10_200 * 2_000
    figures.toolCPU = 2_000_000_000
    change(&figures)
    return figures
  }
}

@Suite("Verdict of a load test")
struct VerdictTests {
  private static func verdict(
    _ thresholds: Thresholds = Thresholds(), _ change: (inout Figures) -> Void
  ) -> Verdict {
    Verdict(ScriptedRun.good(change), thresholds)
  }

  @Test("a run without a fault passes, with its figures in one line")
  func good() {
    let verdict = Self.verdict { _ in }
    #expect(verdict == Verdict(outcome: .pass, reasons: []))
    #expect(verdict.outcome.exitCode == 0)
    #expect(verdict.line(ScriptedRun.good()) == "PASS  100 clients, 1020 deliveries/s, p99 1.00 ms\n")
  }

  @Test("whatever was lost, refused or broken fails, and the line says how often")
  func faults() {
    let faults: [((inout Figures) -> Void, String)] = [
      ({ $0.refused = 300 }, "300 refused subscriptions (at most 0)"), ({ $0.gaps = 1 }, "1 gaps (at most 0)"),
      ({ $0.missing = 7 }, "7 missing frames (at most 0)"),
      ({ $0.missing = -2 }, "2 more frames came than heartbeats counted"),
      ({ $0.errors = 4 }, "4 errors (at most 0)"), ({ $0.protocolErrors = 1 }, "1 protocol errors (at most 0)"),
      ({ $0.disconnected = 5 }, "5 clients that were cut off (at most 0)"),
    ]
    for (change, reason) in faults {
      let verdict = Self.verdict { change(&$0) }
      #expect(verdict == Verdict(outcome: .fail, reasons: [reason]))
      #expect(verdict.outcome.exitCode == 2)
      #expect(verdict.line(nil) == "FAIL: \(reason)\n")
    }
  }

  @Test("the first error that a peer gave stands in the line")
  func firstError() {
    let verdict = Self.verdict {
      $0.refused = 1
      $0.firstError = "\"code\":\"unknown_symbol\""
    }
    #expect(verdict.reasons.last == "first: \"code\":\"unknown_symbol\"")
  }

  @Test("each threshold that is given is kept or missed; its own value is kept")
  func thresholds() {
    func missed(_ change: (inout Thresholds) -> Void) -> [String] {
      var thresholds = Thresholds()
      change(&thresholds)
      return Self.verdict(thresholds) {
        $0.resyncs = 3
        $0.announcedLost = 9
      }.reasons
    }
    #expect(missed { $0.maxResyncs = 3 } == [])
    #expect(missed { $0.maxResyncs = 2 } == ["3 resyncs (at most 2)"])
    #expect(missed { $0.maxAnnouncedLost = 8 } == ["9 announced losses (at most 8)"])
    #expect(missed { $0.maxP50 = 1 } == [])
    #expect(missed { $0.maxP50 = 0.5 } == ["p50 1.00 ms (at most 0.50 ms)"])
    #expect(missed { $0.maxP99 = 0.9 } == ["p99 1.00 ms (at most 0.90 ms)"])
    #expect(missed { $0.maxP999 = 15 }.first?.hasPrefix("p99.9 20.0 ms") == true)
    #expect(missed { $0.minDeliveriesPerSecond = 1_020 } == [])
    #expect(missed { $0.minDeliveriesPerSecond = 1_021 } == ["1020 deliveries/s (at least 1021)"])
    #expect(missed { $0.maxCPUPerDelivery = 2_000 } == [])
    #expect(missed { $0.maxCPUPerDelivery = 1_999 } == ["2000 ns of CPU a delivery (at most 1999)"])
  }

  @Test("a run that says nothing about the gateway is invalid, not good")
  func invalid() {
    let doubts: [((inout Figures) -> Void, String)] = [
      (
        { $0.toolCPU = 9_700_000_000 },
        "the load test itself was the bottleneck: it used 0.97 of its core (at most 0.90)"
      ),
      ({ $0.deliveries = 0 }, "nothing was delivered in the measured time"),
      ({ $0.fromTheFuture = 102 }, "102 of 10100 updates came before they were published: two clocks disagree"),
    ]
    for (change, reason) in doubts {
      let verdict = Self.verdict { change(&$0) }
      #expect(verdict == Verdict(outcome: .invalid, reasons: [reason]))
      #expect(verdict.outcome.exitCode == 3)
    }
    let verdict = Self.verdict(Thresholds(maxCPUPerDelivery: 1)) { $0.serverCPU = nil }
    #expect(verdict.outcome == .invalid)
  }

  @Test("with the tool as the bottleneck, slow is nobody's fault; lost still is the gateway's")
  func toolBound() {
    let slow = Self.verdict(Thresholds(maxP99: 0.1)) { $0.toolCPU = 9_700_000_000 }
    #expect(slow.outcome == .invalid && slow.reasons.count == 2)
    let lost = Self.verdict {
      $0.toolCPU = 9_700_000_000
      $0.gaps = 1
    }
    #expect(lost.outcome == .fail && lost.reasons.count == 2)
  }

  @Test("slow clients may be told to go; others may not")
  func slowClients() {
    let verdict = Self.verdict {
      $0.slowClients = 5
      $0.disconnected = 5
      $0.slowDisconnected = 5
    }
    #expect(verdict.outcome == .pass)
  }

  @Test("of several runs the worst counts, and each reason says of which it is")
  func worst() {
    let pass = Verdict(outcome: .pass, reasons: [])
    let invalid = Verdict(outcome: .invalid, reasons: ["i"])
    let fail = Verdict(outcome: .fail, reasons: ["f"])
    #expect(Verdict(worstOf: [pass, pass]) == pass)
    #expect(Verdict(worstOf: [pass, invalid]) == Verdict(outcome: .invalid, reasons: ["run 2: i"]))
    #expect(Verdict(worstOf: [fail, invalid, pass]) == Verdict(outcome: .fail, reasons: ["run 1: f", "run 2: i"]))
    #expect(Verdict(worstOf: []).outcome == .invalid)
  }

  @Test("connections alone are judged where nothing else is measured")
  func idle() {
    #expect(Verdict.ofConnections(ScriptedRun.good { $0.deliveries = 0 }).outcome == .pass)
    #expect(Verdict.ofConnections(ScriptedRun.good { $0.connected = 99 }).outcome == .fail)
    #expect(Verdict.ofConnections(ScriptedRun.good { $0.disconnected = 1 }).outcome == .fail)
  }

  @Test("the memory of a client is known of a gateway that has just begun, and of the process that was meant")
  func freshness() {
    func metrics(_ clients: Int, _ started: Double) -> String {
      "# TYPE x gauge\ntidegate_clients_total \(clients)\nprocess_start_time_seconds \(started)\n"
    }
    #expect(Freshness(metrics: metrics(0, 1_000.5), started: 1_000.51) == .fresh)
    #expect(Freshness(metrics: metrics(7, 1_000.5), started: 1_000.5) == .used(clients: 7))
    for metrics in [nil, "", metrics(0, 2_000)] as [String?] {
      guard case .unknown = Freshness(metrics: metrics, started: 1_000.5) else {
        Issue.record("\(metrics ?? "nil") is enough to know")
        continue
      }
    }
    let used = ScriptedRun.good {
      $0.residentBefore = 10_000
      $0.residentIdle = 110_000
      $0.freshness = .used(clients: 3)
    }
    #expect(used.residentPerClient == nil)
    #expect(used.json.text.contains("\"rss_per_client_unknown\":\"the gateway has had 3 clients before"))
    var fresh = used
    fresh.freshness = .fresh
    #expect(fresh.residentPerClient == 1_000)
  }
}
