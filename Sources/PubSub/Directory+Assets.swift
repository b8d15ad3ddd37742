import MarketData
import Portfolio

/// What is wrong with the name of an asset.
package enum AssetMistake: Sendable, Equatable {
  /// The asset is known, and written otherwise.
  case spelling(String)
  /// Nobody trades or names it; the nearest of those that there are.
  case unknown(near: [String])

  /// For a hint: `did you mean BTC?`
  package var hint: String {
    switch self {
    case .spelling(let name): "did you mean \(name)? assets are written as in symbols"
    case .unknown(let near) where near.isEmpty: "write assets as in symbols: BTC, EUR; GET /v1/assets lists them"
    case .unknown(let near): "did you mean \(near.joined(separator: " or "))? GET /v1/assets lists them"
    }
  }
}

extension Directory {
  /// What is wrong with an asset's name; nil for an asset of a market, one that a venue names, and a state's currency.
  ///
  /// While a configured venue has not listed its markets yet, a name that could still turn out to be an asset passes:
  /// one without letters a to z. O(1) for a known asset, else O(assets).
  package mutating func mistake(inAsset name: String) -> AssetMistake? {
    guard !isKnown(name) else { return nil }
    if let mistake = misspelling(inAsset: name) { return mistake }
    var isListed = !venues.isEmpty
    for venue in venues where !hasInstruments(of: venue[...]) { isListed = false }
    guard isListed || Self.capitals(name) != name else { return nil }
    return .unknown(near: NearNames.of(name, among: tradedAssets().names))
  }

  /// The right name of an asset that is known, and not by this name. For requests that nothing keeps: an asset that
  /// nobody trades has no price there, and the answer says so. O(1).
  package mutating func misspelling(inAsset name: String) -> AssetMistake? {
    guard !isKnown(name) else { return nil }
    let capitals = Self.capitals(name)
    if let right = tradedAssets().byCapitals[capitals] { return .spelling(right) }
    return names.has(capitals) || Self.currencies.contains(capitals[...]) ? .spelling(capitals) : nil
  }

  private mutating func isKnown(_ name: String) -> Bool {
    tradedAssets().names.contains(name) || names.has(name) || Self.currencies.contains(name[...])
  }

  /// ISO 4217, without funds, metals and testing codes. A holding of such a currency needs no market here.
  private static let currencies = Set(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY \
    COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS \
    INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP \
    MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR \
    SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV \
    WST XAF XCD XOF XPF YER ZAR ZMW ZWG
    """.split(separator: " "))
}
