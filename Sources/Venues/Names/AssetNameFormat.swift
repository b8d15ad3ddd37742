import Bytes
import MarketData

/// How a venue's REST API is asked what its assets are called, and what its answer looks like. Sans-IO, a value per
/// venue that says so without a key.
package struct AssetNameFormat: Sendable {
  /// What the answer is.
  enum Layout: Sendable {
    /// An array of objects, under these keys, each with a code and a name as texts; a name may be null or missing.
    case objects(under: [StaticString], code: StaticString, name: StaticString)
    /// Bitfinex: an array of pairs of its own code and the name, and behind it one of its codes and those that are used
    /// elsewhere.
    case pairs
  }

  /// What is asked for with GET.
  package let path: String
  let layout: Layout

  /// Bytes of an answer that are accepted: KuCoin's has 1.5 MB, as every asset comes with its chains.
  package static let bodyLimit = 8 << 20
  /// Answers from this size on are worth the way to another thread, bytes.
  package static let worthwhile = 64 << 10

  /// Reads an answer into names by the codes that symbols are written with. Rows that cannot be read cost themselves
  /// alone. O(bytes).
  /// - Throws: where it is no list of assets, or one of more than `AssetNames.listLimit`.
  package func read(_ body: RawSpan) throws(FeedError) -> [String: String] {
    var reader = FieldReader(body)
    reader.field = "assets"
    switch layout {
    case .objects(let keys, let code, let name):
      for key in keys { try Self.descend(&reader, to: key) }
      return try Self.readObjects(&reader, code: code, name: name)
    case .pairs: return try Self.readPairs(&reader)
    }
  }

  private static func descend(_ reader: inout FieldReader, to wanted: StaticString) throws(FeedError) {
    guard reader.peek() == .object else { throw FeedError(.shape, "no object") }
    try reader.objectStart()
    while let key = try reader.nextKey() {
      if reader.equals(key, wanted) { return }
      try reader.skipValue()
    }
    throw FeedError(.shape, "no list of assets")
  }

  private static func readObjects(
    _ reader: inout FieldReader, code codeKey: StaticString, name nameKey: StaticString
  ) throws(FeedError) -> [String: String] {
    guard reader.peek() == .array else { throw FeedError(.shape, "no array of assets") }
    var names: [String: String] = [:]
    var rows = 0
    try reader.arrayStart()
    while try reader.nextElement() {
      try count(&rows)
      guard reader.peek() == .object else {
        try reader.skipValue()
        continue
      }
      var (code, name): (String?, String?) = (nil, nil)
      try reader.objectStart()
      while let key = try reader.nextKey() {
        let (isCode, isName) = (reader.equals(key, codeKey), reader.equals(key, nameKey))
        guard isCode || isName, reader.peek() == .string else {
          try reader.skipValue()
          continue
        }
        let text = try reader.decodedString("name")
        if isCode { code = text } else { name = text }
      }
      // Of a code that stands twice the first is taken.
      if let code, let name, names[code] == nil { names[code] = name }
    }
    return names
  }

  private static func count(_ rows: inout Int) throws(FeedError) {
    rows += 1
    guard rows <= AssetNames.listLimit else { throw Self.tooLong }
  }

  private static var tooLong: FeedError { FeedError(.shape, "a list of more than \(AssetNames.listLimit) assets") }

  /// `[[["BTC","Bitcoin"],["UST","Tether USDt"],…],[["UST","USDt"],…]]`
  private static func readPairs(_ reader: inout FieldReader) throws(FeedError) -> [String: String] {
    guard reader.peek() == .array else { throw FeedError(.shape, "no array of assets") }
    var lists: [[(String, String)]] = []
    try reader.arrayStart()
    while try reader.nextElement() {
      guard lists.count < 2, reader.peek() == .array else {
        // An error in place of the lists: `["error",10020,"…"]`.
        guard lists.count == 2 else { throw FeedError(.shape, "no list of assets") }
        try reader.skipValue()
        continue
      }
      lists.append(try reader.textPairs())
    }
    guard let labels = lists.first else { throw FeedError(.shape, "no list of assets") }
    guard labels.count <= AssetNames.listLimit else { throw Self.tooLong }
    let common = Dictionary(lists.count > 1 ? lists[1] : []) { first, _ in first }
    var names: [String: String] = [:]
    for isOwn in [true, false] {
      for (code, name) in labels {
        let known = BitfinexPair.common(code, names: common)
        // Of two with one code, the one that the venue itself calls so counts.
        guard (known == code) == isOwn, names[known] == nil else { continue }
        names[known] = name
      }
    }
    return names
  }
}
