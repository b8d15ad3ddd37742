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
private final class ListingSession: FeedOwner, FeedRecorder {
  /// The time between two checks of the feed.
  private static let interval: Duration = .milliseconds(100)

  var clock: GatewayClock
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
    clock = GatewayClock(kernel: loop.kernel)
    deadline = clock.now() + Int64(VenueListing.patience) * Microseconds.second
  }

  func start() {
    let session = FeedSession(
      pipeline: pipeline, slot: 0, owner: self, loop: loop, parts: FeedParts(tls: tls, recorder: self, log: log),
      now: clock.now())
    self.session = session
    session.start()
    look()
  }

  /// Checks whether the list has arrived. The scheduled call keeps this object alive until the end.
  private func look() {
    guard let session else { return }
    let now = clock.now()
    let listing = pipeline.handler.listing
    if !listing.isEmpty { return finish(.success(listing)) }
    if let lost { return fail(lost) }
    guard now < deadline else { return fail("its list did not arrive in \(VenueListing.patience) s") }
    session.tick(now)
    loop.schedule(after: Self.interval) { [self] in look() }
  }

  private func fail(_ reason: String) {
    let detail = failure.map { "; \($0)" } ?? ""
    finish(.failure(VenueListingError(description: "\(venue.title): \(reason)\(detail)")))
  }

  private func finish(_ result: Result<[ListedMarket], VenueListingError>) {
    session?.stop()
    session = nil
    completion(result)
  }

  // MARK: Reports of the feed

  func feed(_ feed: any Feed, changed changes: borrowing MarketChanges, at now: Timestamp) {}

  func feed(_ feed: any Feed, leftOut symbols: [String]) {}
  func feedStatusChanged(_ feed: any Feed) {
    if feed.status.state == .reconnecting { lost = feed.status.reason ?? "the connection was lost" }
  }

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
