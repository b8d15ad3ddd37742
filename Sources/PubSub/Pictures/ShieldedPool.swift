import Bytes
import MarketData

/// The shielded part of an asset's supply, as a published document has it: `percent`, `amount`, `asset` and
/// `change_pct_24h`, decimals as text or as numbers.
package struct ShieldedPool: Sendable, Equatable {
  /// The topic whose newest document is the pool of the instrument that it names.
  package static let topic = "shielded-pool"
  /// The most bytes of an asset's code.
  private static let assetLimit = 20

  /// 0…100.
  let percent: Decimal64
  let amount: Decimal64?
  /// Nil: the asset of the market.
  let asset: String?
  /// The change of 24 h in percent, with two digits.
  let changeHundredths: Int64?

  /// Nil if the document is not an object with a `percent` of 0 to 100; other unreadable fields are left out. O(bytes).
  package init?(_ document: SharedBytes) {
    var percent: Decimal64?
    var amount: Decimal64?
    var asset: String?
    var changeHundredths: Int64?
    var json = JSONScanner(document.unsafeBytes.bytes)
    do throws(JSONError) {
      guard json.peek() == .object else { return nil }
      try json.objectStart()
      while let key = try json.nextKey() {
        let kind = json.peek()
        guard kind == .string || kind == .number else {
          try json.skipValue()
          continue
        }
        let value = kind == .string ? try json.string() : try json.number()
        if json.equals(key, "percent") {
          percent = Self.positive(json.text(value))
        } else if json.equals(key, "amount") {
          amount = Self.positive(json.text(value))
        } else if json.equals(key, "change_pct_24h") {
          changeHundredths = Self.decimal(json.text(value)).flatMap {
            Ratio.rescaled($0.mantissa, from: $0.scale, to: 2)
          }
        } else if json.equals(key, "asset"), kind == .string, (1...Self.assetLimit).contains(value.count) {
          asset = try json.decoded(value)
        }
      }
      try json.end()
    } catch {
      return nil
    }
    // At most 100, in Int128: a scale of 18 has a limit beyond an Int64.
    guard let percent, Int128(percent.mantissa) <= 100 * Int128(DecimalText.power(percent.scale)) else { return nil }
    self.percent = percent
    self.amount = amount
    self.asset = asset
    self.changeHundredths = changeHundredths
  }

  private static func positive(_ text: RawSpan) -> Decimal64? {
    decimal(text).flatMap { $0.mantissa >= 0 ? $0 : nil }
  }

  private static func decimal(_ text: RawSpan) -> Decimal64? {
    do throws(DecimalError) { return try DecimalText.parse(text) } catch { return nil }
  }

  /// `23.4`
  var percentText: String { Self.text(percent.mantissa, percent.scale) }

  /// "Shielded pool: 23.4 percent of supply."
  var words: String { "Shielded pool: \(percentText) percent of supply." }

  /// `1,234,567 ZEC`; with two digits below 1,000.
  func amountText(_ base: String) -> String? {
    guard let amount else { return nil }
    let digits = PriceWords(amount.mantissa, scale: amount.scale, currency: "").digits
    let isLarge = digits.contains(",")
    return "\(isLarge ? String(digits.prefix { $0 != "." }) : digits) \(asset ?? base)"
  }

  /// `▲ +0.12% (24h)`
  var changeText: String? {
    changeHundredths.map { change in
      "\(change > 0 ? "▲ +" : change < 0 ? "▼ " : "")\(Self.text(change, 2))% (24h)"
    }
  }

  private static func text(_ mantissa: Int64, _ scale: UInt8) -> String {
    var out = ByteBuffer(capacity: 32)
    out.append(decimal: mantissa, scale: scale)
    return String(decoding: out.takeBytes(), as: UTF8.self)
  }

  func add(to tag: inout ContentTag) {
    tag.add(words)
    tag.add(amountText("") ?? "")
    tag.add(changeText ?? "")
  }
}
