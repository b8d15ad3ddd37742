import Bytes
import MarketData

/// The streams of a request for recorded time: named in a URL as those of `/v1/events` are, and described to the client
/// as those of `subscribe` are.
package enum RecordedStreams {
  /// The most streams of one request.
  package static let limit = 100

  /// The streams that elements such as `book:kraken:BTC-USD,kraken:ETH-USD;depth=25` name, each once, in their order.
  /// - Throws: the first mistake, or the first stream that the grant does not allow.
  package static func keys(of elements: [String], for grant: Grant) throws(ProtocolError) -> [StreamKey] {
    let request = try EventsRequest(streams: elements)
    var items: [ClientRequest.Item] = []
    for message in request.messages {
      if case .subscribe(let streams) = RequestParser.parse(message.span.bytes).request { items += streams }
    }
    var keys: [StreamKey] = []
    for item in items {
      let channel = item.channel
      guard channel.facts.source == .market, channel.facts.names == .symbols else {
        throw ProtocolError(
          .badRequest, "recordings have no channel `\(channel.rawValue)`",
          hint: "they have \(channels.map(\.rawValue).joined(separator: ", "))")
      }
      guard grant.channels.contains(channel) else {
        throw ProtocolError(.forbidden, "your token does not allow the channel `\(channel.rawValue)`")
      }
      let asker = SubscriptionResolver.Asker(grant: grant, count: 0, limit: limit, degraded: 0)
      for symbol in item.symbols {
        try check(symbol, channel, grant)
        let key = SubscriptionResolver.key(of: item, symbol, asker)
        if !keys.contains(key) { keys.append(key) }
        guard keys.count <= limit else {
          throw ProtocolError(.tooManySubscriptions, "a replay has at most \(limit) streams")
        }
      }
    }
    return keys
  }

  private static let channels = ChannelName.allCases.filter { $0.facts.source == .market && $0.facts.names == .symbols }

  private static func check(_ symbol: String, _ channel: ChannelName, _ grant: Grant) throws(ProtocolError) {
    guard !symbol.utf8.contains(UInt8(ascii: "*")), !CompositeSymbol.isOne(symbol) else {
      throw ProtocolError(
        .badRequest, "`\(symbol.prefix(80))` is not one recorded market", hint: "name each symbol: kraken:BTC-USD")
    }
    guard grant.allows(channel, symbol) else {
      throw ProtocolError(.forbidden, "your token does not allow `\(symbol.prefix(80))`")
    }
  }

  /// Appends `{"type":"subscribed","total":2,"ok":[{"stream":…}],"simulated":true,"replayed":true}`.
  /// - Parameter total: streams so far, this one included.
  package static func appendSubscribed(
    _ result: JoinResult, _ instrument: Instrument, total: Int, to out: inout ByteBuffer
  ) {
    Replies.begin("subscribed", id: nil, to: &out)
    out.append(",\"total\":")
    out.append(integer: UInt64(total))
    out.append(",\"ok\":[")
    Replies.appendStream(
      Replies.Stream(
        number: result.stream.rawValue, key: result.key, priceIncrement: instrument.priceIncrement, priceIncrements: [],
        epoch: result.epoch, seq: result.seq, state: result.state, from: 0, isRecovered: nil, scale: result.scale),
      to: &out)
    out.append("]")
    DataSource.replayed.append(to: &out)
    out.append("}")
  }
}
