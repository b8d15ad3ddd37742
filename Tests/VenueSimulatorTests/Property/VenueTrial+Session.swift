import Bytes
import MarketData
import Venues

@testable import VenueSimulator

/// The client's half of a trial: connecting, waiting, asking.
extension VenueTrial {
  func act() {
    switch phase {
    case .waiting(let until):
      guard now >= until else { return }
      phase = .preparing(since: now)
      pipeline.prepare(now: now)
      settle()
    case .preparing(let since):
      tick()
      if pipeline.engine.isPrepared {
        phase = .connecting(at: now + 2 * streamLatency + simulated.handshakeDelay)
      } else if now - since > 30 * Microseconds.second {
        lost("no instruments")
      }
    case .connecting(let at):
      guard now >= at, !simulated.isSilent else { return }
      connect()
    case .open:
      tick()
      guard case .open = phase else { return }
      if case .dead(let reason) = watch.check(now: now, expectsMarket: pipeline.engine.expectsMarket) {
        return lost(reason)
      }
      if watch.isProbeDue(now: now) {
        watch.probed(now: now)
        send { [unowned self] session in
          simulated.receivedPing(from: session)
          guard !session.isEnded, !session.isHalfOpen, !simulated.isSilent else { return }
          inbound.append((now + streamLatency, .pong))
        }
      }
    }
    if pipeline.market.nextDeadline <= now {
      pipeline.advance(now: now)
      settle()
    }
  }

  private func tick() {
    guard now >= nextTick else { return }
    nextTick = now + 250 * Microseconds.millisecond
    pipeline.tick(now: now)
    settle()
  }

  private func connect() {
    let (path, query) = Self.target(of: pipeline.engine.url)
    do throws(SimulatedRefusal) {
      session = try simulated.open(path: path, query: query)
    } catch {
      return lost("refused \(error.status) \(error.reason)")
    }
    figures.connections += 1
    connection = Connection()
    phase = .open
    watch = ConnectionWatch(staleAfter: venue.staleAfter, now: now)
    streamLatency = Int64.random(in: 1_000...60_000, using: &random)
    note("connected")
    pipeline.connected(now: now)
    settle()
  }

  func lost(_ reason: String) {
    note("lost: \(reason)")
    if let session { simulated.close(session) }
    session = nil
    inbound.removeAll()
    outbound.removeAll()
    pendingTruth = nil
    references.removeAll()
    strikes.removeAll()
    if !connection.lost.isEmpty { loss = .never }
    connection = Connection()
    pipeline.disconnected(now: now)
    failures += 1
    phase = .waiting(until: now + Int64.random(in: 200_000...(1_000_000 << min(failures, 3)), using: &random))
    settle()
    for state in pipeline.market.instruments where state.bookState == .live {
      report("\(state.instrument.symbol) calls itself live without a connection")
    }
  }

  func settle() {
    for state in pipeline.market.instruments where state.bookState == .live && state.book.isCrossed {
      report("\(state.instrument.symbol) calls itself live and is crossed")
    }
    for change in pipeline.changes.items {
      guard case .bookState(let id, let state) = change else { continue }
      if case .syncing(let reason?) = state, reason != .disconnected { figures.resyncs += 1 }
      note("\(pipeline.market[id].instrument.symbol) \(state)")
      if state == .live {
        pipeline.accepted(String(pipeline.market[id].instrument.symbol.drop { $0 != ":" }.dropFirst()))
      }
    }
    checkLive()
    pipeline.clear()
    for action in pipeline.takeActions() {
      switch action {
      case .send(let text):
        note("send \(text.prefix(160))")
        checkPace(text)
        guard !isLost(text) else { continue }
        send { [unowned self] session in simulated.receive(text, from: session) }
      case .get(let request, let path, _):
        note("get \(request) \(path.prefix(100))")
        get(request, path)
      case .reconnect(let reason), .renew(let reason, _): lost(reason)
      case .symbolFailed(let symbol, let reason): symbolFailed(symbol, reason)
      case .symbolAccepted(let symbol):
        note("accepted \(symbol)")
        pipeline.accepted(symbol)
      case .maintenance(let isOn): note("maintenance \(isOn)")
      }
    }
  }

  private func get(_ request: Int, _ text: String) {
    let (path, query) = Self.target(of: text)
    let due = now + restLatency / 2
    outbound.append((due, { [unowned self] in ask(request, path, query) }))
  }

  private func ask(_ request: Int, _ path: String, _ query: [(name: String, value: String)]) {
    let delay = simulated.delay(path: path, query: query)
    let response = simulated.respond(path: path, query: query)
    inbound.append((now + delay + restLatency / 2, .response(request: request, response)))
  }

  /// The path and the decoded query of a URL.
  static func target(of url: String) -> (String, [(name: String, value: String)]) {
    var rest = url[...]
    if let scheme = url.firstRange(of: "://") {
      let host = url[scheme.upperBound...]
      rest = host[(host.firstIndex(of: "/") ?? host.endIndex)...]
    }
    let parts = rest.split(separator: "?", maxSplits: 1)
    let items = parts.count < 2 ? [] : parts[1].split(separator: "&")
    let query = items.map { item in
      let pair = item.split(separator: "=", maxSplits: 1)
      return (name: decoded(pair[0]), value: pair.count > 1 ? decoded(pair[1]) : "")
    }
    return (parts.first.map(String.init) ?? "/", query)
  }

  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
