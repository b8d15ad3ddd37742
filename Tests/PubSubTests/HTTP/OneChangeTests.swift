import Bytes
import Foundation
import MarketData
import Portfolio
import TestSupport
import Testing

@testable import PubSub

@Suite("One price and one change of 24 h in all places")
struct OneChangeTests {
  private static let route = MarketRoute(market: 0, instrument: InstrumentID(0))
  private static let symbol = "kraken:BTC-USD"

  /// What a place shows. Numbers are compared as numbers: a venue's text may have more zeros.
  private struct Shown: Equatable, CustomStringConvertible {
    var price: Decimal?
    var open: Decimal?
    var change: Decimal?
    var percent: Decimal?
    var trend: String?

    var description: String {
      "price \(text(price)), open \(text(open)), change \(text(change)) (\(text(percent)) %), \(trend ?? "no trend")"
    }
    private func text(_ value: Decimal?) -> String { value.map { "\($0)" } ?? "?" }
  }

  private static func decimal(_ value: Any?) -> Decimal? { (value as? String).flatMap { Decimal(string: $0) } }

  private static func json(_ text: String) -> [String: Any] {
    (try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]) ?? [:]
  }

  private static func ticker(_ data: [String: Any]) -> Shown {
    let change = decimal(data["change_24h"])
    return Shown(
      price: decimal(data["last"]), open: decimal(data["open_24h"]), change: change,
      percent: decimal(data["change_pct_24h"]), trend: change.map(trend))
  }

  private static func trend(_ change: Decimal) -> String { change > 0 ? "up" : change < 0 ? "down" : "flat" }

  private static func line(_ data: [String: Any]) -> Shown {
    Shown(
      price: decimal((data["points"] as? [String])?.last ?? data["price"]), open: decimal(data["open"]),
      change: decimal(data["change"]), percent: decimal(data["change_pct"]), trend: data["trend"] as? String)
  }

  /// The last data of each channel that a client has got.
  private static func data(_ client: ModelClient, _ channel: String) -> [String: Any] {
    let texts = client.texts.map(json).filter { $0["channel"] as? String == channel }
    return texts.last?["data"] as? [String: Any] ?? [:]
  }

  private static func subscribe(_ client: ModelClient) {
    let streams = ["ticker", "pulse", "sparkline"].map {
      "{\"channel\":\"\($0)\",\"symbols\":[\"\(symbol)\"],\"interval_ms\":0}"
    }
    _ = client.ask("{\"op\":\"subscribe\",\"id\":1,\"streams\":[\(streams.joined(separator: ","))]}")
  }

  /// All places at the moment, by name.
  private static func routes(_ world: World, _ old: ModelClient) throws -> [(name: String, shown: Shown)] {
    var routes: [(name: String, shown: Shown)] = []
    let new = world.client()
    subscribe(new)
    for (name, client) in [("a new subscriber", new), ("an old subscriber", old)] {
      let pulse = data(client, "pulse")
      routes.append((name: "the line of \(name)", shown: line(data(client, "sparkline"))))
      routes.append(
        (
          name: "the pulse of \(name)",
          // A pulse is an event: the change beside an earlier one is that of its moment.
          shown: Shown(
            price: decimal(pulse["price"]), percent: client === new ? decimal(pulse["change_pct_24h"]) : nil)
        ))
    }
    routes.append((name: "the ticker stream", shown: ticker(data(new, "ticker"))))
    new.leave()
    func view(_ view: MarketView) -> [String: Any] {
      let text = world.publishers[0].text(of: view, at: route, now: world.now).map {
        String(decoding: $0.fields, as: UTF8.self)
      }
      return json("{\"symbol\":\"x\"\(text ?? "")}")
    }
    let snapshot = view(.snapshot(points: 24))
    routes.append((name: "the snapshot's ticker", shown: ticker(snapshot["ticker"] as? [String: Any] ?? [:])))
    routes.append((name: "the snapshot's line", shown: line(snapshot["sparkline"] as? [String: Any] ?? [:])))
    let pulse = snapshot["pulse"] as? [String: Any] ?? [:]
    routes.append(
      (
        name: "the snapshot's pulse",
        shown: Shown(price: decimal(pulse["price"]), percent: decimal(pulse["change_pct_24h"]))
      ))
    routes.append((name: "/v1/tickers", shown: ticker(view(.ticker)["ticker"] as? [String: Any] ?? [:])))
    routes.append((name: "/v1/sparklines", shown: line(view(.sparkline(points: 96)))))
    let figures = try #require(world.publishers[0].cardFigures(.day, points: 96, at: route, now: world.now))
    let scale = Int(figures.instrument.priceScale)
    func amount(_ value: Int64?, _ digits: Int) -> Decimal? {
      value.map { Decimal(sign: $0 < 0 ? .minus : .plus, exponent: -digits, significand: Decimal($0.magnitude)) }
    }
    routes.append(
      (name: "the card", shown: Shown(price: amount(figures.price, scale), percent: amount(figures.changePercent, 2))))
    routes.append((name: "the portfolio", shown: try portfolio(world)))
    return routes
  }

  /// One unit in a portfolio.
  private static func portfolio(_ world: World) throws -> Shown {
    var part = try #require(
      world.publishers[0].quotePart(at: route, depth: 0, hasFigures: true, now: world.now))
    part.market.isLive = true
    var prices = PortfolioPrices([.init(part.market, isFeedLive: true)])
    let contents = PortfolioContents(
      currency: "USD", holdings: [.init(asset: "BTC", quantity: Decimal64(mantissa: 1, scale: 0))])
    let line = try #require(PricedPortfolio(contents, in: "USD", at: &prices).valuation.holdings.first)
    let change = line.dayProfit.flatMap { Decimal(string: $0.text) }
    return Shown(price: line.price.flatMap { Decimal(string: $0.text) }, change: change, trend: change.map(trend))
  }

  /// Compares what the places show, where they show it.
  private static func compare(_ routes: [(name: String, shown: Shown)], _ step: String) {
    func check<T: Hashable>(_ name: String, _ field: KeyPath<Shown, T?>, unless: (String) -> Bool = { _ in false }) {
      let values = Set(routes.filter { !unless($0.name) }.compactMap { $0.shown[keyPath: field] })
      guard values.count > 1 else { return }
      Issue.record("\(step): not one \(name)\n\(routes.map { "\($0.name): \($0.shown)" }.joined(separator: "\n"))")
    }
    check("price", \.price)
    check("price of 24 h ago", \.open)
    check("change", \.change)
    check("percentage", \.percent)
    check("trend", \.trend)
    // A place that can show the change shows it if another one does.
    let lines = routes.filter { $0.name.contains("ticker") || $0.name.contains("line") }
    let known = Set(lines.map { $0.shown.percent == nil })
    #expect(known.count == 1, "\(step): \(lines.map { "\($0.name): \($0.shown)" }.joined(separator: "\n"))")
  }

  private static func ticker(_ random: inout SeededGenerator, _ price: Int64, _ open: Int64, _ world: World) {
    var ticker = Ticker(instrument: InstrumentID(0), time: world.now)
    ticker.last = price
    let change = Decimal64(mantissa: price - open, scale: 1)
    switch Int.random(in: 0..<5, using: &random) {
    case 0: ticker.open = open
    case 1: ticker.change = change
    case 2: (ticker.open, ticker.change) = (open, change)
    case 3:
      (ticker.open, ticker.change, ticker.changePercent) = (
        open, change, Ratio.percent(price - open, of: open, digits: 3)
      )
    default: ticker.changePercent = Ratio.percent(price - open, of: open, digits: 2)
    }
    world.apply { $0.events.append(.ticker(ticker)) }
  }

  @Test("whatever has come, all places agree at one instant", arguments: testSeeds(200))
  func agreement(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let world = World()
    let old = world.client()
    Self.subscribe(old)
    let hasTicker = Bool.random(using: &random)
    var price: Int64 = 640_000
    var open = price + Int64.random(in: -20_000...20_000, using: &random)
    var id: UInt64 = 1
    var traded = price
    var tradedAt = Timestamp.distantPast
    if Bool.random(using: &random) {
      // The past of a day, as from the venue or the store.
      let candles = (1...Int64.random(in: 2...1_500, using: &random)).map { back -> Candle in
        let time = Timestamp(microseconds: (world.now.microseconds / 60_000_000 - back) * 60_000_000)
        let close = price + Int64.random(in: -9_000...9_000, using: &random)
        return Candle(
          instrument: InstrumentID(0), interval: .minute, time: time, open: close + 7, high: close + 9, low: close - 9,
          close: close, volume: 5, quoteVolume: nil, trades: nil, source: .venue, isClosed: true)
      }
      world.changes.removeAll()
      _ = world.markets[0].restore(candles, of: InstrumentID(0), now: world.now, into: &world.changes)
      world.publish(0)
    }
    for step in 0..<24 {
      for _ in 0..<Int.random(in: 1...5, using: &random) {
        price = max(1_000, price + Int64.random(in: -3_000...3_000, using: &random))
        open = max(1_000, open + Int64.random(in: -500...500, using: &random))
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where hasTicker:
          // A venue's ticker is ahead of its trades for a moment at most.
          let isAhead = id > 1 && world.now - tradedAt > 5 * Microseconds.second
          Self.ticker(&random, isAhead ? traded : price, open, world)
        case 1: world.quote(price - 1, price + 2)
        default:
          world.trade(id: id, price: price)
          (id, traded, tradedAt) = (id + 1, price, world.now)
        }
        if Bool.random(using: &random) { world.run(milliseconds: 100) }
      }
      if step % 6 == 5 { world.run(milliseconds: 400_000, step: 20_000) }
      // Merged pulses have left.
      world.run(milliseconds: 300)
      guard id > 1 else { continue }
      Self.compare(try Self.routes(world, old), "step \(step)")
    }
  }
}
