import Bytes

/// Reads a venue's list of markets away from the loop that awaits it: lists have up to 32 MB, which take 30 ms and more
/// to read, and a loop serves clients.
package struct ListReader: Sendable {
  /// Lists from this size on are worth the way to another thread, bytes: they take 0.2 ms and more.
  package static let worthwhile = 128 << 10

  let listing: MarketListing

  /// Reads a list, or a part of one. Anywhere; O(bytes).
  package func read(_ body: [UInt8]) -> Result<ListPage, FeedError> {
    do throws(FeedError) {
      return .success(try listing.read(body.span.bytes))
    } catch {
      return .failure(error)
    }
  }
}
