import Bytes
import MarketData

extension HistoryBatch {
  /// Appends the present state of an instrument for the next run, unless there was no trade yet. The state says up to
  /// which trade candles are complete, so closed minutes that late trades have changed go into the same transaction.
  package mutating func appendLatest(
    _ market: Market, _ id: InstrumentID, as symbol: String, trades: ArraySlice<Trade>, now: Timestamp
  ) {
    guard let state = LatestState(market, id, as: symbol, trades: trades, now: now) else { return }
    latest.append(state)
    for candle in market.unissuedMinutes(of: id, now: now) where candle.source != .venue && candle.volume > 0 {
      minutes.append(.init(symbol: symbol, candle: StoredCandle(candle, of: market[id].instrument)))
    }
  }
}

extension LatestState {
  /// The present state of an instrument, for the next run; nil before the first trade.
  /// - Parameters:
  ///   - trades: the last published trades, oldest first.
  package init?(_ market: Market, _ id: InstrumentID, as symbol: String, trades: ArraySlice<Trade>, now: Timestamp) {
    let state = market[id]
    guard let trade = state.lastTrade else { return nil }
    let instrument = state.instrument
    let minutes = market.openMinutes(of: id, now: now).filter { $0.candle.volume > 0 }.map { minute in
      var candle = StoredCandle(minute.candle, of: instrument)
      candle.quality = .partial
      return OpenMinute(candle: candle, closeTime: minute.closeTime)
    }
    self.init(
      symbol: symbol, time: now, priceScale: instrument.priceScale, sizeScale: instrument.sizeScale,
      trade: .init(trade), trades: trades.map { .init($0) }, minutes: minutes)
  }

  /// The last trades at the instrument's scales, oldest first; none if one of them has more digits.
  package func trades(of instrument: Instrument) -> [Trade] {
    let all = trades.isEmpty ? trade.map { [$0] } ?? [] : trades
    let result = all.compactMap { $0.trade(of: instrument, priceScale: priceScale, sizeScale: sizeScale) }
    return result.count == all.count ? result : []
  }

  /// The last trade at the instrument's scales; nil if there was no trade, or it has more digits.
  package func lastTrade(of instrument: Instrument) -> Trade? {
    trade?.trade(of: instrument, priceScale: priceScale, sizeScale: sizeScale)
  }
}

extension LatestState.LastTrade {
  init(_ trade: Trade) {
    self.init(
      id: trade.id.text, price: trade.price, size: trade.size, isBuy: trade.side == .buy, time: trade.time)
  }

  fileprivate func trade(of instrument: Instrument, priceScale: UInt8, sizeScale: UInt8) -> Trade? {
    guard instrument.priceScale >= priceScale, instrument.sizeScale >= sizeScale else { return nil }
    let (price, isPriceLarge) = price.multipliedReportingOverflow(
      by: Int64(DecimalText.power(instrument.priceScale - priceScale)))
    let (size, isSizeLarge) = size.multipliedReportingOverflow(
      by: Int64(DecimalText.power(instrument.sizeScale - sizeScale)))
    guard !isPriceLarge, !isSizeLarge else { return nil }
    let id = Array(id.utf8)
    return Trade(
      instrument: instrument.id, id: TradeID(id.span.bytes), price: price, size: size, side: isBuy ? .buy : .sell,
      time: time, isBacklog: true)
  }
}
