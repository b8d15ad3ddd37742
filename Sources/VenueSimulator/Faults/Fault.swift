/// Something that goes wrong at a simulated venue, and when.
///
/// As text: `KIND[=VALUE][@SECONDS[/SECONDS]]`. `@5` is once, five seconds after the start; `@5/10` then every ten
/// seconds; without `@` it is as soon as possible, once.
///
///     drop=10            all connections are cut every 10 s        drop@5     once, after 5 s
///     drop=100frames     each connection is cut after 100 frames
///     silence=3@5        from 5 s on nothing is sent for 3 s
///     gap=ZEC-USD@5/10   one book update of ZEC-USD is left out
///     pongs-only@5       from 5 s on the connections that there are carry pongs and nothing else
///     slow-handshake=2   upgrades are answered after 2 s
package struct Fault: Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    /// TCP connections are cut, without a close frame. Value: seconds (repeats), `Nframes`, or none for once.
    case drop
    /// Nothing is sent for a number of seconds; the market stands still, so no sequence is broken.
    case silence
    /// For a number of seconds nothing arrives, answers of REST requests neither, and then everything at once; the
    /// market goes on.
    case slow
    /// One book update is left out. On Kraken one that removes one of the ten best levels and changes another level, so
    /// that the next message's checksum tells; on Coinbase nothing tells.
    case gap
    /// One book update carries a wrong checksum. Kraken, and Bitfinex, where it is a message of its own.
    case checksum
    /// One data message is cut short, so that it is not JSON.
    case malformed
    /// One level of a book message has a number that is none (`0.-1`); all else is as it should be.
    case unreadable
    /// For a number of seconds what clients send is not heard: their subscriptions are never answered. The market goes
    /// on.
    case deaf
    /// Upgrades are answered that many seconds late.
    case slowHandshake = "slow-handshake"
    /// One book update is sent twice.
    case duplicate
    /// One book update is sent again after its successor.
    case lateDuplicate = "late-duplicate"
    /// One book update is sent after its successor.
    case reorder
    /// Connections stay open and dead: nothing is read or sent on them again.
    case halfOpen = "half-open"
    /// What stands behind the sockets is gone, and a proxy keeps them: pings are answered, and nothing that the venue
    /// says arrives any more. It strikes the connections that there are, for good; for a number of seconds new ones,
    /// too.
    case pongsOnly = "pongs-only"
    /// As `pongs-only`, but requests are answered, application pings among them: only what the venue says by itself is
    /// missing, its heartbeats and all market data.
    case answersOnly = "answers-only"
    /// One channel says nothing, its heartbeats neither, while all others go on: of a symbol or of all; for a number of
    /// seconds, or until a client subscribes to it again.
    case mute
    /// Subscriptions to the symbol are refused as if it were not listed; for good, or for `seconds`.
    case refuse
    /// Connections get a close frame with 1012.
    case serverReset = "server-reset"
    /// Upgrades and REST requests are answered with 429 for a number of seconds.
    case ban
    /// The next book snapshot by REST is from the moment of the fault, however late it is asked for. Venues with such
    /// snapshots only.
    case staleSnapshot = "stale-snapshot"
    /// The venue's own announcement, and after a second, or as many as are given, close frames with 1001 on the
    /// connections that heard it. Venues that announce one.
    case plannedShutdown = "planned-shutdown"
    /// The next answer with candles has something wrong with it: `candles=ragged`.
    case candles
    /// The next answer with asset names has something wrong with it: `names=ragged`. Venues that say them.
    case names
    /// For a number of seconds no trade is sent, and all else is: the market goes on.
    case lostTrades = "lost-trades"
    /// The next answer with single trades has something wrong with it: `trades=empty`. Venues that are asked for them.
    case trades

    /// What it does, in a few words.
    package var summary: String {
      switch self {
      case .drop: "cuts connections"
      case .silence: "sends nothing, the market stands still"
      case .slow: "delivers late"
      case .gap: "leaves a book update out"
      case .checksum: "sends a wrong checksum"
      case .malformed: "cuts a message short"
      case .unreadable: "sends a book level whose price cannot be read"
      case .deaf: "takes no request in and answers none"
      case .slowHandshake: "answers upgrades late"
      case .duplicate: "sends a book update twice"
      case .lateDuplicate: "sends a book update again after its successor"
      case .reorder: "sends a book update after its successor"
      case .halfOpen: "leaves connections open and dead"
      case .pongsOnly: "answers WebSocket pings and sends nothing else"
      case .answersOnly: "answers requests and pings, sends no data and no heartbeats"
      case .mute: "sends nothing on one channel"
      case .refuse: "refuses subscriptions to a symbol"
      case .serverReset: "closes connections with 1012"
      case .ban: "answers upgrades and REST requests with 429"
      case .staleSnapshot: "answers the next REST snapshot with the book of now"
      case .plannedShutdown: "announces a shutdown, then closes with 1001"
      case .candles: "answers the next request for candles wrongly"
      case .names: "answers the next request for asset names wrongly"
      case .lostTrades: "sends no trades, and all else"
      case .trades: "answers the next request for single trades wrongly"
      }
    }

    /// What stands after `=`, for messages.
    package var expects: String {
      switch self {
      case .drop: "SECONDS or Nframes without @, or nothing"
      case .silence, .slow, .slowHandshake, .ban, .deaf, .lostTrades: "SECONDS"
      case .gap, .checksum, .malformed, .unreadable, .duplicate, .lateDuplicate, .reorder, .staleSnapshot:
        "a symbol like ZEC-USD, or nothing for any symbol"
      case .refuse: "a symbol like ZEC-USD"
      case .mute: "book, trades, quote or ticker, then :SECONDS and :SYMBOL or nothing"
      case .pongsOnly, .answersOnly: "SECONDS in which new connections are struck, or nothing"
      case .plannedShutdown: "SECONDS until the connections end, or nothing"
      case .candles: CandleFault.allCases.map(\.rawValue).joined(separator: ", ")
      case .names: NameFault.allCases.map(\.rawValue).joined(separator: ", ")
      case .trades: TradeFault.allCases.map(\.rawValue).joined(separator: ", ")
      case .halfOpen, .serverReset: "no value"
      }
    }
  }

  package var kind: Kind
  /// The symbol it strikes, by any of its names; nil for any.
  package var symbol: String?
  /// Of that symbol only this channel, by the simulation's own name for it (`refuse`); nil for all. The kind of the
  /// channel (`mute`): a name of `SimulatedContent`.
  package var channel: String?
  /// How long it lasts, in seconds.
  package var seconds: Double?
  /// Frames after which a connection is cut (`drop` only).
  package var frames: Int?
  /// What is wrong (`candles` only).
  package var candles: CandleFault?
  /// What is wrong (`names` only).
  package var names: NameFault?
  /// What is wrong (`trades` only).
  package var trades: TradeFault?
  /// Seconds from the start, or from `inject`, to the first time.
  package var at: Double
  /// Seconds between times; nil for once.
  package var every: Double?

  package init(
    _ kind: Kind, symbol: String? = nil, channel: String? = nil, seconds: Double? = nil, frames: Int? = nil,
    candles: CandleFault? = nil,
    names: NameFault? = nil, trades: TradeFault? = nil, at: Double = 0, every: Double? = nil
  ) {
    self.kind = kind
    self.symbol = symbol
    self.channel = channel
    self.seconds = seconds
    self.frames = frames
    self.candles = candles
    self.names = names
    self.trades = trades
    self.at = at
    self.every = every
  }

  /// Reads the text form.
  package init(parsing text: String) throws(FaultError) {
    let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
    let head = parts[0].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = Kind(rawValue: String(head[0])) else { throw .unknownKind(String(head[0])) }
    let value = head.count > 1 ? String(head[1]) : nil
    self.init(kind)
    if parts.count > 1 {
      let times = parts[1].split(separator: "/", omittingEmptySubsequences: false)
      guard times.count <= 2, let at = Self.seconds(times[0], from: 0) else { throw .badTime(text) }
      self.at = at
      if times.count == 2 {
        guard let every = Self.seconds(times[1], from: 0.1) else { throw .badTime(text) }
        self.every = every
      }
    }
    if kind == .drop, value != nil, parts.count > 1 { throw .badValue(kind, text) }
    guard take(value) else { throw .badValue(kind, text) }
  }

  /// Takes what stands behind the `=`; false if it is no value of this kind of fault.
  private mutating func take(_ value: String?) -> Bool {
    switch kind {
    case .drop: return takeDrop(value)
    case .mute: return takeMute(value)
    case .silence, .slow, .slowHandshake, .ban, .deaf, .lostTrades:
      seconds = value.flatMap { Self.seconds($0[...], from: 0.001) }
      return seconds != nil
    case .gap, .checksum, .malformed, .unreadable, .duplicate, .lateDuplicate, .reorder, .staleSnapshot:
      symbol = value
      return value != ""
    case .refuse:
      symbol = value
      return value != nil && value != ""
    case .plannedShutdown, .pongsOnly, .answersOnly:
      guard let value else { return true }
      seconds = Self.seconds(value[...], from: 0.05)
      return seconds != nil
    case .candles:
      candles = value.flatMap { CandleFault(rawValue: $0) }
      return candles != nil
    case .names:
      names = value.flatMap { NameFault(rawValue: $0) }
      return names != nil
    case .trades:
      trades = value.flatMap { TradeFault(rawValue: $0) }
      return trades != nil
    case .halfOpen, .serverReset: return value == nil
    }
  }

  /// `40frames`, or the seconds between two; nothing: once.
  private mutating func takeDrop(_ value: String?) -> Bool {
    guard let value else { return true }
    if value.hasSuffix("frames") {
      frames = Int(value.dropLast(6)).flatMap { (1...1_000_000_000).contains($0) ? $0 : nil }
      return frames != nil
    }
    guard let seconds = Self.seconds(value[...], from: 0.1) else { return false }
    (at, every) = (seconds, seconds)
    return true
  }

  /// `trades`, `trades:5`, `trades:BTC-USD` or `trades:5:BTC-USD`.
  private mutating func takeMute(_ value: String?) -> Bool {
    guard let words = value?.split(separator: ":", omittingEmptySubsequences: false),
      SimulatedContent(rawValue: String(words[0])) != nil, !words.contains("")
    else { return false }
    channel = String(words[0])
    var rest = words.dropFirst()
    if let first = rest.first, let seconds = Self.seconds(first, from: 0.001) {
      self.seconds = seconds
      rest = rest.dropFirst()
    }
    symbol = rest.first.map(String.init)
    return rest.count <= 1
  }

  /// At most a day, so that times in microseconds cannot overflow.
  private static func seconds(_ text: Substring, from least: Double) -> Double? {
    guard let value = Double(text), value >= least, value <= 86_400 else { return nil }
    return value
  }
}

/// Why a fault was refused.
package enum FaultError: Error, Sendable, Equatable, CustomStringConvertible {
  case unknownKind(String)
  case badValue(Fault.Kind, String)
  case badTime(String)
  case notApplicable(Fault.Kind, venue: String, reason: String)
  case unknownSymbol(String, known: [String])

  /// For people: what is wrong and what is allowed.
  package var description: String {
    switch self {
    case .unknownKind(let kind):
      "unknown fault '\(kind)'; there are: \(Fault.Kind.allCases.map(\.rawValue).joined(separator: ", "))"
    case .badValue(let kind, let text): "fault '\(text)': \(kind.rawValue) takes \(kind.expects) (seconds up to 86400)"
    case .badTime(let text):
      "fault '\(text)': after @ come the seconds until it happens, and after / those until it happens again "
        + "(0.1 or more): gap=ZEC-USD@5/10"
    case .notApplicable(let kind, let venue, let reason):
      "fault '\(kind.rawValue)' is not possible on \(venue): \(reason)"
    case .unknownSymbol(let symbol, let known):
      "unknown symbol '\(symbol)'; there are: \(known.joined(separator: ", "))"
    }
  }
}
