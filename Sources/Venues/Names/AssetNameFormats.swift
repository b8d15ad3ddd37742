/// The venues that say what their assets are called to anybody who asks. Each from its documents or from recorded
/// answers.
extension AssetNameFormat {
  /// The format of a venue; nil where it says no names, or only with a key.
  package static func format(of venue: Venue) -> AssetNameFormat? {
    switch venue.name {
    case "bitfinex": bitfinex
    case "coinbase": coinbase
    case "deribit": deribit
    case "kucoin": kuCoin
    default: nil
    }
  }

  /// `[{"id":"BTC","name":"Bitcoin","min_size":"0.00000001",…}]`, fiat money too.
  static let coinbase = AssetNameFormat(path: "/currencies", layout: .objects(under: [], code: "id", name: "name"))

  /// `{"code":"200000","data":[{"currency":"BTC","name":"BTC","fullName":"Bitcoin",…}]}`: `name` is the code again.
  static let kuCoin = AssetNameFormat(
    path: "/api/v3/currencies", layout: .objects(under: ["data"], code: "currency", name: "fullName"))

  /// `{"jsonrpc":"2.0","result":[{"currency":"BTC","currency_long":"Bitcoin",…}]}`
  static let deribit = AssetNameFormat(
    path: "/api/v2/public/get_currencies",
    layout: .objects(under: ["result"], code: "currency", name: "currency_long"))

  /// Two lists in one answer.
  static let bitfinex = AssetNameFormat(
    path: "/v2/conf/pub:map:currency:label,pub:map:currency:sym", layout: .pairs)
}
