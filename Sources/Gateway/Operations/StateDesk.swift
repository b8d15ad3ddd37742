import Access
import Bytes
import MarketData
import PubSub
import Recordings
import Synchronization
import Transport

/// Shows operators the state of the gateway: collects the `StateDocument` from all loops while there are viewers,
/// encodes it once for all of them, and pushes it once a second. On loop 0.
final class StateDesk: @unchecked Sendable {
  // `@unchecked`: made before the loops begin, used on its node's loop only from then on.

  /// The largest number of simultaneous viewers.
  static let viewerLimit = 16
  /// A document younger than this is sent to all requesters, µs.
  private static let freshness: Int64 = 900_000

  private unowned let node: LoopNode
  private let paces: [NodePace]
  /// Monotonic µs.
  private let startedAt: Int64
  private let history: HistoryKeeper?
  private let events: EventLog?
  private let tls: TLSServerContext?
  private let recorders: () -> [RecordingFigures]
  private var viewers: [StateViewer] = []
  private var timer: LoopTimer?
  private var latest: (document: SharedBytes, at: Int64)?
  /// Requests that wait for the document that is being gathered.
  private var waiting: [(SharedBytes) -> Void] = []
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

  // MARK: Viewers

  /// Takes over a connection and sends it the document now and once a second. False at the limit of viewers.
  /// - Parameter ended: called once, when the connection is gone.
  func admit(_ connection: Connection, ended: @escaping () -> Void) -> Bool {
    node.loop.assertOnLoop()
    guard viewers.count < Self.viewerLimit else { return false }
    node.clients.remove(connection)
    let viewer = StateViewer(connection, date: node.httpDate) { [self] viewer in
      viewers.removeAll { $0 === viewer }
      if viewers.isEmpty {
        timer?.cancel()
        timer = nil
      }
      ended()
    }
    connection.handler = viewer
    viewers.append(viewer)
    line { [weak viewer] in viewer?.show($0) }
    if timer == nil {
      timer = node.loop.scheduleRepeating(every: .seconds(1)) { [self] in
        line { [self] document in for viewer in viewers { viewer.show(document) } }
      }
    }
    return true
  }

  /// Calls `body` with the present document, without its line feed.
  func document(_ body: @escaping ([UInt8]) -> Void) { line { body(Array($0.unsafeBytes.dropLast())) } }

  /// The same with the line feed.
  private func line(_ body: @escaping (SharedBytes) -> Void) {
    node.loop.assertOnLoop()
    if let latest, node.loop.moment - latest.at < Self.freshness { return body(latest.document) }
    waiting.append(body)
    if waiting.count == 1 { gather() }
  }

  private final class Parts { var all: [NodeState] = [] }

  private func gather() {
    let parts = Parts()
    for (loop, pace) in paces.enumerated() {
      node.ask(loop) {
        NodeState($0, pace)
      } then: { [self] part in
        parts.all.append(part)
        if parts.all.count == paces.count { finish(parts.all) }
      }
    }
  }

  private func finish(_ parts: [NodeState]) {
    let document = SharedBytes(document(parts).encode() + [UInt8(ascii: "\n")])
    latest = (document, node.loop.moment)
    let waiting = waiting
    self.waiting = []
    for body in waiting { body(document) }
  }

  private func document(_ parts: [NodeState]) -> StateDocument {
    let admission = node.settings.admission
    let figures = admission.figures
    let process = node.loop.kernel is SystemKernel ? ProcessFigures.current : nil
    var limits = [
      StateDocument.Limit(name: "limits.clients", used: figures.connections, limit: admission.limits.connections),
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
    return StateDocument(
      now: node.clock.now(), node: node.settings.node, epoch: node.settings.epoch,
      uptimeSeconds: (node.loop.moment - startedAt) / Microseconds.second,
      health: Health(
        feeds: node.hub.feeds, required: node.settings.readyFeeds, isDraining: node.isDraining,
        historyFailure: history?.figures.failure),
      limits: limits, certificateExpiry: tls?.certificates.map(\.expiry).min(),
      recordingFailure: recorders().lazy.compactMap(\.pausedBy).first,
      refused: zip(Refusal.allCases, figures.refusals).filter { $0.1 > 0 }.map { ($0.0.rawValue, $0.1) },
      process: process, cores: cores, parts: parts, events: events?.entries ?? [])
  }
}
