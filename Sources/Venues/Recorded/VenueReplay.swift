import Bytes
import MarketData

/// How recordings of a venue are recognized and played: their symbols by the gateway's names, which of their answers
/// are instrument lists, and what replaces a list that was not recorded.
package struct VenueReplay: Sendable {
  /// What can be replayed, for the error about what cannot: `Bybit v5 spot and linear`.
  package var title: String
  /// The venues in headers that are meant: `binance`, `binanceus`.
  package var names: [String]
  /// The markets in headers that are meant: `spot`, a part's name, `mixed`. Empty if any is.
  package var markets: Set<String> = []
  /// How the paths of instrument lists end; the first is the path of the list that is asked for. Empty where it comes
  /// in the stream.
  package var lists: [String] = []
  /// The path that is asked for instead in markets whose list is elsewhere, by the market.
  package var ownLists: [String: String] = [:]
  /// What stands before the market's name in the path of an answer about a single market, where lists have names only.
  package var details: String?
  /// Texts near the beginning of a frame that tell the venue's protocols apart.
  package var marks: [String] = []
  /// The one of them that a frame with the instrument list has, where that comes in the stream.
  package var listMark: String?
  /// Where frames name their market.
  package var marketFields: [MarketField] = []
  /// Requests for snapshots of books.
  package var books: [BookRequest] = []
  /// How a recorded list of a market is read, where names alone do not tell what they are.
  var listing: (@Sendable (_ market: String) -> MarketListing)?
  /// Whether a recording is in a protocol that is read here, and still is.
  var isRead: @Sendable (RecordedStart) -> Bool = { _ in true }
  /// What stands for a list that was not recorded.
  var made: MadeList
  /// The gateway's name of a recorded market: the venue's own name, or the configured one.
  var market: @Sendable (_ name: String, _ start: RecordedStart) throws(RecordedNameError) -> NamedMarket

  /// What is to be played, made from the beginning of a recording; nil if it is in a protocol that is not read here,
  /// or not any more.
  package func start(_ start: RecordedStart) -> ReplayStart? {
    guard isRead(start) else { return nil }
    var start = start
    if let list = start.list, let listing {
      start.known = (try? listing(start.market).read(list.span.bytes))?.markets ?? []
    }
    var found: [NamedMarket] = []
    var symbols: Set<FeedSymbol> = []
    var skipped: [String: String] = [:]
    for name in start.names {
      do throws(RecordedNameError) {
        let market = try market(name, start)
        if symbols.insert(market.symbol).inserted { found.append(market) }
      } catch {
        skipped[name] = error.detail
      }
    }
    var replay = ReplayStart(symbols: found.map(\.symbol.text), skipped: skipped)
    if let listMark {
      if !start.marks.contains(listMark) { replay.preamble = made.text(found, of: start.market) }
    } else {
      replay.instruments = start.list ?? made.text(found, of: start.market)
    }
    return replay
  }

  /// Whether a header's recording is one of these, as far as it says so.
  package func isMeant(venue: String, market: String) -> Bool {
    names.contains(venue) && (markets.isEmpty || markets.contains(market))
  }

  /// The path of the instrument list that is asked for in a market; nil where it comes in the stream.
  package func listPath(of market: String) -> String? { ownLists[market] ?? lists.first }

  /// Whether the answer to a GET of `path`, which may have a query, is an instrument list.
  package func isList(_ path: String) -> Bool {
    var bare = path.prefix { $0 != "?" }
    while bare.last == "/" { bare.removeLast() }
    return lists.contains { bare.hasSuffix($0.last == "/" ? String($0.dropLast()) : $0) }
  }
}

/// A request for the snapshot of a book.
package struct BookRequest: Sendable {
  /// What its path has in it.
  package var path: String
  /// The parameter that names the market; nil where the name stands in the path, behind `path`.
  package var parameter: String?

  package init(_ path: String, parameter: String? = nil) {
    self.path = path
    self.parameter = parameter
  }

  /// The market whose book a URL, or its path, asks for; nil if it asks for something else.
  package func market(_ url: String) -> String? {
    guard let index = url.firstRange(of: path) else { return nil }
    guard let parameter else { return String(url[index.upperBound...].prefix { $0 != "/" && $0 != "?" }) }
    guard let query = url[index.upperBound...].split(separator: "?").last else { return nil }
    for part in query.split(separator: "&") where part.hasPrefix(parameter + "=") {
      return String(part.dropFirst(parameter.count + 1))
    }
    return nil
  }
}

/// What the beginning of a recording says.
package struct RecordedStart: Sendable {
  /// In its header.
  package var market: String
  /// The symbols of its header that are no selections, and those of its frames where no list was recorded: the
  /// venue's own names, or as they were configured.
  package var names: [String]
  /// Of the first connection.
  package var url: String?
  /// The instrument list, if it was recorded.
  package var list: [UInt8]?
  /// By the market's name: answers about single markets.
  package var details: [String: [UInt8]] = [:]
  /// Those of `VenueReplay.marks` that were met.
  package var marks: Set<String> = []
  /// The markets of `list`, for a venue that reads it.
  var known: [ListedMarket] = []

  package init(market: String, names: [String]) {
    self.market = market
    self.names = names
  }
}

/// What a replay begins with.
package struct ReplayStart: Sendable {
  /// In the gateway's words: `BTC-USDT`.
  package var symbols: [String]
  /// The instrument list to answer with: the recorded one, or one made from the header. Without increments: values
  /// widen the scales.
  package var instruments: [UInt8] = []
  /// A message that comes first on every connection: a list that is part of the stream and was not recorded. Mostly
  /// empty.
  package var preamble: [UInt8] = []
  /// Names that are not replayed, and why.
  package var skipped: [String: String]
}

/// Why a recorded name cannot be used.
struct RecordedNameError: Error, Sendable {
  let detail: String
  init(_ detail: String) { self.detail = detail }
}
