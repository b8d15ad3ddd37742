import ArgumentParser
import Feeds
import Gateway
import HTTP1
import Logging
import MarketData
import Transport
import Venues

/// Prints a venue's markets, or ends with status 1 and the reason if there are none.
func instruments(_ command: InstrumentsCommand) async throws {
  guard let venue = VenueRegistry.venue(named: command.venue) else { throw ExitCode.validationFailure }
  let query = try MarketQuery(command.query)
  let wantsVolumes = command.volume || query.isRanked
  var families = Set(command.kind.compactMap(Instrument.Kind.Family.init))
  if families.isEmpty { families = venue.kinds }
  let rest = command.restEndpoint ?? command.endpoint.flatMap { EndpointURL($0)?.restBase }
  let configuration = FeedConfiguration(
    symbols: [], endpoint: command.endpoint, restEndpoint: rest, listing: wantsVolumes ? .volumes : .markets)
  let loop = try EventLoop(index: 0, label: "tidegate.listing")
  defer { loop.shutdown {} }
  let markets: [ListedMarket]
  do throws(VenueListingError) {
    markets = try await VenueListing.markets(
      of: venue, configuration: configuration, families: families, tls: try tlsContext(command.ca), loop: loop,
      log: makeLog(.error))
  } catch {
    printError("error: \(error.description)")
    throw ExitCode.failure
  }
  var found = query.choose(from: markets)
  guard !found.isEmpty else {
    printError("error: \(query.nothingFound(among: markets, venue: venue))")
    throw ExitCode.failure
  }
  if command.volume { found = ListingReport.byVolume(found) }
  print(command.json ? ListingReport.json(found, of: venue) : ListingReport.text(found, of: venue))
}

private func tlsContext(_ caFile: String?) throws(VenueListingError) -> TLSClientContext {
  do throws(TransportError) {
    return try TLSClientContext(caFile: caFile)
  } catch {
    throw VenueListingError(description: error.description)
  }
}
