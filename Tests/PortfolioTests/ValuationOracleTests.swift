import Bytes
import Foundation
import MarketData
import Portfolio
import TestSupport
import TestTraits
import Testing

@Suite("Valuation beside Python's decimal")
struct ValuationOracleTests {
  private struct Sample {
    var json: [String: Any] = [:]
    var ledger: PortfolioLedger
    var refused = 0
    var prices: [String: (price: PriceReading, rate: PriceReading)] = [:]
    var costRate: PriceReading
    var positions: [PositionReading] = []
  }

  @Test(
    "10,000 random portfolios with conversions have the same lines and totals, digit for digit", .longComputation,
    .enabled(if: DecimalOracle.python != nil, "skipped: there is no python3 here"))
  func tenThousand() throws {
    let seed = testSeeds(1)[0]
    var random = SeededGenerator(seed: seed)
    let samples = (0..<10_000).map { _ in Self.sample(&random) }
    let lines = try samples.map {
      String(decoding: try JSONSerialization.data(withJSONObject: $0.json, options: .sortedKeys), as: UTF8.self)
    }
    let answers = try DecimalOracle.answers(to: lines)
    try #require(answers.count == samples.count)
    for (index, (sample, answer)) in zip(samples, answers).enumerated() {
      let expected = try JSONSerialization.jsonObject(with: Data(answer.utf8))
      let canonical = try JSONSerialization.data(withJSONObject: expected, options: .sortedKeys)
      let own = try JSONSerialization.data(withJSONObject: Self.own(sample), options: .sortedKeys)
      try #require(
        String(decoding: own, as: UTF8.self) == String(decoding: canonical, as: UTF8.self),
        "seed \(seed), portfolio \(index): \(lines[index])")
    }
  }

  private static func own(_ sample: Sample) -> [String: Any] {
    let valuation = Valuation(
      sample.ledger.assets.map { asset in
        let reading = sample.prices[asset.asset]!
        return HoldingReading(
          asset: asset.asset, quantity: asset.quantity, cost: asset.isCostKnown ? asset.cost : nil,
          realised: asset.isRealisedKnown ? asset.realised : nil, price: reading.price, rate: reading.rate,
          costRate: sample.costRate)
      }, sample.positions)
    func text(_ number: WideDecimal?) -> Any { number?.text ?? NSNull() }
    let lines = valuation.holdings.map { line in
      var json: [String: Any] = [
        "asset": line.asset, "quantity": line.quantity.text, "cost": text(line.cost),
        "unrealised": text(line.unrealised), "realised": text(line.realised),
      ]
      if let price = line.price { json["price"] = price.text }
      if let value = line.value { json["value"] = value.text }
      if let share = line.share { json["share"] = share.text }
      if let day = line.dayProfit {
        json["day"] = day.text
        json["day_percent"] = text(line.dayPercent)
      }
      return json
    }
    return [
      "refused": sample.refused, "lines": lines,
      "positions": valuation.positions.map {
        [text($0.unrealised), text($0.unrealisedPercent), text($0.liquidationPrice), text($0.marginPercent)]
      },
      "value": text(valuation.value), "day": text(valuation.dayProfit), "day_percent": text(valuation.dayPercent),
      "cost": text(valuation.cost), "unrealised": text(valuation.unrealised), "realised": text(valuation.realised),
    ]
  }

  // MARK: Random portfolios

  private static func sample(_ random: inout SeededGenerator) -> Sample {
    let currency = ["USD", "EUR"][Int.random(in: 0...1, using: &random)]
    let method = CostMethod.allCases[Int.random(in: 0...1, using: &random)]
    let costRate = decimal(&random)
    var sample = Sample(
      ledger: PortfolioLedger(currency: currency, method: method),
      costRate: PriceReading(costRate))
    let assets = ["BTC", "ETH", "ZEC", "USD", "DOGE"]
    var transactions: [[String: Any]] = []
    for _ in 0..<Int.random(in: 0...30, using: &random) {
      let asset = assets[Int.random(in: 0..<assets.count, using: &random)]
      let kind = PortfolioTransaction.Kind.allCases[Int.random(in: 0..<5, using: &random)]
      var transaction = PortfolioTransaction(kind, asset, quantity: decimal(&random), time: Timestamp(microseconds: 0))
      // Often all there is: that is another path.
      if kind == .sell, Int.random(in: 0...3, using: &random) == 0,
        let held = sample.ledger.assets.first(where: { $0.asset == asset })?.quantity,
        let all = decimal64(held.text), all.mantissa > 0
      {
        transaction.quantity = all
      }
      var json: [String: Any] = ["kind": kind.rawValue, "asset": asset, "quantity": text(transaction.quantity)]
      if kind == .buy || kind == .sell || Int.random(in: 0...1, using: &random) == 0 {
        transaction.price = decimal(&random)
        json["price"] = text(transaction.price!)
      }
      if Int.random(in: 0...2, using: &random) == 0 {
        transaction.fee = decimal(&random)
        json["fee"] = text(transaction.fee!)
      }
      transactions.append(json)
      do { try sample.ledger.apply(transaction) } catch { sample.refused += 1 }
    }
    var prices: [String: Any] = [:]
    for asset in assets {
      let (rate, rateThen) = (decimal(&random), decimal(&random))
      var json: [String: Any] = ["rate": text(rate), "rate_then": text(rateThen)]
      var reading = PriceReading(nil)
      if Int.random(in: 0...9, using: &random) > 0 {
        reading = PriceReading(decimal(&random))
        json["price"] = text(reading.price!)
        if Int.random(in: 0...4, using: &random) > 0 {
          reading.dayOpen = decimal(&random)
          json["open"] = text(reading.dayOpen!)
        }
      }
      prices[asset] = json
      sample.prices[asset] = (reading, PriceReading(rate, dayOpen: rateThen))
    }
    var positions: [[String: Any]] = []
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      var position = PositionReading(
        symbol: "binance:BTC-USDT-PERP", side: PositionReading.Side.allCases[Int.random(in: 0...1, using: &random)],
        size: decimal(&random), leverage: Decimal64(mantissa: Int64.random(in: 10...1_250, using: &random), scale: 1),
        entry: decimal(&random), mark: PriceReading(decimal(&random)), rate: PriceReading(decimal(&random)))
      if position.size.mantissa % 6 == 0 { position.leverage = Decimal64(mantissa: 1, scale: 0) }
      if position.size.mantissa % 4 > 0 {
        position.maintenance = Decimal64(mantissa: 1 + position.entry.mantissa % 999_999, scale: 6)
      }
      sample.positions.append(position)
      var json: [String: Any] = [
        "side": position.side.rawValue, "size": text(position.size), "leverage": text(position.leverage),
        "entry": text(position.entry), "mark": text(position.mark.price!), "rate": text(position.rate.price!),
      ]
      if let maintenance = position.maintenance { json["maintenance"] = text(maintenance) }
      positions.append(json)
    }
    sample.json = [
      "currency": currency, "method": method.rawValue, "transactions": transactions, "prices": prices,
      "positions": positions, "cost_rate": text(costRate),
    ]
    return sample
  }

  /// Above 0, up to 15 digits, up to 12 of them after the point.
  private static func decimal(_ random: inout SeededGenerator) -> Decimal64 {
    let digits = UInt8.random(in: 1...15, using: &random)
    return Decimal64(
      mantissa: Int64.random(in: 1...Int64(DecimalText.power(digits)), using: &random),
      scale: UInt8.random(in: 0...12, using: &random))
  }

  private static func text(_ value: Decimal64) -> String {
    var out = ByteBuffer()
    out.append(value)
    return out.description
  }

  private static func decimal64(_ text: String) -> Decimal64? {
    Array(text.utf8).withUnsafeBytes { try? DecimalText.parse(RawSpan(_unsafeBytes: $0)) }
  }
}
