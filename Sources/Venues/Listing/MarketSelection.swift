import Bytes
import MarketData

/// A part of a venue's markets, by pattern and rank, where single symbols could stand:
///
///     *                     every market that the venue has
///     *-USD                 every spot market against USD
///     *-USDT-PERP           every perpetual against USDT; *-USDT-2026* dated futures of that year, *-USDT-* both
///     *-USD:top20           of those, the 20 with the largest 24 h volume
///     USD:top20, =USD       short for *-USD:top20 and *-USD
///
/// `*` stands for any number of letters, also within a name: `1000*-USDT-PERP`. Volumes of different currencies
/// cannot be compared, so a rank wants the quote currency whole.
package struct MarketSelection: Hashable, Sendable {
  /// Letters of a selection that are accepted: three parts of 20, two dashes, and a rank.
  static let lengthLimit = 71
  /// The largest rank.
  package static let rankLimit = 10_000

  /// As it was written.
  package let text: String
  private let base: String
  private let quote: String
  /// `PERP`, a day, a pattern of either; nil is spot, unless `isEverything`.
  private let contract: String?
  private let isEverything: Bool
  /// How many are taken, by 24 h volume; nil is all.
  package let rank: Int?

  /// Whether `text` is meant to be a selection and not a symbol: what no symbol has is in it.
  package static func isMeant(by text: String) -> Bool {
    text.utf8.contains { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "=") }
  }

  /// Throws what is wrong and what to write instead.
  package init(_ text: String) throws(MarketSelectionError) {
    self.text = text
    guard text.utf8.count <= Self.lengthLimit else {
      throw MarketSelectionError("a selection is at most \(Self.lengthLimit) letters long")
    }
    let halves = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    if halves.count == 1 {
      rank = nil
    } else {
      guard halves.count == 2, halves[1].hasPrefix("top"),
        let number = Int(halves[1].dropFirst(3)), (1...Self.rankLimit).contains(number),
        halves[1].dropFirst(3).utf8.allSatisfy({ (0x30...0x39).contains($0) })
      else {
        throw MarketSelectionError(
          "after the colon, write top and a number from 1 to \(Self.rankLimit), as in \(halves[0]):top20")
      }
      rank = number
    }
    var pattern = halves[0]
    isEverything = pattern == "*"
    if pattern.hasPrefix("=") {
      pattern.removeFirst()
      guard !pattern.contains("-"), !pattern.isEmpty else {
        throw MarketSelectionError("a quote currency follows the =, as in =USD or =USD:top20")
      }
      pattern = "*-" + pattern
    } else if !isEverything, !pattern.contains("-") {
      pattern = "*-" + pattern
    }
    let parts =
      isEverything ? ["*", "*"] : pattern.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
    guard (2...3).contains(parts.count), parts.allSatisfy(Self.isPattern) else {
      throw MarketSelectionError(Self.advice)
    }
    base = parts[0]
    quote = parts[1]
    contract = parts.count == 3 ? parts[2] : nil
    if rank != nil, quote.contains("*") {
      throw MarketSelectionError(
        "24 h volumes are compared within one quote currency: write \(isEverything ? "*" : base)-USD\(contract.map { "-" + $0 } ?? ""):\(halves[1])"
      )
    }
  }

  static let advice =
    "write * for every market, *-USD for those against USD, *-USDT-PERP for perpetuals, and :top20 behind it for the 20 most traded"

  private static func isPattern(_ part: String) -> Bool {
    (1...20).contains(part.utf8.count)
      && part.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "*")
      }
  }

  /// Whether markets of this kind can be among it.
  package func mayHold(_ family: Instrument.Kind.Family) -> Bool {
    if isEverything { return true }
    guard let contract else { return family == .spot }
    switch family {
    case .spot: return false
    case .perpetual: return Self.matches(contract, "PERP")
    // A day has eight digits: a pattern with a letter matches no day.
    case .future: return contract.utf8.allSatisfy { $0 == UInt8(ascii: "*") || (0x30...0x39).contains($0) }
    }
  }

  /// Whether a market is of the pattern, whatever its rank.
  package func matches(_ symbol: FeedSymbol) -> Bool {
    guard mayHold(symbol.kind.family), Self.matches(base, symbol.base), Self.matches(quote, symbol.quote) else {
      return false
    }
    switch symbol.kind {
    case .spot, .perpetual: return true
    case .future(let expiry): return contract.map { Self.matches($0, expiry) } ?? isEverything
    }
  }

  /// Of `markets`, those that are traded, can be followed and are of this selection: by rank and then by name.
  /// O(markets × log).
  package func choose(from markets: [ListedMarket]) -> [ListedMarket] {
    let found = markets.filter { $0.state == .trading && $0.contractSize != nil && matches($0.symbol) }
    guard let rank else { return found.sorted { $0.symbol.text < $1.symbol.text } }
    let zero = Decimal64(mantissa: 0, scale: 0)
    let ranked = found.sorted {
      let (a, b) = ($0.quoteVolume ?? zero, $1.quoteVolume ?? zero)
      if b.isLess(than: a) { return true }
      return !a.isLess(than: b) && $0.symbol.text < $1.symbol.text
    }
    return Array(ranked.prefix(rank))
  }

  /// The same with at most `limit` markets: what to write instead of one that is too large.
  package func narrowed(to limit: Int) -> String {
    if rank != nil { return "\(text.prefix { $0 != ":" }):top\(limit)" }
    if isEverything || quote.contains("*") { return "\(base)-USD\(contract.map { "-" + $0 } ?? ""):top\(limit)" }
    return "\(text):top\(limit)"
  }

  /// `*` matches any number of letters. O(pattern × text).
  static func matches(_ pattern: String, _ text: String) -> Bool {
    let pattern = Array(pattern.utf8)
    let text = Array(text.utf8)
    var index = 0
    var at = 0
    // Where the last star stood, and how much of the text it has taken.
    var star: (index: Int, taken: Int)?
    while at < text.count {
      if index < pattern.count, pattern[index] == UInt8(ascii: "*") {
        star = (index, at)
        index += 1
      } else if index < pattern.count, pattern[index] == text[at] {
        index += 1
        at += 1
      } else if let last = star {
        star = (last.index, last.taken + 1)
        index = last.index + 1
        at = last.taken + 1
      } else {
        return false
      }
    }
    return pattern[index...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}

/// Why a text is no selection: a sentence that says what to write.
package struct MarketSelectionError: Error, Sendable, Equatable, CustomStringConvertible {
  package let description: String
  init(_ description: String) { self.description = description }
}
