import Access
import Bytes
import HTTP1
import HTTPAPI
import MarketData
import Operations
import PubSub
import Recordings
import Transport

/// Gathers the `StateDocument` from all loops. On loop 0.
final class StateCollector: @unchecked Sendable {
  // `@unchecked`: made before the loops begin, used on its node's loop only from then on.

  private unowned let node: LoopNode
  private let paces: [NodePace]
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
  ///   - node: the node of loop 0, which knows the others when it begins.
  ///   - startedAt: the start of the gateway, monotonic µs.
  init(
    node: LoopNode, all nodes: [LoopNode], startedAt: Int64, history: HistoryKeeper?, events: EventLog?,
    tls: TLSServerContext?, recorders: @escaping () -> [RecordingFigures]
  ) {
    self.tls = tls
    self.recorders = recorders
    self.node = node
    self.startedAt = startedAt
    self.history = history
    self.events = events
    paces = nodes.map { NodePace($0) }
  }

  /// Begins to measure the pace of the loops. From anywhere, once.
  func start() {
    for pace in paces { pace.start() }
    // A simulated kernel has no process, and its runs must be repeatable.
    guard node.loop.kernel is SystemKernel else { return }
    node.loop.execute { [self] in
      lookAtProcessor()
      node.loop.scheduleRepeating(every: .seconds(1)) { [self] in lookAtProcessor() }
    }
  }

  private func lookAtProcessor() {
    let now = (seconds: ProcessFigures.cpuSecondsNow, at: node.loop.uptime)
    if let before = processor, now.at > before.at {
      cores = (now.seconds - before.seconds) / (Double(now.at - before.at) / 1e9)
    }
    processor = now
  }

  private final class Parts { var all: [NodeState] = [] }

  func gather(_ body: @escaping (StateDocument) -> Void) {
    let parts = Parts()
    for (loop, pace) in paces.enumerated() {
      node.ask(loop) {
        NodeState($0, pace.pace)
      } then: { [self] part in
        parts.all.append(part)
        if parts.all.count == paces.count { body(document(parts.all)) }
      }
    }
  }

  private func document(_ parts: [NodeState]) -> StateDocument {
    let settings = node.settings
    let process = node.loop.kernel is SystemKernel ? ProcessFigures.current : nil
    let health = Health(
      feeds: node.hub.feeds, required: settings.readyFeeds, isDraining: node.isDraining,
      historyFailure: history?.figures.failure)
    return StateDocument(
      now: node.clock.now(),
      process: .init(
        node: settings.node, epoch: settings.epoch, uptimeSeconds: (node.loop.moment - startedAt) / Microseconds.second,
        figures: process, cores: cores),
      health: health, limits: limits(process), certificateExpiry: tls?.certificates.map(\.expiry).min(),
      recordingFailure: recorders().lazy.compactMap(\.pausedBy).first,
      refused: zip(Refusal.allCases, settings.admission.figures.refusals).filter { $0.1 > 0 }
        .map { ($0.0.rawValue, $0.1) },
      parts: parts, events: events?.entries ?? [])
  }

  private func limits(_ process: ProcessFigures?) -> [StateDocument.Limit] {
    let admission = node.settings.admission
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
