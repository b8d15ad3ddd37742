/// Names of assets, as venues give them: `Zcash` for `ZEC`.
///
/// Venues disagree, and one code may mean two coins at two venues. The rule:
/// 1. In the markets of a venue that names the asset, its own name counts.
/// 2. Elsewhere, the most frequent name counts, compared without case and punctuation (`Cosmos-Atom` and `cosmos atom`
///    are the same).
/// 3. Of equally frequent names, that of the first venue in `AssetNames.order` counts; other venues follow by name.
package struct AssetNames: Sendable, Equatable {
  /// The names of one asset.
  package struct Asset: Sendable, Equatable {
    /// `ZEC`
    package var code: String
    /// By rules 2 and 3.
    package var name: String
    /// The name at each venue, in the order of rule 3.
    package var sources: [(venue: String, name: String)]

    package static func == (a: Asset, b: Asset) -> Bool {
      a.code == b.code && a.name == b.name && a.sources.count == b.sources.count
        && zip(a.sources, b.sources).allSatisfy { $0 == $1 }
    }
  }

  /// The venues whose names have priority over those of others, because they write them for people.
  package static let order = ["coinbase", "kucoin", "bitfinex", "deribit"]
  /// The most assets of one venue; a longer list is refused.
  package static let listLimit = 20_000
  /// The most bytes of a name and of a code.
  package static let nameBytes = 64
  package static let codeBytes = 24

  private var lists: [String: [String: String]] = [:]
  private var indices: [String: Int] = [:]
  /// In the order of their codes.
  package private(set) var assets: [Asset] = []
  /// How often anything has changed.
  package private(set) var revision: UInt64 = 0

  package init() {}

  package var isEmpty: Bool { assets.isEmpty }

  /// Replaces a venue's names with `list`. Leaves invalid codes and names out (`AssetNames.name`). O(n log n) in all
  /// assets: call it away from a loop if there are many.
  /// - Parameter list: names by code, at most `listLimit`.
  package mutating func set(_ list: [String: String], of venue: String) {
    precondition(list.count <= Self.listLimit, "a list of names has at most \(Self.listLimit)")
    var clean: [String: String] = [:]
    clean.reserveCapacity(list.count)
    for (code, name) in list { clean[code] = Self.name(name, of: code) }
    guard lists[venue] != clean else { return }
    lists[venue] = clean.isEmpty ? nil : clean
    revision += 1
    merge()
  }

  /// The name of an asset in a venue's markets; nil if no venue has one. O(1).
  package func name(of code: String, at venue: String) -> String? {
    lists[venue]?[code] ?? indices[code].map { assets[$0].name }
  }

  /// Whether a venue names an asset of this code. O(1).
  package func has(_ code: String) -> Bool { indices[code] != nil }

  /// The index in `assets` of the first code after `code`. O(log n).
  package func index(after code: String) -> Int {
    var (low, high) = (0, assets.count)
    while low < high {
      let middle = (low + high) / 2
      if assets[middle].code <= code { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// A venue's text as a name. Nil if the text is empty or long, if it repeats the code, or if it has control
  /// characters or characters that change the direction of text. Also nil for an invalid code.
  package static func name(_ text: String, of code: String) -> String? {
    guard (1...codeBytes).contains(code.utf8.count), code.utf8.allSatisfy(isCode) else { return nil }
    let words = text.split(separator: " ")
    let name = words.joined(separator: " ")
    guard (1...nameBytes).contains(name.utf8.count), name.unicodeScalars.allSatisfy(isShown) else { return nil }
    return key(name) == key(code) ? nil : name
  }

  private static func isCode(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
    default: true
    }
  }

  /// The text for comparisons of names: letters and digits in lower case. A name without letters and digits is used
  /// unchanged.
  static func key(_ name: String) -> String {
    let key = name.lowercased().unicodeScalars.filter { $0.properties.isAlphabetic || $0.properties.numericType != nil }
    return key.isEmpty ? name : String(String.UnicodeScalarView(key))
  }

  private static func rank(_ venue: String) -> (Int, String) { (order.firstIndex(of: venue) ?? order.count, venue) }

  private mutating func merge() {
    var said: [String: [(venue: String, name: String)]] = [:]
    for venue in lists.keys.sorted(by: { Self.rank($0) < Self.rank($1) }) {
      for (code, name) in lists[venue] ?? [:] { said[code, default: []].append((venue, name)) }
    }
    assets = said.map { code, sources in Asset(code: code, name: Self.chosen(sources), sources: sources) }
    assets.sort { $0.code < $1.code }
    indices = Dictionary(uniqueKeysWithValues: assets.enumerated().map { ($1.code, $0) })
  }

  /// The first of the most frequent names.
  private static func chosen(_ sources: [(venue: String, name: String)]) -> String {
    guard sources.count > 2 else { return sources[0].name }
    let keys = sources.map { key($0.name) }
    let counts = keys.map { key in keys.count { $0 == key } }
    let most = counts.max() ?? 1
    return sources[counts.firstIndex(of: most) ?? 0].name
  }
}
