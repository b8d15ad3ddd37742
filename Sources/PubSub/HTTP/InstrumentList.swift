import Bytes
import MarketData

/// The instruments that `/v1/instruments` shows for one request.
package struct InstrumentList: Sendable {
  package private(set) var entries: [DirectoryEntry] = []
  /// The venues among them, in the order of their names.
  package private(set) var venues: [String] = []
  /// The tag of the content.
  package private(set) var tag: UInt64
  private let feeds: [String: FeedStatus]
  private let names: AssetNames

  /// The instruments of `venue` that `grant` allows and whose symbol, venue symbol or base asset's name contains
  /// `query` in any letter case; not sorted yet. O(n) in the instruments, about 100 ns each, or 300 ns with a query.
  package init(_ directory: Directory, _ feeds: [FeedStatus], venue: String?, query: String?, grant: Grant) {
    let wanted = query.map { Array($0.utf8) } ?? []
    let isOpen = grant.allowsAllSymbols
    names = directory.names
    self.feeds = Dictionary(feeds.map { ($0.venue, $0) }) { first, _ in first }
    // The sum does not depend on the order, so an answer that the client has already needs no sorting.
    var sum: UInt64 = 0
    var found: Set<String> = []
    for (symbol, entry) in directory.entries {
      let instrument = entry.instrument
      if let venue, instrument.venue != venue { continue }
      if !wanted.isEmpty, !Self.contains(symbol, wanted), !Self.contains(instrument.venueSymbol, wanted),
        !Self.contains(names.name(of: instrument.base, at: instrument.venue) ?? "", wanted)
      {
        continue
      }
      guard isOpen || grant.allows(symbol) else { continue }
      entries.append(entry)
      found.insert(instrument.venue)
      var part = ContentTag(run: symbol)
      part.add(HTTPBodies.state(entry, self.feeds[instrument.venue]))
      part.add(UInt64(self.feeds[instrument.venue]?.source == .live ? 0 : 1))
      part.add(instrument.venueSymbol)
      part.add(instrument.contractSize)
      part.add(instrument.priceIncrement)
      part.add(instrument.sizeIncrement)
      sum &+= part.value
    }
    venues = found.sorted()
    var tag = ContentTag(run: "instruments")
    tag.add(UInt64(entries.count))
    tag.add(sum)
    tag.add(names.revision)
    self.tag = tag.value
  }

  /// Sorts them by symbol. O(n log n).
  package mutating func sort() { entries.sort { $0.instrument.symbol < $1.instrument.symbol } }

  /// Appends those of `range`, with commas between them.
  package func append(_ range: Range<Int>, to out: inout ByteBuffer) {
    for index in range {
      if index > range.lowerBound { out.append(UInt8(ascii: ",")) }
      let instrument = entries[index].instrument
      HTTPBodies.append(
        entries[index], name: names.name(of: instrument.base, at: instrument.venue), feed: feeds[instrument.venue],
        to: &out)
    }
  }

  /// Whether `text` contains `wanted`, ignoring the case of ASCII letters. O(length of both).
  package static func contains(_ text: String, _ wanted: [UInt8]) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      guard bytes.count >= wanted.count else { return false }
      for start in 0...(bytes.count - wanted.count) {
        var length = 0
        while length < wanted.count, lowercased(bytes[start + length]) == lowercased(wanted[length]) { length += 1 }
        if length == wanted.count { return true }
      }
      return false
    }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
