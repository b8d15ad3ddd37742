import Bytes
import MarketData

/// Where the rows of an answer by REST stand, and what says that the request was refused. A value per list.
struct ListFormat: Sendable {
  /// What says whether a request was carried out, beside its status.
  struct Code: Sendable {
    var field: StaticString
    var good: StaticString
    var message: StaticString
  }

  /// The name of the answer in errors.
  var title: StaticString
  /// The keys on the way to the array of rows; none where the answer is that array.
  var path: [StaticString]
  var code: Code?
  /// A text beside the rows: where the next part begins.
  var cursor: StaticString?

  init(_ title: StaticString, at path: StaticString..., code: Code? = nil, cursor: StaticString? = nil) {
    self.title = title
    self.path = path
    self.code = code
    self.cursor = cursor
  }

  /// Reads each row of an answer. O(bytes).
  /// - Returns: where the next part begins, where the answer says so.
  /// - Throws: where there are no rows, where the code is not the good one, and what `read` throws.
  @discardableResult
  func read(
    _ body: RawSpan, _ read: (borrowing FieldObject) throws(FeedError) -> Void
  ) throws(FeedError) -> String? {
    var reader = FieldReader(body)
    var found = Found()
    reader.field = title
    try find(0, &reader, &found, read)
    try reader.end()
    if let code, found.code != "\(code.good)" {
      throw FeedError(.refused, "\(title): code \(found.code ?? "none"), \(found.message ?? "no reason given")")
    }
    guard found.hasRows else { throw FeedError.missing(path.last ?? "rows", in: title) }
    return found.cursor
  }

  private struct Found {
    var hasRows = false
    var code: String?
    var message: String?
    var cursor: String?
  }

  private func find(
    _ depth: Int, _ reader: inout FieldReader, _ found: inout Found,
    _ read: (borrowing FieldObject) throws(FeedError) -> Void
  ) throws(FeedError) {
    guard depth < path.count else {
      found.hasRows = true
      try reader.arrayStart()
      while try reader.nextElement() { try read(try FieldObject(&reader, title)) }
      return
    }
    try reader.objectStart()
    while let key = try reader.nextKey() {
      let kind = reader.peek()
      if reader.equals(key, path[depth]), kind == (depth == path.count - 1 ? .array : .object) {
        try find(depth + 1, &reader, &found, read)
      } else if let code, depth == 0, reader.equals(key, code.field), kind == .string || kind == .number {
        found.code = reader.plainText(try reader.name(code.field))
      } else if let code, depth == 0, reader.equals(key, code.message), kind == .string {
        found.message = try reader.decodedString(code.message)
      } else if let cursor, depth == path.count - 1, reader.equals(key, cursor), kind == .string {
        let text = try reader.decodedString(cursor)
        if !text.isEmpty { found.cursor = text }
      } else {
        try reader.skipValue()
      }
    }
  }

  /// Reads a list of markets, or a part of one; `read` answers nil for one that is left out.
  func markets(
    _ body: RawSpan, _ read: (borrowing FieldObject) throws(FeedError) -> ListedMarket?
  ) throws(FeedError) -> ListPage {
    var markets: [ListedMarket] = []
    let cursor = try self.read(body) { (row) throws(FeedError) in
      guard let market = try read(row) else { return }
      guard markets.count < MarketList.longest else {
        throw FeedError(.shape, "list of more than \(MarketList.longest) markets")
      }
      markets.append(market)
    }
    return ListPage(markets: markets, goesOn: cursor != nil, cursor: cursor)
  }
}

/// A venue's list of markets by REST: what it is asked for with, and how an answer is read.
struct MarketListing: Sendable {
  /// The path of the list, or of the part of it that is next; nil where there is no further part.
  let path: @Sendable (ListQuery) -> String?
  /// Reads an answer. Large ones are read away from the loop (`ListReader`).
  let read: @Sendable (RawSpan) throws(FeedError) -> ListPage
  /// Bytes that an answer has at most.
  var bodyLimit = 16 << 20
  /// Parts that are asked for at most, should what they say never end.
  var partLimit = 20
  /// With which statuses an answer has the other way of asking tried (`ListQuery.isOtherWay`).
  var otherWayAfter: Set<Int> = []
  /// How long an address that was shut out of REST leaves it alone, µs; nil as long as elsewhere
  /// (`ListRequest.banPause`).
  var banPause: Int64?
  /// What is asked for of single markets, where the list has names only.
  var perMarket: DialectFacts.PerMarket?
}

extension MarketListing {
  /// A list in one part, which is always asked for with the same path.
  init(_ path: String, read: @escaping @Sendable (RawSpan) throws(FeedError) -> ListPage) {
    self.init(path: { $0.part == 0 ? path : nil }, read: read)
  }

  /// The same, or one in which each part says where the next begins.
  init(
    _ path: String, _ format: ListFormat,
    _ read: @escaping @Sendable (borrowing FieldObject) throws(FeedError) -> ListedMarket?
  ) {
    self.init(
      path: { query in
        query.cursor.map { "\(path)&cursor=\(URLText.percentEncoded($0))" } ?? path
      }, read: { (body) throws(FeedError) in try format.markets(body, read) })
  }
}

/// What is asked for of the venue's list.
struct ListQuery {
  /// The symbols that were named, as far as they are symbols.
  var symbols: [FeedSymbol]
  /// Whether all markets are wanted, as a selection or a listing does.
  var isWhole: Bool
  /// The kinds of market that are wanted.
  var families: Set<Instrument.Kind.Family>
  /// Whether the 24 h volumes of its markets are wanted.
  var wantsVolumes: Bool
  /// Whether the list is asked for in the other way that the venue has, as one was refused.
  var isOtherWay = false
  /// How many parts of it have come; which part it is, where all are asked for together.
  var part = 0
  /// Where the next part begins, by the last one's word.
  var cursor: String?
}

/// A part of the venue's list, or all of it.
package struct ListPage: Sendable {
  var markets: [ListedMarket]
  /// Whether there may be more parts: then the next is asked for.
  var goesOn = false
  /// Where the next part begins, where the venue says it.
  var cursor: String?
  /// What an address may spend in a minute by REST, where the list says it.
  var weightPerMinute: Int?
  /// All names of the list, where a name does not tell for sure which market it is.
  var names: [String] = []
}

/// What a venue says of one market.
enum MarketDetails {
  case market(ListedMarket)
  /// It is not to be followed, for this reason.
  case refused(String)
}
