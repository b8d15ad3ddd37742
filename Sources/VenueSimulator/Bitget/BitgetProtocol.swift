import Bytes
import MarketData

/// A client of the simulated Bitget.
final class BitgetSession: SimulatedSession {
  /// When the client last sent the text `ping`.
  lazy var lastPing = opened
  /// Subscribing ones.
  lazy var requests = RequestCount(240, per: Microseconds.hour, from: opened)
}

enum BitgetChannel: Hashable {
  case books
  /// The best 1, 5 or 15 levels, whole each time.
  case window(Int)
  case trade
  case ticker

  init?(name: String) {
    switch name {
    case "books": self = .books
    case "books1": self = .window(1)
    case "books5": self = .window(5)
    case "books15": self = .window(15)
    case "trade": self = .trade
    case "ticker": self = .ticker
    default: return nil
    }
  }

  var name: String {
    switch self {
    case .books: "books"
    case .window(let depth): "books\(depth)"
    case .trade: "trade"
    case .ticker: "ticker"
    }
  }
}

/// Bitget v2's public socket of all families: `books`, `books1`, `books5`, `books15`, `trade`, `ticker`, the text
/// `ping`; REST in `BitgetREST`.
///
/// Numbers are strings without trailing zeros. Each argument is acknowledged or refused by itself, and a market asked
/// for under another family's name is acknowledged and silent. Updates of a book name the number before theirs. There
/// is no checksum, no heartbeat of the venue's own, and no word before an end.
final class BitgetProtocol: DeskProtocol<BitgetSession, BitgetChannel> {
  static let depth = 500
  /// Without a `ping` a connection ends after this long, whatever flows.
  static let pingLimit = 127 * Microseconds.second
  static let lifetime = Microseconds.day
  /// Client messages a second, pings among them.
  static let messageLimit = 10
  /// Channels of a connection, and bytes of one request.
  static let channelLimit = 1_000
  static let byteLimit = 4_096
  /// Trades of the first message.
  static let replayed = 30
  static let families = ["SPOT", "USDT-FUTURES", "COIN-FUTURES", "USDC-FUTURES"]

  private struct Book {
    var window = BookWindow(depth: BitgetProtocol.depth)
    var number: Int64
  }

  private lazy var books = market.instruments.map { Book(number: Self.number($0)) }
  /// Requests by REST of each path.
  var budgets: [String: RequestBudget] = [:]

  override class var facts: SimulatedFacts {
    SimulatedFacts(name: "bitget", spelling: .shortest, paths: ["/v2/ws/public"])
  }

  static func family(_ instrument: SimulatedInstrument) -> String { instrument.isSpot ? "SPOT" : "USDT-FUTURES" }

  /// Whether the snapshots of a market stand between the two numbers of the update that follows.
  static func isOnTheWay(_ index: Int) -> Bool { (index + 1) / 2 % 2 == 1 }

  /// Rises by some thousands with every change.
  private static func number(_ state: InstrumentMarket) -> Int64 { state.updateID * 2_857 }

  // MARK: - Requests

  override func tend(_ session: BitgetSession, _ now: Timestamp) {
    if now - session.lastPing >= Self.pingLimit || now - session.opened >= Self.lifetime { session.abort() }
  }

  override func receive(_ text: RawSpan, _ session: BitgetSession) {
    if session.exceeds(Self.messageLimit) {
      fail(30_007, "request over limit", session)
      return session.close(1006, "")
    }
    if text.withUnsafeBytes({ $0.elementsEqual("ping".utf8) }) {
      session.lastPing = now
      return session.say("pong")
    }
    guard let request = try? ClientMessage(text), ["subscribe", "unsubscribe"].contains(request["op"].text) else {
      let shown = text.withUnsafeBytes { String(decoding: $0.prefix(200), as: UTF8.self) }
      return fail(30_002, "Unrecognized request:\(shown)", session)
    }
    guard session.requests.take(at: now) else { return fail(30_006, "request too many", session) }
    guard text.byteCount <= Self.byteLimit else { return fail(30_016, "Param error", session) }
    for argument in request["args"].list { carryOut(request["op"].text, argument, session) }
  }

  private func fail(_ code: Int64, _ message: String, _ session: BitgetSession) {
    session.say(#"{"event":"error","code":\#(code),"msg":\#(json: message),"op":""}"#)
  }

  private func carryOut(_ operation: String, _ argument: ClientMessage, _ session: BitgetSession) {
    let (family, name) = (argument["instType"].text, argument["instId"].text)
    let text: JSONText =
      #"{"instType":\#(json: family),"channel":\#(json: argument["channel"].text),"instId":\#(json: name)}"#
    func refuse(_ code: Int64, _ message: String) {
      session.say(
        #"{"event":"error","arg":\#(text),"code":\#(code),"msg":\#(json: message),"op":\#(json: operation)}"#)
    }
    guard let channel = BitgetChannel(name: argument["channel"].text), Self.families.contains(family) else {
      return refuse(30_016, "Param error")
    }
    let named = indices.filter { state($0).instrument.venueSymbol == name }
    let index = named.first { Self.family(state($0).instrument) == family }
    let isRefused = index.map { self.isRefused($0, channel) } ?? named.isEmpty
    guard !isRefused || operation == "unsubscribe" else {
      return refuse(
        30_001, "instType:\(family),channel:\(channel.name),instId:\(name),precision:null doesn't exist")
    }
    let isFull = desk.streams(of: session).count >= Self.channelLimit
    guard operation == "unsubscribe" || !isFull else { return refuse(30_006, "request too many") }
    session.say(#"{"event":\#(json: operation),"arg":\#(text)}"#)
    guard let index else { return }
    let stream = Stream(channel, index)
    if operation == "unsubscribe" { leave(stream, session) } else { join(stream, session) }
  }

  /// Sends what a channel begins with; again if it is asked for again.
  override func begin(_ stream: Stream, _ session: BitgetSession) {
    let (index, state) = (stream.instrument, state(stream.instrument))
    switch stream.channel {
    case .books:
      // Those who are there get what is gathered; the newcomer's snapshot has it already.
      if desk.isEmpty(.books, index) {
        _ = books[index].window.move(to: state.book)
        books[index].number = Self.number(state)
      } else {
        flush(index)
      }
      // Whether a snapshot has the number that the next update names, or one behind it, is said in two ways.
      let number = books[index].number + (Self.isOnTheWay(index) ? 1 : 0)
      session.send(
        .bookSnapshot, instrument: index, book(index, .books, "snapshot", state.book.top(Self.depth), number, 0))
    case .window(let depth): session.send(.quote, instrument: index, window(index, depth))
    case .trade:
      session.send(.trade, instrument: index, trades(index, "snapshot", state.recentTrades.suffix(Self.replayed)))
    case .ticker: session.send(.ticker, instrument: index, ticker(index))
    }
  }

  // MARK: - The market

  override func publish(_ change: SimulatedChange) {
    let index = change.instrument
    if !change.trades.isEmpty { send(.trade, index, .trade, trades(index, "update", change.trades[...])) }
    if change.isTopChanged { send(.window(1), index, .quote, window(index, 1)) }
  }

  override func tick(_ index: Int, _ now: Timestamp) {
    let isSpot = state(index).instrument.isSpot
    // Books of contracts come every 100 ms, of spot every 200.
    if ticks % (isSpot ? 4 : 2) == 0 { flush(index) }
    // Unchanged ones are repeated.
    if ticks % 3 == 0 { for depth in [5, 15] { send(.window(depth), index, .quote, window(index, depth)) } }
    if ticks % (isSpot ? 6 : 8) == 0 { send(.ticker, index, .ticker, ticker(index)) }
  }

  private func flush(_ index: Int) {
    guard !desk.isEmpty(.books, index) else { return }
    let book = state(index).book
    // It is not known whether the venue reports levels that leave the window: here it does for every other market.
    let sides = index / 2 % 2 == 0 ? books[index].window.move(to: book) : books[index].window.moveSilently(to: book)
    guard !sides.isEmpty else { return }
    let previous = books[index].number
    books[index].number = Self.number(state(index))
    let text = self.book(index, .books, "update", sides, books[index].number, previous)
    send(.books, index, .book(isVisible: true), text)
  }

  // MARK: - Texts

  private func message(_ index: Int, _ channel: BitgetChannel, _ action: StaticString, _ data: JSONText) -> JSONText {
    let i = spell(index)
    return #"""
      {"action":"\#(action)","arg":{"instType":"\#(Self.family(i.instrument))","channel":"\#(channel.name)",\#
      "instId":"\#(i.name)"},"data":[\#(data)],"ts":\#(ms: now + 1_000)}
      """#
  }

  private func book(
    _ index: Int, _ channel: BitgetChannel, _ action: StaticString, _ sides: BookSides, _ number: Int64,
    _ previous: Int64
  ) -> JSONText {
    let i = spell(index)
    let levels: JSONText = #"{"asks":\#(i.pairs(sides.asks)),"bids":\#(i.pairs(sides.bids)),"#
    // The order of the rest varies.
    let rest: JSONText =
      index % 2 == 0
      ? #""ts":"\#(ms: now)","seq":\#(number),"pseq":\#(previous)}"#
      : #""pseq":\#(previous),"seq":\#(number),"ts":"\#(ms: now)"}"#
    return message(index, channel, action, "\(levels)\(rest)")
  }

  private func window(_ index: Int, _ depth: Int) -> JSONText {
    let state = state(index)
    return book(index, .window(depth), "snapshot", state.book.top(depth), Self.number(state), 0)
  }

  /// The newest first; ids have nineteen digits and are not dense.
  private func trades(_ index: Int, _ action: StaticString, _ list: ArraySlice<SimulatedTrade>) -> JSONText {
    let i = spell(index)
    let rows = JSONText.list(list.reversed()) { trade in
      #"""
      {"ts":"\#(ms: trade.time)","price":\#(i.price(trade.price)),"size":\#(i.size(trade.size)),\#
      "side":"\#(trade.side == .buy ? "buy" : "sell")","tradeId":"\#(1_478_000_000_000_000_000 + trade.id * 4_001)"}
      """#
    }
    return message(index, .trade, action, rows)
  }

  /// Contracts have more figures, and their name twice.
  private func ticker(_ index: Int) -> JSONText {
    let i = spell(index)
    let head: JSONText =
      #"""
      {"instId":"\#(i.name)","lastPr":\#(i.last),"open24h":\#(i.open),"high24h":\#(i.high),"low24h":\#(i.low),\#
      "change24h":\#(i.rise(5)),"bidPr":\#(i.bid),"askPr":\#(i.ask),"bidSz":\#(i.bidSize),"askSz":\#(i.askSize),\#
      "baseVolume":\#(i.volume),"quoteVolume":\#(i.quoteVolume),"openUtc":\#(i.open),
      """#
    let d = i.derivative(now: now)
    let more: JSONText =
      i.instrument.isSpot
      ? ""
      : #"""
      "fundingRate":\#(i.rate(d)),"nextFundingTime":"\#(ms: d.settlement)","markPrice":\#(i.mark(d)),\#
      "indexPrice":\#(i.index(d)),"holdingAmount":\#(i.number(d.openInterestBase)),"symbolType":"1",\#
      "symbol":"\#(i.name)",
      """#
    return message(index, .ticker, "snapshot", #"\#(head)\#(more)"ts":"\#(ms: now)"}"#)
  }

  override func respond(_ request: SimulatedRequest) -> SimulatedResponse { answer(request) }
}
