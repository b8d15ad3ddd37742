import MarketData
import TestSupport

@testable import VenueSimulator
@testable import Venues

/// The rules of `FeedEngine`, each looked at from outside: by what the feed shows and sends, and by what its venue has
/// heard.
extension VenueTrial {
  /// What is known of a connection.
  struct Connection {
    /// Instruments whose books the venue has heard to be wanted.
    var heard: Set<Int> = []
    /// When requests that name markets were sent, in the last span of the venue's pacing.
    var requests: [Timestamp] = []
    /// Requests that would begin something.
    var begun = 0
    /// How often each request was lost on its way.
    var lost: [String: Int] = [:]
  }

  // MARK: 1 and 4: what is live

  /// A book that calls itself live has been heard to be wanted, its data has come, and the feed has not given it up
  /// without a reset.
  func checkLive() {
    for index in wanted {
      guard let id = marketID(of: index), pipeline.market[id].bookState == .live else { continue }
      if references[index] == nil {
        report("\(name(index)) calls itself live, and nothing of its book has come")
      } else if !isHeard(index), !struck.contains(index) || !isRefusedInSilence {
        // Where a name that is refused is acknowledged all the same, nothing tells it from a quiet market.
        report("\(name(index)) calls itself live, and the venue has not heard of its subscription")
      } else if !pipeline.engine.books.isLive(id.index) {
        report("\(name(index)) calls itself live, and its feed has given it up without a reset")
      }
    }
  }

  private var isRefusedInSilence: Bool { oversight.refusal == .forGood || oversight.refusal == .bySilence }

  private func isHeard(_ index: Int) -> Bool {
    if connection.heard.contains(index) { return true }
    guard let session else { return false }
    for stream in simulated.streams(of: session) where oversight.isBook(stream) {
      connection.heard.insert(stream.instrument)
    }
    return connection.heard.contains(index)
  }

  // MARK: 2: requests that are not answered

  /// What becomes of the requests of the first connection.
  enum Loss {
    case never
    /// One is lost: it must be sent again.
    case once
    /// One is lost as often as it is sent, so that nothing but another connection helps. Where a request has all
    /// channels of its symbols, all are.
    case always
  }

  /// Has requests of the first connection get lost.
  func loseRequests() {
    isAboutRequests = true
    loss = Bool.random(using: &random) ? .once : .always
    guard let asked, !isGrouped else { return }
    let channels = asked.count / wanted.count
    let isEach = if case .topic = pipeline.engine.facts.pacing.grouping { true } else { false }
    lossFrom = Int.random(in: 1...(isEach ? asked.count : channels), using: &random)
  }

  /// Whether a request gets lost on its way.
  func isLost(_ text: String) -> Bool {
    guard loss != .never, namesMarket(text), !text.lowercased().contains("unsub") else { return false }
    // Without the numbers that each request has of its own.
    let shape = text.filter { !$0.isNumber }
    connection.begun += 1
    if connection.lost[shape] == nil {
      guard connection.begun == lossFrom || isGrouped && loss == .always else { return false }
    } else if loss == .once {
      return false
    }
    connection.lost[shape, default: 0] += 1
    mostLost = max(mostLost, connection.lost[shape]!)
    // The venue is not to blame the client for its silence.
    session?.wasUnheard = true
    note("lost on its way: \(text.prefix(160))")
    return true
  }

  /// Whether one request has all channels of its symbols.
  private var isGrouped: Bool {
    if case .symbols = pipeline.engine.facts.pacing.grouping { true } else { false }
  }

  /// One that was sent so often has been told of; but where a symbol was refused meanwhile, it may be asked for anew.
  func checkTold() {
    guard mostLost >= RequestDeadline.attempts, struck.isEmpty,
      !pipeline.errors.counts.contains(where: { $0.kind == .unanswered })
    else { return }
    report("a request was sent \(mostLost) times on one connection, and nobody was told that it got no answer")
  }

  /// What the venue has the feed subscribed to, of the symbols that it carries.
  var subscriptions: Set<SimulatedStream> {
    Set(session.map { simulated.streams(of: $0) } ?? []).filter { wanted.contains($0.instrument) }
  }

  /// Whether the venue sends all that the feed wants of the symbols that it does not refuse for good.
  var isSubscribed: Bool {
    guard let asked else { return true }
    let streams = subscriptions
    return asked.allSatisfy { stream in
      // A book that stays silent is missed; nobody misses other channels that do.
      let isMissed = !isRefusedInSilence || !struck.contains(stream.instrument) || oversight.isBook(stream)
      return refused.contains(stream.instrument) || !isMissed || streams.contains(stream)
    }
  }

  // MARK: 3: what is refused

  /// Has the venue refuse one channel of a symbol for a while: at the beginning, when it is asked for.
  func refuseOneChannel() {
    guard oversight.refusal == .byChannel || oversight.refusal == .byRequest, let asked else { return }
    isAboutRequests = true
    let stream = asked.sorted { ($0.instrument, $0.channel) < ($1.instrument, $1.channel) }.randomElement(
      using: &random)!
    inject(
      Fault(
        .refuse, symbol: symbol(stream.instrument), channel: stream.channel,
        seconds: Double.random(in: 5...20, using: &random)))
    if oversight.refusal == .byRequest || oversight.isBook(stream) { struck.insert(stream.instrument) }
  }

  /// A refused symbol is one that the venue has refused, by its book.
  func symbolFailed(_ symbol: String, _ reason: String) {
    note("failed \(symbol): \(reason)")
    if let index = simulated.market.index(named: symbol), !struck.contains(index) {
      report("\(symbol) counts as refused, and the venue has not refused it: \(reason)")
    }
    _ = pipeline.refused(symbol, now: now)
  }

  // MARK: 5: how fast requests go out

  /// No span of the venue's pacing has more requests than that allows.
  func checkPace(_ text: String) {
    let pacing = pipeline.engine.facts.pacing
    guard pacing.every > 0, namesMarket(text) else { return }
    connection.requests.removeAll { now - $0 >= pacing.every }
    connection.requests.append(now)
    guard connection.requests.count > pacing.atOnce else { return }
    report("\(connection.requests.count) requests in \(pacing.every / 1_000) ms, where \(pacing.atOnce) may be sent")
  }

  private func namesMarket(_ text: String) -> Bool {
    let text = text.lowercased()
    return wanted.contains { text.contains(simulated.market.instruments[$0].instrument.venueSymbol.lowercased()) }
  }
}
