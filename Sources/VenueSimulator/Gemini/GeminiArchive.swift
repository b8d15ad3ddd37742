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
      let stream = Stream(.archive, index)
      if request["type"].text == "unsubscribe" {
        leave(stream, session)
      } else if !desk.has(session, stream) {
        join(stream, session)
      }
    }
  }

  func publishArchived(_ change: SimulatedChange) {
    let index = change.instrument
    guard !desk.isEmpty(.archive, index) else { return }
    books[.archive]![index].batch.add(change)
    for trade in change.trades { send(.archive, index, .trade, archived(trade, index)) }
  }

  func whole(_ index: Int) -> JSONText {
    let state = state(index)
    let trades = JSONText.list(state.recentTrades.suffix(Self.replayed).reversed()) { archived($0, index) }
    return #"\#(changes(index, state.book.sides)),"trades":[\#(trades)],"auction_events":[]}"#
  }

  /// Without the brace at the end. Prices have all their digits, sizes those that they need.
  func changes(_ index: Int, _ sides: BookSides) -> JSONText {
    let (i, short) = (Spelling.quoted.of(state(index)), Spelling.shortest.of(state(index)))
    let rows = JSONText.list(sides.labelled("buy", "sell")) { side, level in
      #"["\#(side)",\#(i.price(level.price)),\#(short.size(level.size))]"#
    }
    return #"{"type":"l2_updates","symbol":"\#(i.name.uppercased())","changes":[\#(rows)]"#
  }

  /// With the number that the current socket gives the trade.
  private func archived(_ trade: SimulatedTrade, _ index: Int) -> JSONText {
    let (i, short) = (Spelling.quoted.of(state(index)), Spelling.shortest.of(state(index)))
    return #"""
      {"type":"trade","symbol":"\#(i.name.uppercased())","event_id":\#(Self.number(of: trade)),\#
      "timestamp":\#(ms: trade.time),"price":\#(i.price(trade.price)),"quantity":\#(short.size(trade.size)),\#
      "side":"\#(trade.side == .buy ? "buy" : "sell")"}
      """#
  }
}
