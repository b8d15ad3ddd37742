/// The events that wait for one consumer, bounded and in order.
///
/// It has no states, only the key of each changed state, once. The value is read when the consumer takes the key. So a
/// consumer that never reads costs a key for each stream, and at most `limit` events.
struct Inbox<Key: Hashable & Sendable, Event: Sendable>: Sendable {
  enum Entry {
    /// The state of this key has changed.
    case state(Key)
    case event(Event)
    /// This number of the oldest events were dropped.
    case dropped(Int)
  }

  private enum Token: Sendable {
    case state(Key)
    case event
  }

  /// The weight of all events.
  let limit: Int
  private var order = Queue<Token>()
  private var waiting: Set<Key> = []
  private var events = Queue<(event: Event, weight: Int)>()
  /// Places in `order` for events: at least as many as there are events.
  private var reserved = 0
  private var weight = 0
  private var dropped = 0

  init(limit: Int) { self.limit = max(1, min(limit, 100_000)) }

  var isEmpty: Bool { waiting.isEmpty && events.count == 0 && dropped == 0 }

  /// The state of `key` has changed. O(1).
  mutating func mark(_ key: Key) { if waiting.insert(key).inserted { order.append(.state(key)) } }

  /// Adds an event that counts as `weight`, at most the limit, and drops the oldest ones to make room. Amortised O(1).
  mutating func append(_ event: Event, weight: Int = 1) {
    let weight = min(max(1, weight), limit)
    while self.weight + weight > limit, let old = events.popFirst() {
      self.weight -= old.weight
      dropped += old.weight
    }
    events.append((event, weight))
    self.weight += weight
    // The place of a dropped event serves the next one.
    if reserved < events.count {
      reserved += 1
      order.append(.event)
    }
  }

  /// Counts events that were never added because they would not fit.
  mutating func drop(_ count: Int) { dropped += count }

  /// Takes the oldest. Amortised O(1).
  mutating func next() -> Entry? {
    if dropped > 0 {
      defer { dropped = 0 }
      return .dropped(dropped)
    }
    while let token = order.popFirst() {
      switch token {
      case .state(let key):
        waiting.remove(key)
        return .state(key)
      case .event:
        reserved -= 1
        guard let (event, weight) = events.popFirst() else { continue }
        self.weight -= weight
        return .event(event)
      }
    }
    return nil
  }
}

/// First in, first out. Amortised O(1).
private struct Queue<Element: Sendable>: Sendable {
  private var elements: [Element?] = []
  private var head = 0

  var count: Int { elements.count - head }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    defer {
      elements[head] = nil
      head += 1
      // The taken part is removed once it is the larger half.
      if head == elements.count {
        elements.removeAll(keepingCapacity: head < 4096)
        head = 0
      } else if head > 64, head * 2 > elements.count {
        elements.removeFirst(head)
        head = 0
      }
    }
    return elements[head]
  }
}
