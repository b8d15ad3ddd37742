import Bytes
import Foundation
import Gateway
import Logging
import MarketData
import Settings
import TestSupport
import Transport
import VenueSimulator

/// A whole gateway between simulated venues and scripted clients on a `FaultyTransport`, in one thread and on its
/// clock.
///
/// A run connects, subscribes, streams and breaks things for a while; then the network calms down, everyone settles,
/// the markets stand still, and what clients, the HTTP interface and the venues show is compared; then the gateway
/// drains. At every moment each client checks what it gets against the protocol.
package final class World {
  package let scenario: Scenario
  let network: FaultyTransport
  let gatewayHost: SimulatedHost
  var loops: [EventLoop] = []
  private var exchanges: [(venue: String, exchange: SimulatedExchange, loop: EventLoop)] = []
  var clients: [ScriptedClient] = []
  var gateway: Gateway?
  var observer: Operator!
  var faults: [String] = []
  private var report = Report()
  private var isStopped = false
  /// Faults of venues so far, and when they were first that many, ns.
  private var venueFaults = (count: 0, since: UInt64(0))

  static let second: UInt64 = 1_000_000_000
  /// The simulated market's book levels a side; a real one's hundreds only take time here.
  private static let levels = 40

  /// What became of a run.
  package struct Report: Sendable {
    /// Nothing where all is well: what was wrong, in words.
    package var faults: [String] = []
    package var network = NetworkStatistics()
    package var clients = ClientFigures()
    package var venueFaults = 0
    /// Connections that venues accepted, REST included.
    package var venueConnections = 0
    package var booksCompared = 0
    /// Gateways that sent their clients away over a while.
    package var drains = 0
    /// Connections to venues that were replaced by another before they were left, and changes that failed.
    package var linesReplaced = 0
    package var handoversFailed = 0
    /// Of the world's time, ns.
    package var span: UInt64 = 0
    /// The same for the same seed.
    package var hash: UInt64 = 0

    package mutating func add(_ other: Report) {
      faults += other.faults
      network.add(other.network)
      clients.add(other.clients)
      venueFaults += other.venueFaults
      venueConnections += other.venueConnections
      booksCompared += other.booksCompared
      drains += other.drains
      linesReplaced += other.linesReplaced
      handoversFailed += other.handoversFailed
      span += other.span
    }
    package init() {}
  }

  /// Runs the world of `scenario` from its beginning to its end.
  package static func run(_ scenario: Scenario, prints: Bool = false) -> Report {
    let world = World(scenario, prints: prints)
    world.run()
    return world.finish()
  }

  init(_ scenario: Scenario, prints: Bool) {
    self.scenario = scenario
    network = FaultyTransport(seed: scenario.seed, prints: prints)
    gatewayHost = network.host("10.0.0.1")
  }

  // MARK: - The course of a run

  private func run() {
    do {
      try build()
    } catch {
      return faults.append("the world could not be built: \(error)")
    }
    storm()
    guard goesOn else { return }
    if let plan = scenario.drain, plan.isInStorm { return drain(plan) }
    calm()
    guard goesOn else { return }
    compare()
    guard goesOn else { return }
    readMetrics()
    if let plan = scenario.drain { drain(plan) } else { stop() }
  }

  var goesOn: Bool { network.livelock == nil && faults.isEmpty }

  func build() throws {
    var log = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
    log.logLevel = .critical
    var configuration = GatewayConfiguration()
    configuration.listen = SocketAddress(host: gatewayHost.address, port: 8080)
    configuration.internalListen = SocketAddress(host: gatewayHost.address, port: 9090)
    configuration.heartbeatSeconds = 1
    configuration.reconnectLimitSeconds = 1
    configuration.node = "simulated"
    for (index, venue) in scenario.venues.enumerated() {
      let loop = network.loop(on: network.host("10.0.1.\(index + 1)"))
      let exchange = try SimulatedExchange(
        venue: venue, seed: scenario.seed &+ UInt64(index), rate: scenario.rate,
        excerpt: SimulatedExcerpt(
          symbols: scenario.bases.map { "\($0)-\(Self.quote(venue))" },
          levels: Array(repeating: Self.levels, count: scenario.bases.count)),
        faults: scenario.venueFaults[venue] ?? [],
        listen: SocketAddress(host: "10.0.1.\(index + 1)", port: 443), tls: nil, loop: loop, log: log)
      exchanges.append((venue, exchange, loop))
      configuration.feeds.append(
        .init(
          venue: venue, symbols: scenario.bases.map { "\($0)-\(Self.quote(venue))" }, endpoint: exchange.webSocketURL,
          restEndpoint: exchange.restURL))
    }
    loops = (0..<scenario.loops).map { network.loop(on: gatewayHost, index: $0) }
    let gateway = try Gateway(configuration: configuration, log: log, loops: loops)
    self.gateway = gateway
    try gateway.start()
    observer = Operator(network: network, host: network.host("10.0.3.1"))
    let market = ScriptedClient.Market(
      symbols: scenario.venues.flatMap { venue in scenario.bases.map { "\(venue):\($0)-\(Self.quote(venue))" } })
    var seeds = SeededGenerator(seed: scenario.seed ^ 0xC11E_4275)
    for index in 0..<scenario.clients {
      clients.append(
        ScriptedClient(
          name: "client \(index + 1)", network: network, host: network.host("10.0.2.\(index + 1)"), market: market,
          gateway: gateway.address, seed: seeds.next(), isSteady: scenario.isSteady, leisure: scenario.leisure))
    }
  }

  private static func quote(_ venue: String) -> String { ["binance", "okx"].contains(venue) ? "USDT" : "USD" }

  /// Everything goes wrong that may.
  private func storm() {
    network.faults = scenario.network
    for (index, client) in clients.enumerated() {
      network.schedule(after: UInt64(index) * 150_000_000) { client.start() }
    }
    for step in scenario.clockSteps {
      network.schedule(after: step.at) { [unowned self] in gatewayHost.wallError += step.by }
    }
    if let shortage = scenario.shortage {
      network.schedule(after: shortage.at) { [unowned self] in
        gatewayHost.descriptorLimit = gatewayHost.openDescriptors
        network.schedule(after: shortage.span) { [unowned self] in gatewayHost.descriptorLimit = 4_096 }
      }
    }
    network.run(for: scenario.storm)
  }

  /// The faults end. Everyone comes back, and every book is live.
  func calm() {
    network.faults = FaultRates()
    // What was planned for connections in the storm does not happen any more.
    network.faults.isOn = false
    gatewayHost.descriptorLimit = 4_096
    for client in clients { client.settle() }
    // A connection that died unseen shows after this.
    network.run(for: 4 * Self.second)
    let missing = settle(within: 150) { unsettled() }
    if !missing.isEmpty { faults.append("150 s after the last fault: \(missing)") }
  }

  /// Asks every second what is not as it should be, until nothing is; returns what is left after `limit` s.
  private func settle(within limit: Int, _ missing: () -> String) -> String {
    var last = "nothing was asked"
    for _ in 0..<limit where !last.isEmpty && goesOn {
      network.run(for: Self.second)
      last = missing()
    }
    return last
  }

  /// What is not as it should be once all is calm; empty if nothing.
  private func unsettled() -> String {
    for client in clients {
      guard client.isOpen else { return "\(client.name) is not connected" }
      let books = client.ledger.streams.values.filter { $0.channel == "book" }
      if books.isEmpty { return "\(client.name) has no book" }
      for (number, stream) in client.ledger.streams.sorted(by: { $0.key < $1.key })
      where stream.channel == "book" && stream.seq == nil {
        return "\(client.name) has no snapshot of stream \(number)"
      }
    }
    if venueFaultsAreRecent() { return "a venue's last fault is not long ago" }
    let books = unsettledBooks()
    return books.isEmpty ? unsettledFeeds(ageLimit: 2_500) : books
  }

  /// Whether a venue had a fault in the last seconds. A missing update shows with the next one of its instrument only.
  private func venueFaultsAreRecent() -> Bool {
    let count = exchanges.reduce(0) { $0 + $1.exchange.statistics.faultsInjected }
    if count != venueFaults.count { venueFaults = (count, network.uptime) }
    return network.uptime < venueFaults.since + 6 * Self.second
  }

  private func unsettledBooks() -> String {
    guard let answer = observer.get("/v1/instruments", from: gateway!.address), answer.status == 200,
      let list = answer.body.withUnsafeBytes({ JSON($0) })?["instruments"]?.elements
    else { return "/v1/instruments is not answered" }
    if list.count != scenario.venues.count * scenario.bases.count { return "\(list.count) instruments are known" }
    for item in list where item["state"]?.text != "live" {
      return "\(item["symbol"]?.text ?? "?") is \(item["state"]?.text ?? "?")"
    }
    return ""
  }

  /// - Parameter ageLimit: of the last message, in ms; nil where nothing has to come.
  private func unsettledFeeds(ageLimit: Int?) -> String {
    guard let status = observer.get("/v1/status", from: gateway!.address), status.status == 200,
      let feeds = status.body.withUnsafeBytes({ JSON($0) })?["feeds"]?.elements
    else { return "/v1/status is not answered" }
    for feed in feeds {
      guard feed["state"]?.text == "live", let age = feed["age_ms"]?.integer, age < ageLimit ?? .max else {
        return "\(feed["venue"]?.text ?? "?") is \(feed["state"]?.text ?? "?"), \(feed["age_ms"]?.integer ?? -1) ms old"
      }
    }
    return ""
  }

  /// The markets stand still: clients, the HTTP interface and the venues must show the same books.
  func compare() {
    var missing = comeToRest()
    for _ in 0..<4 where !missing.isEmpty && goesOn {
      // A feed lost its connection, or its loss came out, just then.
      missing = settle(within: 150) { unsettled() }
      if missing.isEmpty { missing = comeToRest() }
    }
    guard goesOn else { return }
    guard missing.isEmpty else { return faults.append("with the markets at rest, \(missing)") }
    let truth = truths()
    var shown: [String: (bids: [String], asks: [String])] = [:]
    for client in clients where client.isOpen {
      for (number, stream) in client.ledger.streams.sorted(by: { $0.key < $1.key }) where stream.channel == "book" {
        guard stream.seq != nil else { continue }
        let path = "/v1/books/\(stream.symbol)?depth=\(stream.depth == 0 ? "full" : "\(stream.depth)")"
        if shown[path] == nil {
          let answer = observer.get(path, from: gateway!.address)
          guard let answer, answer.status == 200, let body = answer.body.withUnsafeBytes({ JSON($0) }) else {
            faults.append(
              "\(path) is answered \(answer?.status ?? 0) \(String(decoding: answer?.body ?? [], as: UTF8.self))")
            return
          }
          shown[path] = (Self.texts(of: body["bids"]), Self.texts(of: body["asks"]))
          check(shown[path]!, of: stream.symbol, against: truth, path)
        }
        report.booksCompared += 1
        let mine = (
          stream.bids.map { "\($0.key)x\($0.value)" }.sorted(), stream.asks.map { "\($0.key)x\($0.value)" }.sorted()
        )
        if mine.0 != shown[path]!.bids.sorted() || mine.1 != shown[path]!.asks.sorted() {
          faults.append(
            "\(client.name)'s book of stream \(number) at \(stream.seq!) is not that of \(path): "
              + Self.difference(mine.0, shown[path]!.bids) + " " + Self.difference(mine.1, shown[path]!.asks))
          return
        }
      }
    }
  }

  func readMetrics() {
    let descriptors = gatewayHost.openDescriptors
    guard let answer = observer.get("/metrics", from: gateway!.internalAddress), answer.status == 200 else {
      return faults.append("/metrics is not answered")
    }
    for line in String(decoding: answer.body, as: UTF8.self).split(separator: "\n") {
      let count = line.split(separator: " ").last.flatMap { Int($0) } ?? 0
      if line.hasPrefix("tidegate_feed_handovers_total") {
        if line.contains("\"replaced\"") { report.linesReplaced += count } else { report.handoversFailed += count }
      } else if line.hasPrefix("tidegate_connections "), count > max(descriptors, gatewayHost.openDescriptors) {
        faults.append("the gateway counts \(count) connections and has \(descriptors) descriptors")
      }
    }
  }

  /// Nothing happens at the venues any more; what has happened is still sent, and arrives. What is not as it should be
  /// then: in that case the markets go on, since some books cannot be had from a market that stands still. Empty if
  /// nothing.
  private func comeToRest() -> String {
    let start = network.uptime
    moveMarkets(by: Microseconds.hour)
    network.run(for: 100_000_000)
    // A venue's connection may be so slow that much of what it has sent is still under way.
    carry("venues") { $0.isFrom(gatewayHost) }
    // Longer than the slowest rate class, and than it takes until a feed that is dead shows as stale.
    network.run(for: 6 * Self.second)
    carry("clients") { $0.isTo(gatewayHost) }
    guard goesOn else { return "" }
    var missing = venueFaultsAreRecent() ? "a venue's last fault is not long ago" : unsettledBooks()
    if missing.isEmpty { missing = unsettledFeeds(ageLimit: nil) }
    if missing.isEmpty, network.links.contains(where: { $0.isFrom(gatewayHost) && $0.isUnseenBreak }) {
      missing = "a feed has a dead connection"
    }
    if !missing.isEmpty { moveMarkets(by: Int64((network.uptime - start) / 1_000) - Microseconds.hour) }
    return missing
  }

  private func moveMarkets(by span: Int64) {
    for (_, exchange, _) in exchanges { exchange.inspect { $0.market.shift(by: span) } }
  }

  /// Lets time pass until what was sent on the connections of a kind has arrived: until each has carried nothing for a
  /// moment, in which its ends would have sent on what they had.
  private func carry(_ whose: String, _ concerns: (Link) -> Bool) {
    let limit: UInt64 = 1_800
    var looks: [Int: Int] = [:]
    let isDone = network.run(atMost: limit * Self.second) {
      var isDone = true
      for link in network.links where concerns(link) && !link.isBroken && !link.isOver {
        let count = looks[link.number] ?? 0
        if count == 3 { continue }
        looks[link.number] = link.isEmpty ? count + 1 : 0
        isDone = false
      }
      return isDone
    }
    if !isDone {
      faults.append("what \(whose) and gateway sent has not arrived \(limit) s after the markets stood still")
    }
  }

  private static func texts(of side: JSON?) -> [String] {
    (side?.elements ?? []).map { "\($0.elements.first?.text ?? "")x\($0.elements.last?.text ?? "")" }
  }

  private static func difference(_ mine: [String], _ theirs: [String]) -> String {
    let extra = Set(mine).subtracting(theirs).sorted()
    let missing = Set(theirs).subtracting(mine).sorted()
    return "has \(extra.prefix(4)) more and \(missing.prefix(4)) less"
  }

  /// The best ten levels a side of what the gateway shows are those of the venue itself.
  private func check(
    _ shown: (bids: [String], asks: [String]), of symbol: String,
    against truth: [String: (bids: [String], asks: [String])], _ path: String
  ) {
    guard let real = truth[symbol] else { return faults.append("\(symbol) is not at its venue") }
    let count = min(10, real.bids.count)
    if Self.plain(shown.bids.prefix(count)) != Self.plain(real.bids.prefix(count))
      || Self.plain(shown.asks.prefix(count)) != Self.plain(real.asks.prefix(count))
    {
      faults.append(
        "\(path) is not the venue's book: bids \(shown.bids.prefix(3)) and \(real.bids.prefix(3)), "
          + "asks \(shown.asks.prefix(3)) and \(real.asks.prefix(3))")
    }
  }

  /// Levels without the zeros at the end of their numbers, which one side may print and the other not.
  private static func plain(_ levels: ArraySlice<String>) -> [String] {
    levels.map { level in
      level.split(separator: "x").map { number in
        guard number.contains(".") else { return String(number) }
        var text = number
        while text.last == "0" { text = text.dropLast() }
        return String(text.last == "." ? text.dropLast() : text)
      }.joined(separator: "x")
    }
  }

  /// The best levels at the venues, by symbol.
  private func truths() -> [String: (bids: [String], asks: [String])] {
    let box = Truths()
    for (venue, exchange, _) in exchanges {
      exchange.inspect { simulated in
        for market in simulated.market.instruments {
          func text(_ levels: [PriceLevel]) -> [String] {
            levels.map { level in
              var out = ByteBuffer()
              out.append(decimal: level.price, scale: market.instrument.priceScale)
              out.append("x")
              out.append(decimal: level.size, scale: market.instrument.sizeScale)
              return out.description
            }
          }
          box.books["\(venue):\(market.instrument.symbol)"] = (
            text(market.book.top(.bid, 10)), text(market.book.top(.ask, 10))
          )
        }
      }
    }
    network.run(for: 100_000_000)
    return box.books
  }

  private final class Truths: @unchecked Sendable {
    // `@unchecked`: a world has one thread.
    var books: [String: (bids: [String], asks: [String])] = [:]
  }

  /// The gateway goes down at once: every client is told, and nothing stays behind.
  func stop() {
    for client in clients { client.leave() }
    network.run(for: 50_000_000)
    gateway!.stop(LoopCall { [unowned self] in isStopped = true }.body)
    if !network.run(atMost: 30 * Self.second, until: { isStopped }) {
      faults.append("the gateway is not down 30 s after it was asked to stop")
    }
    network.run(for: 3 * Self.second)
    nothingIsLeft()
  }

  /// The gateway sends its clients away over a while: each is told before, comes back in vain, and nothing stays
  /// behind.
  private func drain(_ plan: Scenario.Drain) {
    report.drains = 1
    for client in clients { client.expectDrain() }
    let start = network.uptime
    gateway!.drain(
      seconds: plan.seconds, handsOver: plan.handsOver, LoopCall { [unowned self] in isStopped = true }.body)
    if let stop = plan.stop {
      network.schedule(after: stop.at) { [unowned self] in
        network.stop(gatewayHost, for: stop.span)
        for client in clients { client.expectSilence(until: network.uptime + stop.span) }
      }
    }
    if !plan.isInStorm, !plan.handsOver { checkReadiness() }
    if plan.isCutShort {
      network.run(until: start + UInt64(plan.seconds) * Self.second / 2) { isStopped }
      // With their farewells a second later at the latest.
      gateway!.stop(within: .seconds(1)) {}
    }
    // The time in which its process stood still is not the gateway's.
    let limit = UInt64(plan.seconds + 2) + (plan.stop?.span ?? 0) / Self.second + 1
    network.run(until: start + limit * Self.second) { isStopped }
    guard isStopped else { return faults.append("the gateway is not down \(limit) s after the beginning of its drain") }
    // Those who did not read, or whose connection stood still, find out.
    network.faults = FaultRates()
    network.faults.isOn = false
    for client in clients { client.leave() }
    network.run(for: 3 * Self.second)
    _ = network.run(atMost: 120 * Self.second) { !clients.contains { $0.isConnected } }
    nothingIsLeft()
  }

  /// A gateway that drains says that it is not to be sent anyone, as long as it can.
  private func checkReadiness() {
    let answer = observer.get("/readyz", from: gateway!.internalAddress)
    if !isStopped, answer?.status != 503 {
      faults.append("a gateway that drains answers \(answer?.status ?? 0) to /readyz")
    }
  }

  private func nothingIsLeft() {
    if gatewayHost.openDescriptors != 0 {
      faults.append("\(gatewayHost.openDescriptors) descriptors of the gateway are open after its end")
    }
  }

  // MARK: - The end

  func finish() -> Report {
    network.faults.isOn = false
    for client in clients { client.end(isStopped) }
    network.run(for: 100_000_000)
    if let livelock = network.livelock { faults.append(livelock) }
    for client in clients {
      faults += client.faults
      report.clients.add(client.figures)
    }
    report.venueConnections = exchanges.reduce(0) { $0 + $1.exchange.statistics.connections }
    report.venueFaults = exchanges.reduce(0) { $0 + $1.exchange.statistics.faultsInjected }
    for (_, exchange, _) in exchanges { exchange.stop() }
    weak let leaked = gateway
    if !isStopped { gateway?.stop(within: .zero) {} }
    network.run(for: Self.second)
    gateway = nil
    let all = loops + exchanges.map(\.loop) + clients.map(\.loop) + (observer.map { [$0.loop] } ?? [])
    for loop in all { loop.shutdown {} }
    network.run(for: 10_000_000)
    report.network = network.statistics
    report.hash = network.trace.hash
    report.span = network.uptime - 1_000_000_000_000
    exchanges = []
    clients = []
    loops = []
    observer = nil
    network.tearDown()
    if leaked != nil { faults.append("something holds the gateway after its end") }
    report.faults = faults
    return report
  }
}
