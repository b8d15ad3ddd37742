import Bytes

/// What a client knows of its streams, and the check that every update is accounted for: received after the one it
/// follows, replaced by a snapshot that says why, or announced as lost.
struct StreamLedger {
  struct Stream {
    var channel: String
    var symbol: String
    /// Levels a side, 0 for all.
    var depth = 0
    var interval = 0
    var epoch: String
    /// Of the last message, nil before the first snapshot.
    var seq: UInt64?
    var bids: [String: String] = [:]
    var asks: [String: String] = [:]
    /// The last trade's place, to see that they come in order.
    var lastTrade = 0
  }

  private(set) var streams: [Int: Stream] = [:]
  /// Of the connection before, as it asked to go on with them; by number.
  private var positions: [Int: Stream] = [:]
  /// Streams that went on where the connection before ended.
  private(set) var recovered = 0
  private(set) var drainNotices = 0
  /// Snapshots and updates of this connection.
  private(set) var dataFrames = 0
  private(set) var updates = 0
  private(set) var snapshots = 0
  /// Messages and events that notices announced as lost.
  private(set) var lostMessages = 0
  private(set) var lostEvents = 0
  private(set) var trades = 0
  private(set) var slowNotices = 0
  private(set) var heartbeats = 0
  private var lastHeartbeatTime = 0
  /// What the server did that its protocol does not allow.
  private(set) var faults: [String] = []

  /// The client asks to go on with these.
  mutating func resume(_ earlier: [Int: Stream]) { positions = earlier }

  mutating func receive(_ message: JSON, _ bytes: UnsafeRawBufferPointer) {
    func line() -> String { String(decoding: bytes.prefix(300), as: UTF8.self) }
    switch message["type"]?.text {
    case "subscribed":
      for item in message["ok"]?.elements ?? [] { open(item, line()) }
    case "configured":
      move(message, line())
    case "notice":
      switch message["code"]?.text {
      case "lost": lost(message, line())
      case "slow":
        slowNotices += 1
        move(message, line())
      case "drain":
        drainNotices += 1
        if (message["reconnect_in_ms"]?.integer ?? -1) < 0 || message["deadline"]?.integer == nil {
          faults.append("bad notice: \(line())")
        }
        if drainNotices > 1 { faults.append("a drain is announced twice: \(line())") }
      default: break
      }
    case "unsubscribed":
      for stream in message["streams"]?.elements ?? [] { if let number = stream.integer { streams[number] = nil } }
    case "heartbeat":
      heartbeats += 1
      if message["sent"]?.integer != dataFrames { faults.append("sent is not \(dataFrames): \(line())") }
      let time = message["time"]?.integer ?? 0
      if time < lastHeartbeatTime { faults.append("time goes back from \(lastHeartbeatTime): \(line())") }
      lastHeartbeatTime = time
    case "snapshot", "update":
      dataFrames += 1
      data(message, isSnapshot: message["type"]?.text == "snapshot", line())
    case "welcome":
      for item in message["ok"]?.elements ?? [] {
        open(item, line())
        guard item["recovered"]?.bool == true, let number = item["stream"]?.integer else { continue }
        guard let position = positions[number], position.epoch == item["epoch"]?.text else {
          faults.append("recovered is a stream that was not asked for: \(line())")
          continue
        }
        recovered += 1
        streams[number] = position
      }
    case "resumed", "paused", "list", "pong", "error": break
    default: faults.append("a message of no known type: \(line())")
    }
  }

  private mutating func move(_ message: JSON, _ line: String) {
    for item in message["streams"]?.elements ?? [] {
      if let from = item["from"]?.integer { streams[from] = nil }
      open(item, line)
    }
  }

  private mutating func open(_ item: JSON, _ line: String) {
    guard let number = item["stream"]?.integer, let channel = item["channel"]?.text, let epoch = item["epoch"]?.text,
      item["seq"]?.integer != nil
    else { return faults.append("a subscription without its fields: \(line)") }
    guard streams[number] == nil else { return }
    streams[number] = Stream(
      channel: channel, symbol: item["symbol"]?.text ?? "", depth: item["depth"]?.integer ?? 0,
      interval: item["interval_ms"]?.integer ?? 0, epoch: epoch)
  }

  private mutating func lost(_ message: JSON, _ line: String) {
    guard let number = message["stream"]?.integer, let from = message["from_seq"]?.integer,
      let to = message["to_seq"]?.integer, let count = message["count"]?.integer, streams[number] != nil
    else { return faults.append("bad notice: \(line)") }
    if let seq = streams[number]?.seq, Int(seq) + 1 != from { faults.append("lost from \(from) after \(seq): \(line)") }
    if to - from + 1 != count { faults.append("count is not \(to - from + 1): \(line)") }
    streams[number]?.seq = UInt64(to)
    lostMessages += count
    lostEvents += message["events"]?.integer ?? 0
  }

  private mutating func data(_ message: JSON, isSnapshot: Bool, _ line: String) {
    guard let number = message["stream"]?.integer, streams[number] != nil else {
      return faults.append("a stream that was not announced: \(line)")
    }
    guard let given = message["seq"]?.integer, let data = message["data"] else {
      return faults.append("no seq or data: \(line)")
    }
    let seq = UInt64(given)
    let last = streams[number]!.seq
    if isSnapshot {
      snapshots += 1
      if let last, seq < last { faults.append("seq goes back from \(last): \(line)") }
      guard message["reason"]?.text != nil else { return faults.append("a snapshot without a reason: \(line)") }
      streams[number]!.bids = [:]
      streams[number]!.asks = [:]
    } else {
      updates += 1
      guard let last else { return faults.append("an update before the first snapshot: \(line)") }
      if message["prev"]?.integer != Int(last) { faults.append("prev is not \(last): \(line)") }
      if seq <= last { faults.append("seq does not rise from \(last): \(line)") }
    }
    streams[number]!.seq = seq
    switch streams[number]!.channel {
    case "book":
      for level in data["bids"]?.elements ?? [] { set(level, in: \.bids, of: number, line) }
      for level in data["asks"]?.elements ?? [] { set(level, in: \.asks, of: number, line) }
      let depth = streams[number]!.depth
      if depth > 0, max(streams[number]!.bids.count, streams[number]!.asks.count) > depth {
        faults.append("more than \(depth) levels: \(line)")
      }
    case "trades" where !isSnapshot:
      let list = data["trades"]?.elements ?? []
      // Trades that the gateway missed stand alone, and so does how its search for them ended.
      let (lost, found) = (data["lost"], data["found"])
      if list.isEmpty == (lost == nil && found == nil) {
        faults.append(list.isEmpty ? "an update without trades: \(line)" : "trades beside missed ones: \(line)")
      }
      for missed in [lost, found].compactMap({ $0 }) {
        guard let from = missed["from"]?.integer, let to = missed["to"]?.integer, from <= to else {
          faults.append("missed trades without their time: \(line)")
          continue
        }
        if missed["count"]?.integer ?? 1 < (found == nil ? 1 : 0) { faults.append("none is missed: \(line)") }
      }
      trades += list.count
    default: break
    }
  }

  private mutating func set(
    _ level: JSON, in side: WritableKeyPath<Stream, [String: String]>, of number: Int, _ line: String
  ) {
    let pair = level.elements
    guard pair.count == 2, let price = pair[0].text, let size = pair[1].text else {
      return faults.append("a level is not a price and a size: \(line)")
    }
    streams[number]![keyPath: side][price] = size == "0" ? nil : size
  }
}
