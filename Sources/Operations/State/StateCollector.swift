import Access
import Bytes
import HTTP1
import HTTPAPI
import History
import MarketData
import PubSub
import Recordings
import Transport

/// Gathers the `StateDocument` from all loops. On loop 0.
package final class StateCollector: @unchecked Sendable {
  // `@unchecked`: made before the loops begin, used on its node's loop only from then on.

  private unowned let gateway: any OperatedGateway
  private let paces: [PaceMeter]
  /// Monotonic µs.
  private let startedAt: Int64
  private let history: HistoryKeeper?
  private let events: EventLog?
  private let tls: TLSServerContext?
  private let recorders: () -> [RecordingFigures]
  /// The processor time of the process, s, and the time of that measurement, monotonic ns; and the cores used between
  /// the last two.
  private var processor: (seconds: Double, at: UInt64)?
  private var cores: Double?

  /// - Parameters:
  ///   - gateway: as loop 0 sees it.
  ///   - loops: all of them, in the order of their indices.
  ///   - startedAt: the start of the gateway, monotonic µs.
  package init(
    gateway: any OperatedGateway, loops: [any OperatedLoop], startedAt: Int64, history: HistoryKeeper?,
    events: EventLog?, tls: TLSServerContext?, recorders: @escaping () -> [RecordingFigures]
  ) {
    self.tls = tls
    self.recorders = recorders
    self.gateway = gateway
    self.startedAt = startedAt
    self.history = history
    self.events = events
    paces = loops.map { PaceMeter($0) }
  }

  /// Begins to measure the pace of the loops. From anywhere, once.
  package func start() {
    for pace in paces { pace.start() }
    // A simulated kernel has no process, and its runs must be repeatable.
    guard gateway.loop.kernel is SystemKernel else { return }
    gateway.loop.execute { [self] in
      lookAtProcessor()
      gateway.loop.scheduleRepeating(every: .seconds(1)) { [self] in lookAtProcessor() }
    }
  }

  private func lookAtProcessor() {
    let now = (seconds: ProcessFigures.cpuSecondsNow, at: gateway.loop.uptime)
    if let before = processor, now.at > before.at {
      cores = (now.seconds - before.seconds) / (Double(now.at - before.at) / 1e9)
    }
    processor = now
  }

  package func gather(_ body: @escaping (StateDocument) -> Void) {
    gateway.askLoops { [paces] loop in
      loop.state(paces[loop.loop.index].pace)
    } then: { [self] parts in
      body(document(parts))
    }
  }

  private func document(_ parts: [NodeState]) -> StateDocument {
    let identity = gateway.identity
    let process = gateway.loop.kernel is SystemKernel ? ProcessFigures.current : nil
    let health = Health(
      feeds: gateway.hub.feeds, required: gateway.readyFeeds, isDraining: gateway.isDraining,
      historyFailure: history?.figures.failure)
    return StateDocument(
      now: gateway.now(),
      process: .init(
        node: identity.node, epoch: identity.epoch,
        uptimeSeconds: (gateway.loop.moment - startedAt) / Microseconds.second, figures: process, cores: cores),
      health: health, limits: limits(process), certificateExpiry: tls?.certificates.map(\.expiry).min(),
      recordingFailure: recorders().lazy.compactMap(\.pausedBy).first,
      refused: zip(Refusal.allCases, gateway.admission.figures.refusals).filter { $0.1 > 0 }
        .map { ($0.0.rawValue, $0.1) },
      parts: parts, events: events?.entries ?? [])
  }

  private func limits(_ process: ProcessFigures?) -> [StateDocument.Limit] {
    let admission = gateway.admission
    var limits = [
      StateDocument.Limit(
        name: "limits.clients", used: admission.figures.connections, limit: admission.limits.connections),
      StateDocument.Limit(
        name: "limits.total-queued-bytes", used: admission.budget.total, limit: admission.budget.limit),
    ]
    if let process, let open = process.openDescriptors {
      limits.append(StateDocument.Limit(name: "descriptors", used: open, limit: process.descriptorLimit))
    }
    if let history {
      limits.append(
        StateDocument.Limit(name: "history items", used: history.figures.queued, limit: HistoryKeeper.limit))
    }
    return limits
  }
}
