/// The streams that the gateway has granted, by item and by its numbers.
struct StreamTable: Sendable {
  /// The largest number of streams of a connection, which is the most that a gateway may allow.
  static let limit = 100_000
  /// Streams in one `hello`, which keep it under the gateway's limit of 64 KiB.
  static let resumeLimit = 300

  private var streams: [StreamItem: ClientStream] = [:]
  /// The streams of each of the gateway's numbers. A number has several if two sets of parameters are the same to the
  /// gateway.
  private(set) var numbers: [Int64: [StreamItem]] = [:]
  /// The scales of streams whose messages are binary records, by number.
  private(set) var binary: [Int64: BinaryStream] = [:]
  /// The groups among the numbers.
  private var groups: [Int64: ClientGroup] = [:]
  /// Groups that have lost members.
  private var thinned: Set<Int64> = []
  /// Streams that may have no subscriber left.
  private var unfollowed: Set<StreamItem> = []
  /// Numbers whose last stream has got another one: that of a group, for example.
  private var replaced: [Int64] = []
  /// The streams that wait for a snapshot after a gap.
  private var gapped: Set<StreamItem> = []

  /// In place: a copy of a book for each change would cost O(its length).
  subscript(key: StreamItem) -> ClientStream? {
    get { streams[key] }
    _modify { yield &streams[key] }
  }

  var count: Int { streams.count }
  var isEmpty: Bool { streams.isEmpty }
  var keys: [StreamItem] { streams.keys.map(\.self) }
  var values: [ClientStream] { streams.values.map(\.self) }
  var hasUnfollowed: Bool { !unfollowed.isEmpty || !replaced.isEmpty }

  /// When a stream has waited long enough for a snapshot after a gap. O(gaps).
  var nextDeadline: UInt64? { gapped.compactMap { streams[$0]?.gapDeadline }.min() }

  /// Streams in order of their creation.
  func sorted(_ keys: some Sequence<StreamItem>) -> [StreamItem] {
    keys.compactMap { streams[$0] }.sorted { $0.serial < $1.serial }.map(\.item)
  }

  /// Adds a stream without a number; false if there are too many.
  /// - Parameter serial: its number in order of creation.
  mutating func add(_ key: StreamItem, serial: Int) -> Bool {
    guard streams.count < Self.limit else { return false }
    streams[key] = ClientStream(item: key, serial: serial)
    return true
  }

  /// Removes a stream. Returns its number, if it has one that no other stream has.
  mutating func remove(_ key: StreamItem) -> Int64? {
    gapped.remove(key)
    guard let number = streams.removeValue(forKey: key)?.number else { return nil }
    return unlink(key, from: number) ? number : nil
  }

  // MARK: Numbers

  /// Gives a stream the number that the gateway named. True if another stream has this number; the stream then takes
  /// over its value.
  mutating func link(_ accepted: ServerMessage.Accepted, _ key: StreamItem) -> Bool {
    defer { binary[accepted.stream] = BinaryStream(accepted) }
    if groups[accepted.stream]?.symbols != accepted.symbols {
      groups[accepted.stream] =
        accepted.symbols.isEmpty ? nil : ClientGroup(symbols: accepted.symbols, seq: accepted.seq)
    }
    if let old = streams[key]?.number {
      if old == accepted.stream { return false }
      if unlink(key, from: old) { replaced.append(old) }
    }
    gapped.remove(key)
    defer {
      numbers[accepted.stream, default: []].append(key)
      groups[accepted.stream]?.add(key)
    }
    let same =
      groups[accepted.stream].map { $0.keys[key.symbol]?.first } ?? numbers[accepted.stream]?.first
    guard let other = same, other.channel == key.channel, other.symbol == key.symbol, let stream = streams[other]
    else {
      streams[key]?.join(accepted)
      return false
    }
    streams[key]?.join(stream)
    if stream.gapDeadline != nil { gapped.insert(key) }
    return true
  }

  /// Removes a stream from a number; true if it was the number's last one.
  private mutating func unlink(_ key: StreamItem, from number: Int64) -> Bool {
    numbers[number]?.removeAll { $0 == key }
    if groups[number] != nil {
      groups[number]?.keys[key.symbol]?.removeAll { $0 == key }
      thinned.insert(number)
    }
    guard numbers[number]?.isEmpty == true else { return false }
    numbers[number] = nil
    binary[number] = nil
    groups[number] = nil
    return true
  }

  /// Takes its number from every stream that has this one; nil: none has.
  mutating func detach(_ number: Int64) -> [StreamItem]? {
    guard let keys = numbers.removeValue(forKey: number) else { return nil }
    binary[number] = nil
    groups[number] = nil
    for key in keys { streams[key]?.number = nil }
    return keys
  }

  /// Takes their numbers from streams that are to be subscribed to anew; the numbers, and all streams that had them.
  mutating func detach(_ keys: [StreamItem]) -> (numbers: [Int64], keys: [StreamItem]) {
    var all: (numbers: [Int64], keys: [StreamItem]) = ([], [])
    for key in keys {
      guard let number = streams[key]?.number else { continue }
      // All streams that share a number leave it.
      for one in detach(number) ?? [] {
        streams[one]?.gapDeadline = nil
        gapped.remove(one)
        all.keys.append(one)
      }
      all.numbers.append(number)
    }
    return all
  }

  /// A snapshot said what the records of a number are relative to.
  mutating func rescale(_ number: Int64, _ scale: BinaryStream) {
    if binary[number] != nil { binary[number] = scale }
  }

  // MARK: Groups

  /// Moves a group to a message's `seq`; false if messages are missing before it, nil if there is no such group. A
  /// snapshot ends what its members waited for, also those without data.
  mutating func advanceGroup(_ message: ServerMessage.GroupMessage) -> Bool? {
    guard let group = groups[message.stream] else { return nil }
    groups[message.stream]?.seq = message.seq
    guard message.isSnapshot else { return group.seq == nil || message.prev == group.seq }
    groups[message.stream]?.symbols = message.members
    for key in numbers[message.stream] ?? [] {
      streams[key]?.hasSnapshot = false
      streams[key]?.gapDeadline = nil
      gapped.remove(key)
    }
    return true
  }

  /// The streams of the member of a group at this index.
  func members(of number: Int64, _ index: Int) -> [StreamItem] {
    guard let group = groups[number], group.symbols.indices.contains(index) else { return [] }
    return group.keys[group.symbols[index]] ?? []
  }

  /// Takes their number from the members of the groups among these, which have ended; returns the members.
  mutating func detachGroups(_ numbers: [Int64]) -> [StreamItem] {
    detach(numbers.flatMap { groups[$0] == nil ? [] : self.numbers[$0]?.prefix(1) ?? [] }).keys
  }

  /// The followed members of the groups of which most members are not followed any more: a smaller group is cheaper.
  mutating func takeThinned() -> [StreamItem] {
    defer { thinned.removeAll() }
    return thinned.sorted().flatMap { number -> [StreamItem] in
      guard let group = groups[number], let keys = numbers[number], keys.count * 2 < group.symbols.count else {
        return []
      }
      return sorted(keys)
    }
  }

  // MARK: Gaps

  /// The stream waits for a snapshot, or does not any more.
  mutating func noteGap(_ key: StreamItem) {
    if streams[key]?.gapDeadline != nil { gapped.insert(key) } else { gapped.remove(key) }
  }

  /// Those that have waited long enough for a snapshot.
  func late(_ now: UInt64) -> [StreamItem] { sorted(gapped.filter { streams[$0]?.gapDeadline ?? .max <= now }) }

  // MARK: Subscribers

  /// The stream has lost a subscriber, or never had one.
  mutating func noteSubscribers(_ key: StreamItem) {
    if streams[key]?.subscribers.isEmpty == true { unfollowed.insert(key) }
  }

  /// Removes the streams without a subscriber; returns the numbers that no stream has any more.
  mutating func removeUnfollowed() -> [Int64] {
    defer {
      unfollowed.removeAll()
      replaced.removeAll()
    }
    let unused = sorted(unfollowed).filter { streams[$0]?.subscribers.isEmpty == true }.compactMap { remove($0) }
    return replaced.filter { numbers[$0] == nil } + unused
  }

  // MARK: The connection

  /// Forgets the connection: numbers, and what waits for a snapshot.
  mutating func reset() {
    gapped.removeAll()
    numbers.removeAll()
    binary.removeAll()
    groups.removeAll()
    thinned.removeAll()
    replaced.removeAll()
  }

  /// The streams to resume, events first, because only a resumption brings missed events. A channel whose messages are
  /// whole needs no resumption: the snapshot of an ordinary subscription is enough.
  var resumable: [(number: Int64, stream: ClientStream)] {
    let left = streams.values.compactMap { stream in stream.numberToResume.map { (number: $0, stream: stream) } }
    let sorted = left.sorted { one, other in
      let (isOne, isOther) = (one.stream.item.channel.isState, other.stream.item.channel.isState)
      return isOne == isOther ? one.stream.serial < other.stream.serial : isOther
    }
    return Array(sorted.prefix(Self.resumeLimit))
  }

  /// Continues a stream under its number on this connection.
  mutating func resume(_ key: StreamItem, _ accepted: ServerMessage.Accepted) {
    let number = accepted.stream
    streams[key]?.resume(number)
    numbers[number, default: []].append(key)
    binary[number] = BinaryStream(accepted)
  }

  /// Streams that could not be resumed begin anew.
  mutating func endResumption() {
    for key in streams.keys where streams[key]?.numberToResume != nil { streams[key]?.numberToResume = nil }
  }
}
