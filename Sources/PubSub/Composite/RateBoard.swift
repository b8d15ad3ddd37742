import MarketData

/// The conversions that have subscribers, computed from a table of live markets that the owner passes about four times
/// a second. Sans-IO; loop 0 has one.
package struct RateBoard {
  /// The most conversions that one `advance` computes, at up to 30 µs each with 2,000 markets; the others follow in
  /// turn.
  package static let atOnce = 48

  private struct Rate {
    let name: RateName
    /// The last published document; nil before the first.
    var shown: (head: String, oldest: Timestamp?)?
  }

  private var rates: [String: Rate] = [:]
  /// All conversions in the order of computation, and the index of the next one.
  private var names: [String] = []
  private var next = 0
  /// How many have not been computed with the present table.
  private var due = 0

  package init() {}

  package var isEmpty: Bool { rates.isEmpty }
  /// Whether all have been computed with the present table, so that a newer one makes sense.
  package var isDone: Bool { due == 0 }

  /// Adds a subscribed stream of a conversion; false if the text names no conversion.
  @discardableResult
  package mutating func want(_ text: String) -> Bool {
    guard let name = RateName(text) else { return false }
    if rates[text] == nil { names.append(text) }
    rates[text] = Rate(name: name)
    return true
  }

  package mutating func release(_ text: String) {
    guard rates.removeValue(forKey: text) != nil, let index = names.firstIndex(of: text) else { return }
    names.remove(at: index)
    if index < next { next -= 1 }
    due = min(due, names.count)
  }

  /// Marks every conversion to be computed with a new table.
  package mutating func begin() { due = names.count }

  /// Computes the next conversions.
  /// - Parameters:
  ///   - parts: the values from which the table was made.
  ///   - show: takes each document that differs from the one before.
  package mutating func advance(
    _ table: ConversionTable, _ parts: [QuotePart], show: (StreamDocumentName, StreamDocument) -> Void
  ) {
    guard due > 0 else { return }
    var sources: [String: DataSource] = [:]
    for part in parts where part.source != .live { sources[part.market.instrument.symbol] = part.source }
    for _ in 0..<min(due, Self.atOnce) {
      due -= 1
      if next >= names.count { next = 0 }
      let text = names[next]
      next += 1
      guard let rate = rates[text] else { continue }
      let document = Self.document(rate.name, table, sources)
      if let shown = rate.shown, shown.head == document.head, shown.oldest == document.oldest { continue }
      rates[text]?.shown = (document.head, document.oldest)
      show(StreamDocumentName(.rate, text), document)
    }
  }

  private static func document(
    _ name: RateName, _ table: ConversionTable, _ sources: [String: DataSource]
  ) -> StreamDocument {
    guard let conversion = table.convert(name.base, to: name.quote) else {
      for asset in [name.base, name.quote] where !table.hasAsset(asset) {
        return RateChannel.unavailable(name, "no live market has the asset \(asset)")
      }
      return RateChannel.unavailable(
        name, "no chain of at most \(ConversionTable.longest) live markets leads from \(name.base) to \(name.quote)")
    }
    let source = conversion.path.compactMap { sources[$0] }
    return RateChannel.rate(conversion, name, source.contains(.simulated) ? .simulated : source.first ?? .live)
  }
}
