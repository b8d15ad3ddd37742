import Dispatch
import HTTP1
import History
import Logging
import MarketData
import PubSub
import Transport
import Venues

/// Requests the names of assets from venues, and delivers them. Owned by one loop.
///
/// The requests are separate from those for lists of markets: one request at a time over all venues, the first some
/// seconds after the start, then once a day for each venue. Stored names of an earlier run are valid at once, and are
/// not requested again before their day is over. After an unreadable answer the present names stay. The request is
/// repeated after a minute, then each time after twice as long, up to six hours, or when the venue says.
package final class AssetNameRequests {
  /// The time between two requests, even to different venues, µs.
  private static let pace = 5 * Microseconds.second
  /// The time from the start to the first request, µs: markets come first.
  private static let delay = 3 * Microseconds.second
  private static let life = Microseconds.day
  private static let shortestWait = Microseconds.minute
  private static let longestWait = 6 * Microseconds.hour
  /// Parses large answers.
  private static let reader = DispatchQueue(label: "tidegate.names")

  private struct Source {
    let venue: String
    /// The store's key for its names: the venue, and its endpoint where that is not the venue's own.
    let key: String
    let format: AssetNameFormat
    let endpoint: EndpointURL
    let tls: TLSClientContext?
    var due: Timestamp
    var failures = 0
  }

  private let loop: EventLoop
  private let now: () -> Timestamp
  private let deliver: (AssetNames) -> Void
  private let store: AssetNameStore?
  private var kept: [String: StoredNames] = [:]
  private var sources: [Source] = []
  private var names = AssetNames()
  private var request: RESTRequest?
  private var isReading = false
  private var nextAt = Timestamp.distantPast
  private let log: Logger

  /// - Parameters:
  ///   - store: keeps the names; nil: names are not stored. If it cannot be read, only the names suffer.
  ///   - now: the owner's clock.
  ///   - deliver: called on the loop with all names known so far, whenever they have changed.
  package init(
    loop: EventLoop, store: AssetNameStore?, log: Logger, now: @escaping () -> Timestamp,
    deliver: @escaping (AssetNames) -> Void
  ) {
    self.loop = loop
    self.log = log
    self.now = now
    self.deliver = deliver
    self.store = store
    guard let store else { return }
    do throws(DataFileError) {
      kept = try store.load()
    } catch {
      log.error(
        "stored asset names cannot be read; they are requested again", metadata: ["reason": "\(error.description)"])
    }
  }

  /// Starts the request for a venue's names, if the venue publishes names and no request runs. On the loop.
  /// - Parameter isSimulated: whether the endpoint stands for the venue's own.
  package func add(
    _ venue: Venue, configuration: FeedConfiguration, tls: TLSClientContext?, isSimulated: Bool
  ) {
    loop.assertOnLoop()
    let base = configuration.restEndpoint ?? venue.restEndpoint
    guard let format = venue.assetNames, let endpoint = EndpointURL(base),
      !sources.contains(where: { $0.venue == venue.name })
    else { return }
    let now = now()
    let isOwn = isSimulated || base == venue.restEndpoint
    var source = Source(
      venue: venue.name, key: isOwn ? venue.name : "\(venue.name)@\(base)", format: format, endpoint: endpoint,
      tls: tls, due: now + Self.delay)
    if let list = kept.removeValue(forKey: source.key) {
      // A list with a time in the future, from a clock that was wrong, must not live for ever.
      source.due = max(source.due, min(list.time, now) + Self.life)
      var names = names
      names.set(list.names, of: venue.name)
      take(names)
    }
    sources.append(source)
  }

  /// Starts due requests. Once a second.
  package func everySecond(_ now: Timestamp) {
    guard request == nil, !isReading, now >= nextAt,
      let index = sources.indices.min(by: { sources[$0].due < sources[$1].due }), sources[index].due <= now
    else { return }
    let source = sources[index]
    nextAt = now + Self.pace
    request = RESTRequest.get(
      source.format.path, from: source.endpoint, bodyLimit: AssetNameFormat.bodyLimit, tls: source.tls, loop: loop
    ) { [unowned self] status, body, retryAfter in
      request = nil
      guard status == 200 else {
        let reason = status == 0 ? String(decoding: body.prefix(200), as: UTF8.self) : "status \(status)"
        return failed(index, reason, retryAfter)
      }
      read(body, of: index)
    }
  }

  /// Ends all requests.
  package func stop() {
    request?.cancel()
    request = nil
    sources.removeAll()
  }

  /// Parses large answers and merges their names with those of other venues off the loop.
  private func read(_ body: [UInt8], of index: Int) {
    let (source, names) = (sources[index], names)
    let work: @Sendable () -> Result<(AssetNames, [String: String]), FeedError> = { [format = source.format] in
      do throws(FeedError) {
        let list = try format.read(body.span.bytes)
        var names = names
        names.set(list, of: source.venue)
        return .success((names, list))
      } catch {
        return .failure(error)
      }
    }
    guard body.count >= AssetNameFormat.worthwhile else { return finish(index, work()) }
    isReading = true
    let this = UncheckedTransfer(value: self)
    Self.reader.async { [loop] in
      let result = work()
      loop.execute {
        this.value.isReading = false
        this.value.finish(index, result)
      }
    }
  }

  private func finish(_ index: Int, _ result: Result<(AssetNames, [String: String]), FeedError>) {
    guard sources.indices.contains(index) else { return }
    let now = now()
    switch result {
    case .failure(let error): failed(index, error.detail, nil)
    // An empty list is a venue's mistake; the known names stay.
    case .success(let (_, list)) where list.isEmpty: failed(index, "an empty list", nil)
    case .success(let (names, list)):
      sources[index].failures = 0
      sources[index].due = now + Self.life
      take(names)
      keep(list, of: sources[index], now)
      log.info("asset names received", metadata: ["venue": "\(sources[index].venue)", "assets": "\(list.count)"])
    }
  }

  private func failed(_ index: Int, _ reason: String, _ retryAfter: String?) {
    guard sources.indices.contains(index) else { return }
    let now = now()
    let failures = sources[index].failures
    sources[index].failures += 1
    var wait = min(Self.longestWait, Self.shortestWait << Int64(min(failures, 10)))
    if let asked = retryAfter.flatMap({ RetryAfter.seconds($0, now: now.microseconds / Microseconds.second) }) {
      wait = max(wait, min(asked * Microseconds.second, Self.longestWait))
    }
    sources[index].due = now + wait
    guard failures == 0 else { return }
    log.warning(
      "asset name request failed; markets are served without names",
      metadata: [
        "venue": "\(sources[index].venue)", "reason": "\(reason)", "retry_s": "\(wait / Microseconds.second)",
      ])
  }

  private func take(_ names: AssetNames) {
    guard names.revision != self.names.revision else { return }
    self.names = names
    deliver(names)
  }

  private func keep(_ list: [String: String], of source: Source, _ now: Timestamp) {
    guard let store else { return }
    let clean = list.reduce(into: [String: String]()) { $0[$1.key] = AssetNames.name($1.value, of: $1.key) }
    let isTaken = store.submit(StoredNames(time: now, names: clean), of: source.key) { [log] result in
      guard case .failure(let error) = result else { return }
      log.error("asset names not stored", metadata: ["reason": "\(error.description)"])
    }
    if !isTaken { log.warning("asset names not stored: the store is too busy") }
  }
}
