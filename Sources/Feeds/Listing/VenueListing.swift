import Logging
import MarketData
import PubSub
import Transport
import Venues

/// Why a venue's list was not available: a sentence with the venue's name and what was tried.
package struct VenueListingError: Error, Sendable, CustomStringConvertible {
  package let description: String
  package init(description: String) { self.description = description }
}

/// Requests all markets that a venue lists, once, over the connections that a feed of it would have.
package enum VenueListing {
  /// How long a connection may take to deliver its list, s.
  package static let patience = 30

  /// The markets of all the venue's connections that may have some of `families`, in the venue's order.
  /// - Parameters:
  ///   - configuration: endpoints that replace the venue's own, and whether to request 24 h volumes (`listing`).
  ///   - families: the requested kinds of market; connections without any of them are not opened.
  ///   - loop: the loop that runs the requests; not the caller's.
  package static func markets(
    of venue: Venue, configuration: FeedConfiguration, families: Set<Instrument.Kind.Family>,
    tls: TLSClientContext?, loop: EventLoop, log: Logger
  ) async throws(VenueListingError) -> [ListedMarket] {
    var markets: [ListedMarket] = []
    for (part, configuration) in venue.connections(for: configuration) where !part.kinds.isDisjoint(with: families) {
      let result: Result<[ListedMarket], VenueListingError> = await withCheckedContinuation { continuation in
        loop.execute {
          ListingSession(part, configuration, tls: tls, loop: loop, log: log) { continuation.resume(returning: $0) }
            .start()
        }
      }
      markets += try result.get()
    }
    return markets.filter { families.contains($0.symbol.kind.family) }
  }
}

/// A feed that runs until its list has arrived. Owned by one loop.
private final class ListingSession: FeedHandler, FeedRecorder {
  /// The time between two checks of the feed.
  private static let interval: Duration = .milliseconds(100)

  /// The wall clock's time at the beginning, and the loop's moment then, µs: whatever sets that clock, time goes on.
  private let began: (time: Timestamp, moment: Int64)
  private let venue: Venue
  private let loop: EventLoop
  private let pipeline: FeedPipeline
  private let tls: TLSClientContext?
  private let log: Logger
  private var session: FeedSession?
  private let deadline: Timestamp
  /// The last failed request, with its reason.
  private var failure: String?
  /// Why the connection was given up.
  private var lost: String?
  private let completion: (Result<[ListedMarket], VenueListingError>) -> Void

  init(
    _ venue: Venue, _ configuration: FeedConfiguration, tls: TLSClientContext?, loop: EventLoop, log: Logger,
    completion: @escaping (Result<[ListedMarket], VenueListingError>) -> Void
  ) {
    self.venue = venue
    self.loop = loop
    self.tls = tls
    self.log = log
    self.completion = completion
    pipeline = FeedPipeline(venue: venue, configuration: configuration)
    began = (Timestamp(microseconds: loop.kernel.wallMicroseconds()), loop.moment)
    deadline = began.time + Int64(VenueListing.patience) * Microseconds.second
  }

  private var now: Timestamp { began.time + (loop.moment - began.moment) }

  func start() {
    let now = now
    let session = FeedSession(
      pipeline: pipeline, slot: 0, loop: loop, parts: FeedParts(tls: tls, recorder: self, log: log), now: now)
    self.session = session
    session.handler = self
    session.start(now)
    settle(session, now)
    look()
  }

  /// Checks whether the list has arrived. The scheduled call keeps this object alive until the end.
  private func look() {
    guard let session else { return }
    let now = now
    let listing = pipeline.engine.listing
    if !listing.isEmpty { return finish(.success(listing)) }
    if let lost { return fail(lost) }
    guard now < deadline else { return fail("its list did not arrive in \(VenueListing.patience) s") }
    session.tick(now)
    settle(session, now)
    session.check(now)
    settle(session, now)
    loop.schedule(after: Self.interval) { [self] in look() }
  }

  /// Nobody sees the markets' changes.
  private func settle(_ session: FeedSession, _ now: Timestamp) {
    while session.settled(now) {}
    guard session.takeNews().isStatusChanged, session.status.state == .reconnecting else { return }
    lost = session.status.reason ?? "the connection was lost"
  }

  private func fail(_ reason: String) {
    let detail = failure.map { "; \($0)" } ?? ""
    finish(.failure(VenueListingError(description: "\(venue.title): \(reason)\(detail)")))
  }

  private func finish(_ result: Result<[ListedMarket], VenueListingError>) {
    session?.stop(now)
    session = nil
    completion(result)
  }

  // MARK: What comes

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    guard let session else { return }
    let now = now
    var input = bytes
    while session.receive(&input, from: connection, now) { settle(session, now) }
  }

  func connectionDidDrain(_ connection: Connection) {}

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    guard let session else { return }
    let now = now
    if session.closed(connection, reason, now) { settle(session, now) }
  }

  func feedArrived() {
    guard let session else { return }
    repeat {
      let now = now
      guard session.takeArrival(now) else { return }
      settle(session, now)
    } while true
  }

  // MARK: What is recorded

  func answered(url: String, status: Int, body: [UInt8], at now: Timestamp) {
    guard status != 200 else { return }
    // Without an answer the body is the reason.
    failure = "GET \(url): \(status == 0 ? String(decoding: body.prefix(200), as: UTF8.self) : "status \(status)")"
  }

  func opened(url: String, at now: Timestamp) {}
  func received(_ message: UnsafeRawBufferPointer, at now: Timestamp) {}
  func sent(_ message: String, at now: Timestamp) {}
  func closed(at now: Timestamp) {}
}
