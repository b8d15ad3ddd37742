import Bytes
import MarketData
import PubSub

/// A client of Kraken's WebSocket protocol v2.
final class KrakenSession: DialectSession {
  private let markets: DialectMarkets
  /// Whether it has subscribed to anything: heartbeats begin then.
  private var hasSubscribed = false

  init(_ markets: DialectMarkets) { self.markets = markets }

  let heartbeatSeconds = 1

  func open(_ desk: inout DialectContext) {
    // Unique for Kraken; no client reads it.
    let id = UInt64(bitPattern: desk.now.microseconds)
    desk.send { out in
      out.append("{\"channel\":\"status\",\"type\":\"update\",\"data\":[{\"version\":\"2.0.10\",\"system\":\"online\",")
      out.append("\"api_version\":\"v2\",\"connection_id\":")
      out.append(integer: id)
      out.append("}]}")
    }
  }

  func heartbeat(isQuiet: Bool, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    guard hasSubscribed, isQuiet else { return false }
    out.append("{\"channel\":\"heartbeat\"}")
    return true
  }

  func farewell(_ code: UInt16, _ reason: String) -> DialectFarewell { .standard(code, reason) }

  func receive(_ message: RawSpan, _ desk: inout DialectContext) {
    do throws(KrakenRequest.Problem) {
      let request = try KrakenRequest.parse(message)
      switch request.method {
      case .ping: answerPing(request, &desk)
      case .subscribe where request.channelName == "instrument": sendInstruments(request, &desk)
      case .subscribe, .unsubscribe: try change(request, &desk)
      }
    } catch {
      refuse(error, symbol: nil, &desk)
    }
  }

  // MARK: Subscriptions

  private func change(_ request: KrakenRequest, _ desk: inout DialectContext) throws(KrakenRequest.Problem) {
    guard !request.symbols.isEmpty else {
      throw problem("Missing field: 'symbol'", request)
    }
    let held = request.method == .unsubscribe ? Dictionary(grouping: desk.subscriptions, by: \.symbol) : [:]
    for symbol in request.symbols {
      do throws(KrakenRequest.Problem) {
        try change(symbol, request, held, &desk)
      } catch {
        refuse(error, symbol: symbol, &desk)
      }
    }
  }

  private func change(
    _ symbol: String, _ request: KrakenRequest, _ held: [String: [StreamKey]], _ desk: inout DialectContext
  ) throws(KrakenRequest.Problem) {
    let key = try KrakenChannel.key(of: request, symbol: "")
    let entry: DirectoryEntry
    do throws(DialectMarkets.Refusal) {
      entry = try markets.check(find(symbol, in: desk.directory), key.channel, desk.grant, desk.feeds)
      if request.method == .subscribe, desk.room <= 0 { throw .tooMany }
    } catch {
      let words =
        error == .unknown ? "Currency pair not supported \(symbol.prefix(40))" : "\(symbol.prefix(40)): \(error.words)"
      throw problem(words, request)
    }
    let stream = key.named(entry.instrument.symbol)
    answer(request, symbol: symbol, key, &desk)
    if request.method == .subscribe {
      hasSubscribed = true
      desk.join(stream)
    } else {
      for key in held[stream.symbol] ?? [] where key.isMeant(by: request, stream) { desk.leave(key) }
    }
  }

  /// `BTC/USD`; clients of the first protocol say `XBT/USD`.
  private func find(_ name: String, in directory: Directory) -> DirectoryEntry? {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    return markets.entry(parts[0], parts[1], in: directory)
      ?? markets.entry(parts[0] == "XBT" ? "BTC" : parts[0] == "XDG" ? "DOGE" : parts[0], parts[1], in: directory)
  }

  private func problem(_ words: String, _ request: KrakenRequest) -> KrakenRequest.Problem {
    KrakenRequest.Problem(words: words, method: request.method.rawValue, id: request.id)
  }

  // MARK: Answers

  private func answer(_ request: KrakenRequest, symbol: String?, _ key: StreamKey?, _ desk: inout DialectContext) {
    let now = desk.now
    desk.send { out in
      out.append("{\"method\":\"")
      out.append(request.method.rawValue)
      out.append("\",\"result\":{\"channel\":")
      out.append(json: request.channelName)
      if let symbol { out.append("symbol", text: symbol) }
      if let key, request.channelName == "book" { out.append("depth", integer: Int64(key.depth)) }
      if let key, request.channelName == "ohlc" { out.append("interval", integer: key.candle.minutes) }
      if request.channelName == "ticker" { out.append("event_trigger", text: request.trigger ?? "trades") }
      if request.method == .subscribe {
        out.append(request.sendsSnapshot ? ",\"snapshot\":true" : ",\"snapshot\":false")
      }
      out.append("},\"success\":true")
      Self.appendEnd(request.id, now, to: &out)
    }
  }

  private func refuse(_ problem: KrakenRequest.Problem, symbol: String?, _ desk: inout DialectContext) {
    let now = desk.now
    desk.send { out in
      out.append("{\"error\":")
      out.append(json: problem.words)
      if let method = problem.method { out.append("method", text: method) }
      out.append(",\"success\":false")
      if let symbol { out.append("symbol", text: String(symbol.prefix(40))) }
      Self.appendEnd(problem.id, now, to: &out)
    }
  }

  private func answerPing(_ request: KrakenRequest, _ desk: inout DialectContext) {
    let now = desk.now
    desk.send { out in
      out.append("{\"method\":\"pong\"")
      Self.appendEnd(request.id, now, to: &out)
    }
  }

  private static func appendEnd(_ id: Int64?, _ now: Timestamp, to out: inout ByteBuffer) {
    out.append(",\"time_in\":\"")
    out.append(rfc3339: now)
    out.append("\",\"time_out\":\"")
    out.append(rfc3339: now)
    out.append(UInt8(ascii: "\""))
    if let id { out.append("req_id", integer: id) }
    out.append(UInt8(ascii: "}"))
  }

  // MARK: Instruments

  /// The list of markets, once: no update follows.
  private func sendInstruments(_ request: KrakenRequest, _ desk: inout DialectContext) {
    guard markets.isShown(desk.feeds) else {
      return refuse(problem(DialectMarkets.Refusal.simulated.words, request), symbol: nil, &desk)
    }
    hasSubscribed = true
    answer(request, symbol: nil, nil, &desk)
    let entries = markets.all(in: desk.directory, desk.grant)
    desk.send { KrakenLists.appendInstruments(entries.map(\.instrument), to: &$0) }
  }
}

extension StreamKey {
  /// Whether an `unsubscribe` ends this stream. It names the depth or the interval, if it is not the usual one.
  fileprivate func isMeant(by request: KrakenRequest, _ key: StreamKey) -> Bool {
    channel == key.channel && symbol == key.symbol && (request.depth == nil || depth == key.depth)
      && (request.interval == nil || candle == key.candle)
  }
}
