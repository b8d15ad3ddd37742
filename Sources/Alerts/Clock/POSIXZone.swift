/// A rule of POSIX `TZ`, as it ends a zone file: `CET-1CEST,M3.5.0,M10.5.0/3` (RFC 9636 3.3.1, with hours −167…167).
struct POSIXZone: Sendable, Equatable {
  enum Day: Sendable, Equatable {
    /// 1…365; 29 February is never counted.
    case withoutLeapDay(Int64)
    /// 0…365; 29 February is counted.
    case ofYear(Int64)
    /// The `week`th (5: the last) `weekday` (0: Sunday) of a month.
    case ofMonth(month: Int64, week: Int64, weekday: Int64)
  }

  struct Turn: Sendable, Equatable {
    var day: Day
    /// Local seconds from the day's midnight.
    var time: Int64

    /// Local seconds since 1970 of the turn in `year`.
    func local(in year: Int64) -> Int64 {
      let number: Int64
      switch day {
      case .withoutLeapDay(let day):
        // Day 60 is 1 March.
        number = CivilDay.number(year: year, month: 1, day: 1) + day - 1 + (day >= 60 && CivilDay.isLeap(year) ? 1 : 0)
      case .ofYear(let day): number = CivilDay.number(year: year, month: 1, day: 1) + day
      case .ofMonth(let month, let week, let weekday):
        let first = CivilDay.number(year: year, month: month, day: 1)
        let next =
          month == 12
          ? CivilDay.number(year: year + 1, month: 1, day: 1)
          : CivilDay.number(year: year, month: month + 1, day: 1)
        // Sunday is 0 here and 6 in `CivilDay`.
        let wanted = Int64(weekday == 0 ? 6 : weekday - 1)
        var day = first + floorModulo(wanted - Int64(CivilDay.weekday(of: first)), 7) + (week - 1) * 7
        while day >= next { day -= 7 }
        number = day
      }
      return number * CivilDay.seconds + time
    }
  }

  struct Summer: Sendable, Equatable {
    var offset: Int32
    var start: Turn
    var end: Turn
  }

  var standard: Int32
  var summer: Summer?

  func offset(at time: Int64) -> Int32 {
    guard summer != nil else { return standard }
    return changes(around: time).last { $0.time <= time }?.after ?? standard
  }

  func change(after time: Int64) -> TimeZoneRules.Change? {
    guard summer != nil else { return nil }
    return changes(around: time).first { $0.time > time }
  }

  /// The changes of the years around a moment, in order, without those that change nothing.
  private func changes(around time: Int64) -> [TimeZoneRules.Change] {
    guard let summer else { return [] }
    let year = CivilDay.year(of: floorDivide(time, CivilDay.seconds))
    var turns: [(time: Int64, offset: Int32)] = []
    for year in (year - 2)...(year + 2) {
      turns.append((summer.start.local(in: year) - Int64(standard), summer.offset))
      turns.append((summer.end.local(in: year) - Int64(summer.offset), standard))
    }
    // If summer time ends and begins at one moment, it lasts all year: the beginning sorts last and wins.
    turns.sort { ($0.time, $0.offset == summer.offset ? 1 : 0) < ($1.time, $1.offset == summer.offset ? 1 : 0) }
    var changes: [TimeZoneRules.Change] = []
    var offset = turns[0].offset
    for (index, turn) in turns.enumerated().dropFirst() {
      if index + 1 < turns.count, turns[index + 1].time == turn.time { continue }
      if turn.offset != offset { changes.append(.init(time: turn.time, before: offset, after: turn.offset)) }
      offset = turn.offset
    }
    return changes
  }
}

extension POSIXZone {
  /// Nil if `text` is not such a rule.
  init?(_ text: ArraySlice<UInt8>) {
    var parser = Parser(rest: text)
    guard parser.name(), let west = parser.clock(hours: 24) else { return nil }
    standard = Int32(-west)
    guard !parser.rest.isEmpty else { return }
    guard parser.name() else { return nil }
    var offset = Int64(standard) + 3_600
    if let next = parser.rest.first, next != UInt8(ascii: ",") {
      guard let west = parser.clock(hours: 24) else { return nil }
      offset = -west
    }
    guard let start = parser.turn(), let end = parser.turn(), parser.rest.isEmpty else { return nil }
    summer = Summer(offset: Int32(offset), start: start, end: end)
  }

  private struct Parser {
    var rest: ArraySlice<UInt8>

    mutating func take(_ byte: UInt8) -> Bool {
      guard rest.first == byte else { return false }
      rest.removeFirst()
      return true
    }

    /// `CEST` or `<+0330>`.
    mutating func name() -> Bool {
      if take(UInt8(ascii: "<")) {
        guard let end = rest.firstIndex(of: UInt8(ascii: ">")), end - rest.startIndex >= 3 else { return false }
        rest = rest[(end + 1)...]
        return true
      }
      let letters = rest.prefix { $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z") }
      rest = rest[letters.endIndex...]
      return letters.count >= 3
    }

    mutating func number(_ range: ClosedRange<Int64>) -> Int64? {
      let digits = rest.prefix { $0 &- UInt8(ascii: "0") < 10 }
      guard !digits.isEmpty, digits.count <= 3 else { return nil }
      rest = rest[digits.endIndex...]
      let value = digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
      return range.contains(value) ? value : nil
    }

    /// `[+-]h[:m[:s]]` in seconds.
    mutating func clock(hours: Int64) -> Int64? {
      let isNegative = take(UInt8(ascii: "-"))
      if !isNegative { _ = take(UInt8(ascii: "+")) }
      guard var seconds = number(0...hours).map({ $0 * 3_600 }) else { return nil }
      for unit in [60, 1] as [Int64] {
        guard take(UInt8(ascii: ":")) else { break }
        guard let part = number(0...59) else { return nil }
        seconds += part * unit
      }
      return isNegative ? -seconds : seconds
    }

    /// `,M3.2.0/2`, `,J60`, `,59`.
    mutating func turn() -> Turn? {
      guard take(UInt8(ascii: ",")) else { return nil }
      let day: Day
      if take(UInt8(ascii: "M")) {
        guard let month = number(1...12), take(UInt8(ascii: ".")), let week = number(1...5), take(UInt8(ascii: ".")),
          let weekday = number(0...6)
        else { return nil }
        day = .ofMonth(month: month, week: week, weekday: weekday)
      } else if take(UInt8(ascii: "J")) {
        guard let number = number(1...365) else { return nil }
        day = .withoutLeapDay(number)
      } else {
        guard let number = number(0...365) else { return nil }
        day = .ofYear(number)
      }
      guard take(UInt8(ascii: "/")) else { return Turn(day: day, time: 7_200) }
      guard let time = clock(hours: 167) else { return nil }
      return Turn(day: day, time: time)
    }
  }
}
