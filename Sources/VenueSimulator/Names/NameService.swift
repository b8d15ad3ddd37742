import Bytes
import MarketData

/// What simulated venues call their assets.
struct NameService {
  /// Names that are well known; other assets are called by their codes.
  private static let known = [
    "BTC": "Bitcoin", "ETH": "Ethereum", "ZEC": "Zcash", "SOL": "Solana", "DOGE": "Dogecoin", "ADA": "Cardano",
    "XRP": "XRP Ledger", "LTC": "Litecoin", "LINK": "Chainlink", "DOT": "Polkadot", "AVAX": "Avalanche",
    "USD": "US Dollar", "EUR": "Euro", "GBP": "British Pound", "USDT": "Tether", "USDC": "USD Coin",
  ]

  /// A row: the code that the venue writes, and the name.
  typealias Row = (code: String, name: String)

  /// The assets of a market, each once, bases before quotes.
  static func rows(_ market: SimulatedMarket) -> [Row] {
    var rows: [Row] = []
    for code in market.instruments.map(\.instrument.base) + market.instruments.map(\.instrument.quote)
    where !rows.contains(where: { $0.code == code }) {
      rows.append((code, known[code] ?? code))
    }
    return rows
  }

  /// A list in a venue's own words.
  /// - Parameters:
  ///   - row: writes a row; the name as JSON, null for one that is missing.
  ///   - body: what stands around the rows.
  static func answer(
    _ market: SimulatedMarket, _ fault: NameFault?, row: (_ code: String, _ name: JSONText) -> JSONText,
    body: (JSONText) -> JSONText
  ) -> SimulatedResponse {
    var rows = rows(market).map { row($0.code, "\(json: $0.name)") }
    switch fault {
    case .empty: rows = []
    case .ragged:
      rows.insert(row("NUL", "null"), at: 0)
      rows += [row("NUM", "17"), "{}", "[]", "null", "\"BTC\"", row("", "\"Nothing\"")]
    case .hostile:
      rows += [
        row("BTC", "\"Not Bitcoin\""), row("CTL", #""A\u0007B\nC""#), row("RTL", #""\u202Enioctib""#),
        row("LNG", "\(json: String(repeating: "x", count: 70_000))"), row("<B>", "\"Markup\""),
        row("XSS", "\"<script>alert(1)</script>\""),
      ]
    case .cut, .limited, nil: break
    }
    let text = body(JSONText.list(rows) { $0 })
    var response = SimulatedResponse(text)
    if fault == .cut { response.body = String(response.body.prefix(response.body.count / 2)) }
    return response
  }
}
