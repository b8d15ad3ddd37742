import Bytes

/// The requests of `tidegate.v1` as text.
enum Requests {
  /// - Parameters:
  ///   - session: the token of the session to continue with.
  ///   - streams: the streams to continue, with the last number of each.
  static func hello(
    id: Int64, options: ClientOptions, session: String?, streams: [(number: Int64, stream: ClientStream)],
    cadence: Int? = nil
  ) -> String {
    var out = ByteBuffer()
    out.append("{\"op\":\"hello\",\"id\":")
    out.append(integer: id)
    if let token = options.token {
      out.append(",\"token\":")
      out.append(json: token)
    }
    out.append(",\"client\":")
    out.append(json: options.clientName)
    out.append(",\"heartbeat_s\":")
    out.append(integer: max(1, min(options.heartbeatInterval.components.seconds, 60)))
    if let session {
      out.append(",\"resume\":{\"session\":")
      out.append(json: session)
      out.append(",\"streams\":[")
      for (index, entry) in streams.enumerated() {
        let (item, stream) = (entry.stream.item, entry.stream)
        out.append(index == 0 ? "{\"channel\":" : ",{\"channel\":")
        out.append(json: item.channel.rawValue)
        if !item.channel.isNameless {
          out.append(",\"symbol\":")
          out.append(json: item.symbol)
        }
        appendParameters(of: item, cadence: cadence, to: &out)
        out.append(",\"stream\":")
        out.append(integer: entry.number)
        out.append(",\"epoch\":")
        out.append(json: stream.epoch ?? "")
        out.append(",\"seq\":")
        out.append(integer: stream.seq ?? 0)
        out.append("}")
      }
      out.append("]}")
    }
    out.append("}")
    return out.description
  }

  /// - Parameter cadence: replaces the item's own.
  private static func appendParameters(of item: StreamItem, cadence: Int? = nil, to out: inout ByteBuffer) {
    switch item.depth {
    case .levels10: out.append(",\"depth\":10")
    case .levels25: out.append(",\"depth\":25")
    case .levels100: out.append(",\"depth\":100")
    case .full: out.append(",\"depth\":\"full\"")
    case nil: break
    }
    if let range = item.range {
      out.append(",\"range\":")
      out.append(json: range.rawValue)
    }
    if let points = item.points {
      out.append(",\"points\":")
      out.append(integer: Int64(points))
    }
    if let interval = item.interval {
      out.append(",\"interval\":")
      out.append(json: interval.rawValue)
    }
    if let last = item.last {
      out.append(",\"last\":")
      out.append(integer: Int64(max(1, min(last, 100))))
    }
    if let zone = item.zone {
      out.append(",\"zone\":")
      out.append(json: zone)
    }
    if let portfolio = item.portfolio { append(portfolio, to: &out) }
    // Documents are events, a deck turns once a day, and channels without symbols have no rates.
    if !item.channel.isNameless, item.channel != .topic, item.channel != .deck, let cadence = cadence ?? item.cadence {
      out.append(",\"interval_ms\":")
      out.append(integer: Int64(cadence))
    }
  }

  /// One entry for each set of parameters, with its symbols in the given order; the grouped ones apart.
  static func subscribe(
    id: Int64, items: [StreamItem], grouped: Set<StreamItem> = [], cadence: Int? = nil
  ) -> String {
    var out = ByteBuffer()
    out.append("{\"op\":\"subscribe\",\"id\":")
    out.append(integer: id)
    out.append(",\"streams\":[")
    struct Entry: Hashable {
      var item: StreamItem
      var isGroup: Bool
    }
    var groups: [(item: Entry, symbols: [String])] = []
    var indexes: [Entry: Int] = [:]
    for item in items {
      let key = Entry(item: item.of(""), isGroup: grouped.contains(item))
      if let index = indexes[key] {
        groups[index].symbols.append(item.symbol)
      } else {
        indexes[key] = groups.count
        groups.append((key, [item.symbol]))
      }
    }
    for (index, group) in groups.enumerated() {
      out.append(index == 0 ? "{\"channel\":" : ",{\"channel\":")
      let item = group.item.item
      out.append(json: item.channel.rawValue)
      if !item.channel.isNameless {
        out.append(",\"symbols\":[")
        for (index, symbol) in group.symbols.enumerated() {
          if index > 0 { out.append(",") }
          out.append(json: symbol)
        }
        out.append("]")
      }
      if group.item.isGroup { out.append(",\"group\":true") }
      appendParameters(of: item, cadence: cadence, to: &out)
      out.append("}")
    }
    out.append("]}")
    return out.description
  }

  /// `pause`, `resume`.
  static func plain(_ op: StaticString, id: Int64) -> String {
    var out = ByteBuffer()
    out.append("{\"op\":\"")
    out.append(op)
    out.append("\",\"id\":")
    out.append(integer: id)
    out.append("}")
    return out.description
  }

  /// - Parameter fields: the fields after `op` and `id`.
  static func alert(id: Int64, fields: String) -> String { "{\"op\":\"alert\",\"id\":\(id)\(fields)}" }

  static func configure(id: Int64, interval: Int) -> String {
    var out = ByteBuffer()
    out.append("{\"op\":\"configure\",\"id\":")
    out.append(integer: id)
    out.append(",\"interval_ms\":")
    out.append(integer: Int64(interval))
    out.append("}")
    return out.description
  }

  static func unsubscribe(id: Int64, streams: [Int64]) -> String {
    var out = ByteBuffer()
    out.append("{\"op\":\"unsubscribe\",\"id\":")
    out.append(integer: id)
    out.append(",\"streams\":[")
    for (index, stream) in streams.enumerated() {
      if index > 0 { out.append(",") }
      out.append(integer: stream)
    }
    out.append("]}")
    return out.description
  }
}
