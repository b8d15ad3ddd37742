/// Who subscribes to a stream on this loop, and what the hub knows of it.
struct SubscriberList {
  /// Slots of the clients that what is published is for, without gaps, in no order: a delivery runs through them.
  var slots: [UInt32] = []
  /// Subscribers beside those: nothing is for them until they have room and ask for it, so that they cost nothing meanwhile.
  var away: UInt32 = 0
  /// Of those the ones that will want what came meanwhile: it is kept in `backlog`.
  var behind: UInt32 = 0
  var backlog = ReplayRing()
  var key = StreamKey(channel: .status, symbol: "")
  /// Sessions without a client that may come back for what they missed of it.
  var holds: UInt32 = 0
  var epoch = ""
  /// The last `seq` seen.
  var seq: UInt64 = 0

  var hasSubscribers: Bool { !slots.isEmpty || away > 0 }
}

/// The lists by stream number, and the numbers by key. Stream numbers are dense per loop, so a list is found by index.
struct SubscriberLists {
  private(set) var lists: [SubscriberList] = []
  private var numbers: [StreamKey: UInt32] = [:]
  /// Joins that are not answered, by key: a stream with some is not left, or the answer would come for one that we have left.
  private var joining: [StreamKey: Int] = [:]

  subscript(stream: UInt32) -> SubscriberList {
    _read { yield lists[Int(stream)] }
    _modify { yield &lists[Int(stream)] }
  }

  func has(_ stream: UInt32) -> Bool { Int(stream) < lists.count && !lists[Int(stream)].epoch.isEmpty }

  /// The number of the stream with this key, if this loop has subscribers of it.
  func number(of key: StreamKey) -> UInt32? { numbers[key] }

  /// Streams with subscribers here.
  var count: Int { numbers.count }

  mutating func noteJoin(_ key: StreamKey) { joining[key, default: 0] += 1 }
  func isJoining(_ key: StreamKey) -> Bool { joining[key] != nil }
  mutating func noteAnswer(_ key: StreamKey) {
    guard let count = joining[key] else { return }
    joining[key] = count > 1 ? count - 1 : nil
  }

  mutating func open(_ result: JoinResult) {
    let stream = result.stream.rawValue
    while lists.count <= Int(stream) { lists.append(SubscriberList()) }
    lists[Int(stream)].key = result.key
    lists[Int(stream)].epoch = result.epoch
    lists[Int(stream)].seq = result.seq
    numbers[result.key] = stream
  }

  /// Forgets a stream without subscribers.
  mutating func drop(_ stream: UInt32) {
    numbers[lists[Int(stream)].key] = nil
    lists[Int(stream)] = SubscriberList()
  }
}
