import MarketData

/// A GET as a venue reads it.
struct SimulatedRequest {
  let path: String
  let query: [(name: String, value: String)]

  /// The value of a parameter; nil if it is not there.
  subscript(name: String) -> String? { query.first { $0.name == name }?.value }

  func integer(_ name: String) -> Int64? { self[name].flatMap { Int64($0) } }

  /// A moment as a number since 1970; nil if it is missing or no number. Kept between 1970 and 2242.
  func seconds(_ name: String) -> Timestamp? { integer(name).map { Self.time($0, Microseconds.second) } }
  func milliseconds(_ name: String) -> Timestamp? { integer(name).map { Self.time($0, Microseconds.millisecond) } }
  static func time(_ number: Int64, _ unit: Int64) -> Timestamp {
    Timestamp(rawValue: min(max(number, 0), (1 << 53) / unit) * unit)
  }

  /// What follows `prefix` in the path, up to `suffix`; nil if the path is of another form.
  func part(after prefix: String, before suffix: String = "") -> String? {
    guard path.hasPrefix(prefix), path.hasSuffix(suffix), path.utf8.count >= prefix.utf8.count + suffix.utf8.count
    else { return nil }
    let part = path.dropFirst(prefix.count).dropLast(suffix.count)
    return part.isEmpty || part.contains("/") ? nil : String(part)
  }
}

/// What a venue answers in a while: so much at once, and so much more each second.
struct RequestBudget {
  let capacity: Double
  let perSecond: Double
  /// How long nothing is answered after a request too many, µs.
  let penalty: Int64
  private var left: Double
  private var counted = Timestamp.distantPast
  private var shutUntil = Timestamp.distantPast

  init(_ capacity: Double, perSecond: Double, penalty: Int64 = 0) {
    self.capacity = capacity
    self.perSecond = perSecond
    self.penalty = penalty
    left = capacity
  }

  /// Takes `cost`; false, and nothing is taken, if there is less left.
  mutating func take(_ cost: Double = 1, at now: Timestamp) -> Bool {
    guard now >= shutUntil else { return false }
    if now > counted {
      left = min(capacity, left + Double(min(now - counted, Microseconds.day)) / 1e6 * perSecond)
      counted = now
    }
    guard left >= cost else {
      shutUntil = now + penalty
      return false
    }
    left -= cost
    return true
  }
}

/// What a venue answers or takes in spans of time that follow one another: so much in each.
struct RequestCount {
  let limit: Int
  /// µs.
  let span: Int64
  private(set) var count = 0
  private var start: Timestamp
  /// Whether spans begin with the clock's, whatever happened when.
  private let isByClock: Bool

  /// - Parameter start: of the first span, each further one beginning with what comes behind the one before; nil for
  ///   spans by the clock.
  init(_ limit: Int, per span: Int64, from start: Timestamp? = nil) {
    self.limit = limit
    self.span = span
    self.start = start ?? .distantPast
    isByClock = start == nil
  }

  /// Counts, whatever there is left; false if it is too much.
  mutating func take(_ cost: Int = 1, at now: Timestamp) -> Bool {
    let begun = isByClock ? Timestamp(rawValue: now.rawValue / span * span) : now
    if isByClock ? begun != start : now - start >= span { (start, count) = (begun, 0) }
    count += cost
    return count <= limit
  }
}
