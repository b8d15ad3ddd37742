import Bytes
import MarketData
import PubSub

/// A client of Binance's market streams.
final class BinanceSession: DialectSession {
  private let markets: DialectMarkets
  private var form: BinanceForm
  /// The streams in the address.
  private let first: [String]
  /// The streams of the client by their names.
  private var streams: [String: StreamKey] = [:]

  init(_ markets: DialectMarkets, _ form: BinanceForm, streams: [String]) {
    self.markets = markets
    self.form = form
    first = streams
  }

  let heartbeatSeconds = 60

  func heartbeat(isQuiet: Bool, now: Timestamp, to out: inout ByteBuffer) -> Bool { false }

  func farewell(_ code: UInt16, _ reason: String) -> DialectFarewell { .standard(code, reason) }

  func open(_ desk: inout DialectContext) {
    do throws(BinanceRequest.Problem) {
      try subscribe(first, &desk)
    } catch {
      // A close frame has 123 bytes of reason (RFC 6455 section 5.5).
      desk.close(1008, String(decoding: error.words.utf8.prefix(120), as: UTF8.self))
    }
  }

  func receive(_ message: RawSpan, _ desk: inout DialectContext) {
    do throws(BinanceRequest.Problem) {
      let request = try BinanceRequest.parse(message)
      do throws(BinanceRequest.Problem) {
        try perform(request, &desk)
      } catch {
        throw BinanceRequest.Problem(code: error.code, words: error.words, id: request.id)
      }
    } catch {
      desk.send { out in
        out.append("{\"error\":{\"code\":")
        out.append(integer: error.code)
        out.append("msg", text: error.words)
        out.append("},\"id\":")
        out.append(error.id)
        out.append(UInt8(ascii: "}"))
      }
    }
  }

  private func perform(_ request: BinanceRequest, _ desk: inout DialectContext) throws(BinanceRequest.Problem) {
    switch request.method {
    case .subscribe:
      // The answer goes before the first message.
      try subscribe(request.names, &desk)
      answer(request, "null", &desk)
    case .unsubscribe:
      for name in request.names {
        if let key = streams.removeValue(forKey: name) { desk.leave(key) }
      }
      answer(request, "null", &desk)
    case .list:
      var list = ByteBuffer(capacity: 256)
      list.append(UInt8(ascii: "["))
      for (index, name) in streams.keys.sorted().enumerated() {
        if index > 0 { list.append(UInt8(ascii: ",")) }
        list.append(json: name)
      }
      list.append(UInt8(ascii: "]"))
      answer(request, String(decoding: list.takeBytes(), as: UTF8.self), &desk)
    case .getProperty: answer(request, form.isCombined ? "true" : "false", &desk)
    case .setProperty:
      guard let isCombined = request.isCombined, request.names == ["combined"] else {
        throw problem("the only property is combined")
      }
      change(BinanceForm(isCombined: isCombined, unit: form.unit), &desk)
      answer(request, "null", &desk)
    }
  }

  private func answer(_ request: BinanceRequest, _ result: String, _ desk: inout DialectContext) {
    desk.send { out in
      out.append("{\"result\":")
      out.append(result)
      out.append(",\"id\":")
      out.append(request.id)
      out.append(UInt8(ascii: "}"))
    }
  }

  private func problem(_ words: String) -> BinanceRequest.Problem {
    BinanceRequest.Problem(code: 2, words: "Invalid request: \(words)")
  }

  /// Subscribes to all of the streams, or to none if one of them is refused.
  private func subscribe(_ names: [String], _ desk: inout DialectContext) throws(BinanceRequest.Problem) {
    var new: [String: StreamKey] = [:]
    for name in names where streams[name] == nil && new[name] == nil {
      do throws(BinanceStreamName.Refusal) {
        new[name] = try key(of: BinanceStreamName(name), desk)
      } catch {
        throw problem(error.words)
      }
    }
    guard new.count <= desk.room, streams.count + new.count <= BinanceRequest.streamLimit else {
      throw problem("too many streams")
    }
    for (name, key) in new {
      desk.join(key)
      streams[name] = key
    }
  }

  private func key(of name: BinanceStreamName, _ desk: DialectContext) throws(BinanceStreamName.Refusal) -> StreamKey {
    do throws(DialectMarkets.Refusal) {
      let entry = try markets.check(
        markets.entry(joined: name.symbol, in: desk.directory), name.channel, desk.grant, desk.feeds)
      return name.key(of: entry.instrument.symbol, form)
    } catch {
      throw BinanceStreamName.Refusal(words: "\(name.text): \(error.words)")
    }
  }

  /// Continues all streams in another form.
  private func change(_ form: BinanceForm, _ desk: inout DialectContext) {
    guard form != self.form else { return }
    self.form = form
    for (text, old) in streams {
      guard let name = try? BinanceStreamName(text) else { continue }
      let key = name.key(of: old.symbol, form)
      desk.leave(old)
      desk.join(key)
      streams[text] = key
    }
  }
}
