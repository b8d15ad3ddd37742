import Bytes
import MarketData

/// Gemini's archived socket `/v2/marketdata`, which older clients know instead of the current one: `l2` of markets by
/// their names in upper case.
///
/// The first message of a market is its whole book with the latest trades, the newest first; then its changes come as
/// often as those of `depth@100ms`, trades as they happen, and a heartbeat every five seconds. Nothing is numbered:
/// what is missing cannot be told.
extension GeminiProtocol {
  static let archivePath = "/v2/marketdata"
  static let heartbeatInterval = 5 * Microseconds.second
  /// Trades in the first message of a market.
  static let replayed = 50

  func tendArchive(_ session: GeminiSession, _ now: Timestamp) {
    guard now - session.lastPing >= Self.heartbeatInterval else { return }
    session.lastPing = now
    session.send(.heartbeat, #"{"type":"heartbeat","timestamp":\#(ms: now)}"#)
  }

  /// `{"type":"subscribe","subscriptions":[{"name":"l2","symbols":["BTCUSD"]}]}`; what is asked of anything but `l2` is
  /// left out.
  func receiveArchived(_ text: RawSpan, _ session: GeminiSession) {
    guard let request = try? ClientMessage(text) else {
      return session.say(#"{"reason":"MalformedMessage","result":"error"}"#)
    }
    let names = request["subscriptions"].list.filter { $0["name"].text == "l2" }.flatMap { $0["symbols"].texts }
    let wanted = names.compactMap { name in
      indices.first { state($0).instrument.venueSymbol.uppercased() == name }
    }.filter { !isRefused($0) }
    guard !wanted.isEmpty else { return session.say(#"{"reason":"NoValidTradingPairs","result":"error"}"#) }
    for index in wanted {
      if request["type"].text == "unsubscribe" {
        desk.remove(session, .archive, index)
        left([Stream(channel: .archive, instrument: index)], session)
      } else if !desk.has(session, .archive, index) {
        // What is gathered belongs to those who were there before; the first message has it already.
        flush(.archive, index)
        desk.add(session, .archive, index)
        session.send(.bookSnapshot, instrument: index, whole(index))
      }
    }
  }

  func publishArchived(_ change: SimulatedChange) {
    let index = change.instrument
    guard !desk.isEmpty(.archive, index) else { return }
    books[.archive]![index].batch.add(change)
    for trade in change.trades { send(.archive, index, .trade, archived(trade, index)) }
  }

  private func whole(_ index: Int) -> JSONText {
    let state = state(index)
    let trades = JSONText.list(state.recentTrades.suffix(Self.replayed).reversed()) { archived($0, index) }
    return #"""
      \#(changes(index, state.book.bids.reversed(), state.book.asks.reversed())),"trades":[\#(trades)],\#
      "auction_events":[]}
      """#
  }

  /// Without the brace at the end. Prices have all their digits, sizes those that they need.
  func changes(_ index: Int, _ bids: [PriceLevel], _ asks: [PriceLevel]) -> JSONText {
    let instrument = state(index).instrument
    let (price, size) = (Spelling.quoted.of(instrument), Spelling.shortest.of(instrument))
    let levels = bids.map { (side: "buy", level: $0) } + asks.map { (side: "sell", level: $0) }
    let rows = JSONText.list(levels) { side, level in
      #"["\#(side)",\#(price.price(level.price)),\#(size.size(level.size))]"#
    }
    return #"{"type":"l2_updates","symbol":"\#(instrument.venueSymbol.uppercased())","changes":[\#(rows)]"#
  }

  /// With the number that the current socket gives the trade.
  private func archived(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let instrument = state(index).instrument
    let (price, size) = (Spelling.quoted.of(instrument), Spelling.shortest.of(instrument))
    return #"""
      {"type":"trade","symbol":"\#(instrument.venueSymbol.uppercased())","event_id":\#(Self.number(of: trade)),\#
      "timestamp":\#(ms: trade.time),"price":\#(price.price(trade.price)),"quantity":\#(size.size(trade.size)),\#
      "side":"\#(trade.side == .buy ? "buy" : "sell")"}
      """#
  }
}
