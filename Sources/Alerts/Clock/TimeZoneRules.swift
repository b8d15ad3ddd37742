import Bytes

/// Why the bytes of a zone file were refused.
package enum TimeZoneFileError: Error, Sendable, Equatable {
  case notTZif, truncated, malformed, leapSeconds
}

/// The history and the rules of one IANA time zone: a value made from the bytes of a zone file (RFC 9636).
///
/// Times are seconds since 1970 in UTC, offsets seconds east of Greenwich.
package struct TimeZoneRules: Sendable, Equatable {
  struct Transition: Sendable, Equatable {
    var time: Int64
    var offset: Int32
  }

  /// A change of the offset.
  package struct Change: Sendable, Equatable {
    package var time: Int64
    package var before: Int32
    package var after: Int32
  }

  /// The largest accepted zone file, bytes. The largest of the 2026 database has 3.5 KB ("fat": 4 KB).
  package static let fileLimit = 65_536

  /// The offset before the first transition.
  var initialOffset: Int32 = 0
  /// In order of time.
  var transitions: [Transition] = []
  /// The rule after the last transition.
  var tail: POSIXZone?

  /// Coordinated Universal Time, which needs no file.
  package static let utc = TimeZoneRules()

  private init() {}

  /// Reads a TZif file of version 1 to 4. O(bytes).
  package init(tzif bytes: [UInt8]) throws(TimeZoneFileError) {
    guard bytes.count <= Self.fileLimit else { throw .malformed }
    var reader = TZifReader(bytes: bytes)
    let first = try reader.header()
    if first.version == 0 {
      try read(first, from: &reader, timeSize: 4)
      return
    }
    // The first block repeats in 32 bits what the second has in 64.
    try reader.skip(first.length(timeSize: 4))
    let second = try reader.header()
    try read(second, from: &reader, timeSize: 8)
    guard let footer = reader.footer() else { throw .truncated }
    guard !footer.isEmpty else { return }
    guard let zone = POSIXZone(footer) else { throw .malformed }
    tail = zone
  }

  private mutating func read(
    _ header: TZifReader.Header, from reader: inout TZifReader, timeSize: Int
  ) throws(TimeZoneFileError) {
    guard header.leaps == 0 else { throw .leapSeconds }
    guard header.types > 0 else { throw .malformed }
    let times = try reader.times(header.transitions, size: timeSize)
    let kinds = try reader.bytes(header.transitions)
    var offsets: [Int32] = []
    for _ in 0..<header.types {
      let offset = try reader.int32()
      try reader.skip(2)
      // RFC 9636 3.2: more than −25 h and less than 26 h.
      guard offset > -90_000, offset < 93_600 else { throw .malformed }
      offsets.append(offset)
    }
    try reader.skip(header.characters + header.standardFlags + header.utcFlags)
    initialOffset = offsets[0]
    for (time, kind) in zip(times, kinds) {
      guard Int(kind) < offsets.count, time > transitions.last?.time ?? .min, time < 1 << 40 else { throw .malformed }
      // Some files begin with a time at the edge of 64 bits, before any real one.
      guard time > -1 << 40 else {
        initialOffset = offsets[Int(kind)]
        continue
      }
      transitions.append(Transition(time: time, offset: offsets[Int(kind)]))
    }
  }

  /// The offset at a moment. O(log transitions).
  package func offset(at time: Int64) -> Int32 {
    let index = transitions.count - transitionsAfter(time)
    guard index > 0 else { return transitions.isEmpty ? tail?.offset(at: time) ?? initialOffset : initialOffset }
    if index == transitions.count, let tail { return tail.offset(at: time) }
    return transitions[index - 1].offset
  }

  /// The first change of the offset after a moment; nil if there is none within about two years after the last known
  /// one.
  package func change(after time: Int64) -> Change? {
    var index = transitions.count - transitionsAfter(time)
    while index < transitions.count {
      let before = index == 0 ? initialOffset : transitions[index - 1].offset
      if transitions[index].offset != before {
        return Change(time: transitions[index].time, before: before, after: transitions[index].offset)
      }
      index += 1
    }
    return tail?.change(after: max(time, transitions.last?.time ?? .min / 2))
  }

  /// The local time of a moment as seconds since 1970-01-01T00:00 of that clock.
  package func local(_ time: Int64) -> Int64 { time + Int64(offset(at: time)) }

  /// The first moment of a local time; if clocks skip it, the first moment after it.
  package func firstMoment(ofLocal local: Int64) -> Int64 { moments(ofLocal: local).first }

  /// The moment of a local time, and, if clocks are set back, the moment at which it occurs again.
  package func moments(ofLocal local: Int64) -> (first: Int64, second: Int64?) {
    // No offset exceeds 26 h.
    var from = local - 26 * 3_600
    let end = local + 26 * 3_600
    var offset = Int64(self.offset(at: from))
    var first: Int64?
    while true {
      let change = change(after: from).flatMap { $0.time <= end ? $0 : nil }
      let moment = local - offset
      if moment >= from, moment < change?.time ?? .max {
        if let first { return (first, moment) }
        first = moment
      }
      guard let change else { return (first ?? moment, nil) }
      // Skipped: the clock went from before it to after it.
      if first == nil, local < change.time + Int64(change.after) { return (change.time, nil) }
      from = change.time
      offset = Int64(change.after)
    }
  }

  private func transitionsAfter(_ time: Int64) -> Int {
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle].time <= time { low = middle + 1 } else { high = middle }
    }
    return transitions.count - low
  }
}

/// Reads the parts of a TZif file in their order.
struct TZifReader {
  struct Header {
    var version: UInt8
    var utcFlags: Int
    var standardFlags: Int
    var leaps: Int
    var transitions: Int
    var types: Int
    var characters: Int

    func length(timeSize: Int) -> Int {
      transitions * (timeSize + 1) + types * 6 + characters + leaps * (timeSize + 4) + standardFlags + utcFlags
    }
  }

  let bytes: [UInt8]
  var position = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  mutating func header() throws(TimeZoneFileError) -> Header {
    guard bytes.count - position >= 44, bytes[position..<position + 4].elementsEqual("TZif".utf8) else {
      throw .notTZif
    }
    let version = bytes[position + 4]
    position += 20
    var counts: [Int] = []
    for _ in 0..<6 {
      let count = Int(try int32())
      guard count >= 0, count <= bytes.count else { throw .malformed }
      counts.append(count)
    }
    return Header(
      version: version, utcFlags: counts[0], standardFlags: counts[1], leaps: counts[2], transitions: counts[3],
      types: counts[4], characters: counts[5])
  }

  mutating func skip(_ count: Int) throws(TimeZoneFileError) {
    guard bytes.count - position >= count else { throw .truncated }
    position += count
  }

  mutating func bytes(_ count: Int) throws(TimeZoneFileError) -> ArraySlice<UInt8> {
    let start = position
    try skip(count)
    return bytes[start..<position]
  }

  mutating func int32() throws(TimeZoneFileError) -> Int32 {
    Int32(bitPattern: try bytes(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) })
  }

  mutating func times(_ count: Int, size: Int) throws(TimeZoneFileError) -> [Int64] {
    var times: [Int64] = []
    for _ in 0..<count {
      let word = try bytes(size).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      times.append(size == 8 ? Int64(bitPattern: word) : Int64(Int32(truncatingIfNeeded: word)))
    }
    return times
  }

  /// What stands between the two line feeds at the end.
  mutating func footer() -> ArraySlice<UInt8>? {
    guard position < bytes.count, bytes[position] == 0x0A else { return nil }
    let start = position + 1
    guard let end = bytes[start...].firstIndex(of: 0x0A) else { return nil }
    return bytes[start..<end]
  }
}
