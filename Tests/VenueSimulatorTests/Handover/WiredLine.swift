import Bytes
import MarketData
import Venues

@testable import VenueSimulator

/// A pipeline's connection to a simulated venue, with latency, without sockets or clocks. Its owner moves time.
final class WiredLine {
  /// Where messages go; another pipeline, once another one has taken this one's engine.
  var pipeline: FeedPipeline
  /// After every call of the pipeline.
  var settled: () -> Void = {}
  /// Whether a message gets to the venue.
  var isHeard: (_ text: String) -> Bool = { _ in true }
  private(set) var problems: [String] = []
  /// Weight and count of REST requests, by the minute of the venue's clock.
  private(set) var requests: [(at: Timestamp, path: String)] = []
  /// Requests to the venue over the socket.
  private(set) var messagesSent: [(at: Timestamp, text: String)] = []
  private(set) var isClosed = false
  private(set) var refusals: [String: String] = [:]
  private(set) var isLeaving = false

  private let simulated: SimulatedVenue
  private let latency: Int64
  private let restLatency: Int64
  private var session: SimulatedSession?
  private var inbound: [(due: Timestamp, body: () -> Void)] = []
  private var nextTick: Timestamp
  private var now: Timestamp
  private var hasBegun = false

  init(_ pipeline: FeedPipeline, _ simulated: SimulatedVenue, latency: Int64, restLatency: Int64) {
    self.pipeline = pipeline
    self.simulated = simulated
    self.latency = latency
    self.restLatency = restLatency
    now = simulated.now
    nextTick = simulated.now
  }

  var isOpen: Bool { session != nil && !isClosed }

  /// Everything that is due by `time`; the venue has been moved there already.
  func advance(to time: Timestamp) {
    guard !isClosed else { return }
    now = time
    if !hasBegun {
      hasBegun = true
      pipeline.prepare(now: now)
      settle()
    }
    if session == nil, pipeline.engine.isPrepared { connect() }
    collect()
    while let index = inbound.firstIndex(where: { $0.due <= now }), !isClosed {
      inbound.remove(at: index).body()
    }
    if now >= nextTick, !isClosed {
      nextTick = now + 250 * Microseconds.millisecond
      pipeline.tick(now: now)
      settle()
    }
    if pipeline.market.nextDeadline <= now {
      pipeline.advance(now: now)
      settle()
    }
  }

  func close() {
    isClosed = true
    inbound.removeAll()
    if let session { simulated.close(session) }
  }

  private func connect() {
    let (path, query) = VenueTrial.target(of: pipeline.engine.url)
    do throws(SimulatedRefusal) {
      session = try simulated.open(path: path, query: query)
    } catch {
      return problems.append("refused \(error.status) \(error.reason)")
    }
    pipeline.connected(now: now)
    settle()
  }

  private func collect() {
    guard let session else { return }
    for output in session.takeOutput() {
      inbound.append((now + latency, { [unowned self] in take(output) }))
    }
  }

  private func take(_ output: SimulatedOutput) {
    switch output {
    case .text(let payload):
      pipeline.receive(RawSpan(_unsafeBytes: payload.unsafeBytes), now: now)
      settle()
    case .ping(let payload):
      guard let session else { return }
      payload.withUnsafeBytes { simulated.receivedPong($0, from: session) }
    case .close(let code, let reason): problems.append("closed by the venue: \(code) \(reason)")
    case .abort: problems.append("cut by the venue")
    case .witness: break
    }
  }

  private func settle() {
    settled()
    for action in pipeline.takeActions() {
      switch action {
      case .send(let text):
        messagesSent.append((now, text))
        guard isHeard(text) else { continue }
        let at = now + latency
        inbound.append(
          (
            at,
            { [unowned self] in
              if let session { simulated.receive(text, from: session) }
              collect()
            }
          ))
      case .get(let request, let text, _):
        requests.append((now, text))
        let (path, query) = VenueTrial.target(of: text)
        inbound.append(
          (
            now + restLatency / 2,
            { [unowned self] in
              let response = simulated.respond(path: path, query: query)
              inbound.append(
                (
                  now + restLatency / 2,
                  { [unowned self] in
                    if response.status != 200 { problems.append("\(text) is answered \(response.status)") }
                    let body = Array(response.body.utf8)
                    pipeline.response(to: request, status: response.status, body: body.span.bytes, now: now)
                    settle()
                  }
                ))
            }
          ))
      case .reconnect(let reason): problems.append("asks for another connection: \(reason)")
      case .renew: isLeaving = true
      case .symbolFailed(let symbol, let reason): refusals[symbol] = reason
      case .symbolAccepted(let symbol): refusals[symbol] = nil
      case .maintenance: break
      }
    }
  }
}
