import Feeds
import MarketData
import Operations
import PubSub
import Recordings
import Transport
import Venues

/// The feeds of one loop. It announces their states, and new and changed instruments, to every loop.
final class LoopFeeds: @unchecked Sendable {
  // `@unchecked`: a part of its node, which alone holds it and uses it on its own loop.

  unowned let node: LoopNode
  /// By slot: a feed has the same index here as its market has in the publisher. Ended feeds keep theirs.
  private(set) var all: [any Feed] = []
  /// By slot. A feed does not retain its port.
  private var ports: [FeedPort] = []
  /// By slot: the feed's number among all feeds of the gateway.
  private var numbers: [Int] = []
  /// By slot: when the feed started.
  private(set) var starts: [Timestamp] = []
  /// Slots of feeds that a reload or an operator has ended.
  private(set) var ended: Set<Int> = []
  /// Slots of feeds with changes to announce.
  private var dirty: Set<Int> = []
  /// Slots of feeds whose last announcement some loop could not take: all of their instruments are announced again.
  private var untold: Set<Int> = []
  /// The present state of every feed of the gateway, by its number.
  private var statuses: [Int: FeedStatus] = [:]

  init(node: LoopNode) { self.node = node }

  subscript(slot: Int) -> any Feed { all[slot] }

  /// The feeds that have not ended.
  var running: [any Feed] { all.filter { !ended.contains($0.slot) } }

  // MARK: Start

  /// Adds a feed to this loop; `number` is its index among all feeds of the gateway. On the loop.
  /// - Parameter share: connections to the venue, this one included.
  func add(
    _ venue: Venue, configuration: FeedConfiguration, number: Int, tls: TLSClientContext?,
    schedule: ConnectSchedule?, recorder: (any FeedRecorder)?, share: Int = 1
  ) {
    let pipeline = FeedPipeline(venue: venue, configuration: configuration)
    pipeline.market.bridgesTrades = node.history != nil
    let slot = node.publisher.add(market: pipeline.market, venue: venue.name)
    let settings = node.settings
    let session = FeedSession(
      pipeline: pipeline, slot: slot, loop: node.loop,
      parts: FeedParts(
        tls: tls, schedule: schedule, recorder: recorder, reconnectLimitSeconds: settings.reconnectLimitSeconds,
        source: settings.source, log: settings.log.of(.feeds)), now: node.clock.now())
    follow(session, configuration: configuration, tls: tls, share: share)
    begin(session, number: number)
  }

  /// Takes over a feed that ran before its node existed; `number` is its index among all feeds of the gateway. On the
  /// loop. O(instruments).
  /// - Parameter share: connections to the venue, this one included.
  func adopt(
    _ session: FeedSession, number: Int, tls: TLSClientContext?, recorder: (any FeedRecorder)?, share: Int
  ) {
    let (market, configuration) = (session.pipeline.market, session.configured)
    let slot = node.publisher.add(market: market, venue: session.pipeline.venue.name)
    let port = FeedPort(session, of: node)
    session.move(to: port, slot: slot, recorder: recorder, node.clock.now())
    market.bridgesTrades = node.history != nil
    follow(session, configuration: configuration, tls: tls, share: share)
    begin(session, number: number, port: port)
    var changes = MarketChanges()
    market.appendPresent(to: &changes)
    if node.history == nil {
      for state in market.instruments { market.beginWithoutPast(of: state.instrument.id, into: &changes) }
    }
    node.publish(changes, of: session, at: node.clock.now())
  }

  /// Starts the history of a feed, and requests the names of its assets from its venue.
  private func follow(_ session: FeedSession, configuration: FeedConfiguration, tls: TLSClientContext?, share: Int) {
    node.history?.add(session, configuration: configuration, tls: tls, share: share)
    let (first, venue, isSimulated) = (node.nodes[0], session.pipeline.venue, node.settings.source == .simulated)
    first.loop.execute {
      first.services.names?.add(venue, configuration: configuration, tls: tls, isSimulated: isSimulated)
    }
  }

  /// Adds a recording as a feed of this loop; it plays the record time `origin` first. On the loop.
  func add(replay replayer: Replayer, origin: Timestamp, speed: ReplaySpeed, number: Int) {
    let slot = node.publisher.add(market: replayer.pipeline.market, venue: replayer.venue.name)
    begin(
      ReplaySession(
        replayer: replayer, origin: origin, speed: speed, slot: slot, loop: node.loop,
        log: node.settings.log.of(.feeds), now: node.clock.now()),
      number: number)
  }

  private func begin(_ feed: any Feed, number: Int, port: FeedPort? = nil) {
    node.loop.assertOnLoop()
    precondition(feed.slot == all.count, "a feed's slot is its place")
    let port = port ?? FeedPort(feed, of: node)
    feed.handler = port
    all.append(feed)
    ports.append(port)
    numbers.append(number)
    starts.append(node.clock.now())
    changed(feed)
    let now = node.clock.now()
    feed.start(now)
    settle(feed, now)
  }

  // MARK: What a feed has changed

  /// Publishes what the last call of a feed changed, and lets the feed act on that, until nothing is left; then takes
  /// its news. After every call of a feed.
  /// - Parameter isFromClock: whether the call was for the time alone, and not for a message.
  func settle<F: Feed>(_ feed: F, _ now: Timestamp, isFromClock: Bool = false) {
    repeat {
      if feed.hasNews { takeNews(of: feed) }
      if !feed.pipeline.changes.items.isEmpty {
        node.publish(feed.pipeline.changes, of: feed, at: now, isFromClock: isFromClock)
      }
    } while feed.settled(now)
    if feed.hasNews { takeNews(of: feed) }
  }

  private func takeNews(of feed: any Feed) {
    let news = feed.takeNews()
    if news.isStatusChanged { changed(feed) }
    if !news.leftOut.isEmpty { forgetEverywhere(news.leftOut) }
  }

  // MARK: Announcements to the loops

  /// Announces a feed to the loops at the end of the turn.
  func changed(_ feed: any Feed) {
    dirty.insert(feed.slot)
    node.alerts.feedChanged(feed.slot)
  }

  /// Tells every loop when each feed last received a message, within 100 ms: heartbeats report these ages.
  func announceAges() {
    guard !all.isEmpty else { return }
    let heard = zip(numbers, all).map { ($0, $1.status.lastMessage) }
    for other in node.nodes {
      if other === node {
        update(ages: heard)
      } else {
        // If a loop has no room for them, newer ones follow.
        _ = other.loop.offer(bytes: heard.count * MemoryLayout<(Int, Timestamp?)>.stride) {
          other.feeds.update(ages: heard)
        }
      }
    }
  }

  /// Tells every loop what changed about this loop's feeds: their states, and the instruments whose description or book
  /// did. A loop that cannot take it now gets all of it later. O(changed).
  func announceChanges() {
    guard !dirty.isEmpty else { return }
    let now = node.clock.now()
    // Sorted, so that a seed makes the same world each time.
    let slots = dirty.subtracting(ended).sorted()
    dirty.removeAll(keepingCapacity: true)
    for slot in slots {
      let entries = takeChangedEntries(of: slot)
      node.metrics.entriesAnnounced += entries.count
      let (status, number) = (all[slot].status, numbers[slot])
      for other in node.nodes {
        if other === node {
          update(status, number: number, entries: entries, now)
        } else if !other.loop.offer(
          bytes: entries.count * MemoryLayout<DirectoryEntry>.stride,
          { other.feeds.update(status, number: number, entries: entries, other.clock.now()) })
        {
          announceAll(of: slot)
        }
      }
    }
  }

  /// Announces all of a feed's instruments with its next state.
  private func announceAll(of slot: Int) {
    untold.insert(slot)
    dirty.insert(slot)
  }

  private func takeChangedEntries(of slot: Int) -> [DirectoryEntry] {
    let feed = all[slot]
    let changed = feed.takeChangedInstruments()
    let ids: [InstrumentID]
    if node.history?.isHolding(slot) ?? false {
      // Clients see an instrument only when its past is loaded.
      untold.insert(slot)
      ids = []
    } else if untold.remove(slot) == nil {
      ids = changed.sorted { $0.index < $1.index }
    } else {
      ids = feed.pipeline.market.instruments.map(\.instrument.id)
    }
    return ids.map { id in
      let state = feed.pipeline.market[id]
      return DirectoryEntry(
        loop: node.loop.index, market: slot, instrument: state.instrument, bookState: state.bookState)
    }
  }

  // MARK: Announcements from the loops

  private func update(ages: [(Int, Timestamp?)]) {
    for (number, heard) in ages { statuses[number]?.lastMessage = heard }
    showStatuses(now: node.clock.now())
  }

  private func update(_ status: FeedStatus, number: Int, entries: [DirectoryEntry], _ now: Timestamp) {
    node.loop.assertOnLoop()
    statuses[number] = status
    for entry in entries {
      node.hub.directory.update(entry)
      if entry.loop == node.loop.index { node.alerts.listed(entry) }
    }
    if !node.hub.directory.venues.contains(status.venue) { node.hub.directory.venues.append(status.venue) }
    showStatuses(now: now)
    node.composites.feedsChanged()
  }

  /// Removes symbols from the directory, and the state of a feed that has ended.
  private func forget(_ symbols: [String], feed number: Int? = nil) {
    for symbol in symbols { node.hub.directory.entries[symbol] = nil }
    node.alerts.forget(symbols)
    guard let number else { return }
    statuses[number] = nil
    showStatuses(now: node.clock.now())
    let shown = node.hub.feeds
    node.hub.directory.venues.removeAll { venue in !shown.contains { $0.venue == venue } }
  }

  private func showStatuses(now: Timestamp) {
    let all = FeedStatus.byVenue(statuses.sorted { $0.key < $1.key }.map(\.value))
    node.hub.feeds = all
    if node.loop.index == 0 { node.publisher.publish(status: all, now: now, into: &node.work.outgoing) }
  }

  // MARK: Time

  /// About four times a second.
  func tick(_ now: Timestamp) {
    for feed in all {
      feed.tick(now)
      settle(feed, now)
      feed.check(now)
      settle(feed, now)
    }
  }

  /// The clock jumped forward by `jump` µs, but no venue was silent for that long: moves time-outs by as much.
  func timeJumped(by jump: Int64) { for feed in all { feed.timeJumped(by: jump) } }

  /// Advances the feeds whose deadline has come.
  func advance(_ now: Timestamp) {
    for feed in all where feed.nextDeadline <= now {
      feed.advance(now)
      settle(feed, now, isFromClock: true)
    }
  }

  var nextDeadline: Timestamp {
    var next = Timestamp.distantFuture
    for feed in all { next = min(next, feed.nextDeadline) }
    return next
  }

  // MARK: End

  /// Ends all feeds for good. On the loop.
  func stop() {
    let now = node.clock.now()
    for feed in all {
      feed.stop(now)
      settle(feed, now)
    }
  }

  /// Ends all feeds because another process continues with them.
  func handOver() {
    let now = node.clock.now()
    for case let session as FeedSession in all {
      session.stop(.reconnecting, reason: "another gateway process has taken over", now)
      settle(session, now)
    }
  }

  /// Ends a feed and removes its instruments from every list, and its venue if it has no other connection. False if the
  /// feed is not on this loop. On the loop.
  @discardableResult
  func end(_ connection: String) -> Bool {
    guard let slot = slot(of: connection) else { return false }
    let (feed, now) = (all[slot], node.clock.now())
    feed.stop(now)
    settle(feed, now)
    ended.insert(slot)
    forgetEverywhere(feed.pipeline.market.instruments.map(\.instrument.symbol), feed: numbers[slot])
    return true
  }

  /// Starts an ended feed again with a new configuration; false if the feed never ran on this loop. On the loop.
  func begin(again connection: String, _ configuration: FeedConfiguration) -> Bool {
    node.loop.assertOnLoop()
    guard let slot = all.indices.first(where: { all[$0].pipeline.venue.label == connection }),
      let session = all[slot] as? FeedSession
    else { return false }
    ended.remove(slot)
    let now = node.clock.now()
    session.start(now)
    settle(session, now)
    session.follow(configuration, now)
    settle(session, now)
    announceAll(of: slot)
    return true
  }

  /// Makes every loop forget these symbols, and the feed of this number.
  func forgetEverywhere(_ symbols: [String], feed number: Int? = nil) {
    for other in node.nodes { other.loop.execute { other.feeds.forget(symbols, feed: number) } }
  }

  /// The slot of a connection's feed; nil if it is not on this loop, or has ended.
  func slot(of connection: String) -> Int? {
    node.loop.assertOnLoop()
    return all.indices.first { all[$0].pipeline.venue.label == connection && !ended.contains($0) }
  }
}
