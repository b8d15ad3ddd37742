import Bytes
import MarketData

/// The newest rejected messages of a connection, each with its beginning, and the number of each kind.
///
/// Bounded: `entryLimit` entries of at most `textLimit` bytes of text and `detailLimit` of detail, about 50 KB in
/// all, which are taken when the first such message comes. Good messages cost nothing; noting a bad one copies its
/// beginning and no more.
package struct FeedErrorRing: Sendable {
  /// Entries kept; the oldest goes first.
  package static let entryLimit = 64
  /// Bytes kept of a message.
  package static let textLimit = 512
  /// Bytes shown of a detail.
  package static let detailLimit = 256

  /// A rejected message, as people see it.
  package struct Entry: Sendable, Equatable {
    package var time: Timestamp
    package var kind: FeedError.Kind
    /// What was wrong with it.
    package var detail: String
    /// Its beginning: valid UTF-8, other bytes as `\xNN`, secrets left out.
    package var text: String
    /// Its length, bytes.
    package var length: Int
    /// Whether `text` is not all of it.
    package var isCut: Bool

    package init(time: Timestamp, kind: FeedError.Kind, detail: String, text: String, length: Int, isCut: Bool) {
      self.time = time
      self.kind = kind
      self.detail = detail
      self.text = text
      self.length = length
      self.isCut = isCut
    }
  }

  private struct Slot {
    var time: Timestamp
    var error: FeedError
    var length: Int
  }

  private var slots: [Slot] = []
  /// `textLimit` bytes for each slot.
  private var texts: [UInt8] = []
  private var next = 0
  private var counters = [Int](repeating: 0, count: FeedError.Kind.allCases.count)

  package init() {}

  /// Messages noted since the beginning, those that are no longer kept included.
  package var total: Int { counters.reduce(0, +) }

  /// How many there have been of each kind, kinds without any left out; in the order of the kinds.
  package var counts: [(kind: FeedError.Kind, count: Int)] {
    zip(FeedError.Kind.allCases, counters).filter { $1 > 0 }.map { ($0, $1) }
  }

  /// Notes a message and the reason of its rejection. O(`textLimit`).
  package mutating func note(_ error: FeedError, _ message: RawSpan, now: Timestamp) {
    counters[error.kind.index] += 1
    message.withUnsafeBytes { bytes in
      insert(Slot(time: now, error: error, length: bytes.count), bytes.prefix(Self.textLimit))
    }
  }

  /// Takes over what another ring has, as newer than what is here.
  mutating func append(_ other: FeedErrorRing) {
    for position in counters.indices { counters[position] += other.counters[position] }
    for age in other.slots.indices.reversed() {
      let index = other.index(age)
      let slot = other.slots[index]
      let start = index * Self.textLimit
      insert(slot, other.texts[start..<(start + min(slot.length, Self.textLimit))])
    }
  }

  /// Where the entry of an age stands, 0 for the newest.
  private func index(_ age: Int) -> Int { (next - 1 - age + 2 * Self.entryLimit) % Self.entryLimit }

  private mutating func insert(_ slot: Slot, _ text: some Collection<UInt8>) {
    if slots.count < Self.entryLimit {
      slots.append(slot)
      if texts.isEmpty { texts = [UInt8](repeating: 0, count: Self.entryLimit * Self.textLimit) }
    } else {
      slots[next] = slot
    }
    let start = next * Self.textLimit
    for (offset, byte) in text.enumerated() { texts[start + offset] = byte }
    next = (next + 1) % Self.entryLimit
  }

  /// What is kept, newest first. O(kept); made for each reader anew.
  package var entries: [Entry] {
    slots.indices.map { age in
      let index = self.index(age)
      let slot = slots[index]
      let kept = min(slot.length, Self.textLimit)
      let start = index * Self.textLimit
      let isCut = kept < slot.length
      let detail = Array(slot.error.detail.utf8)
      return Entry(
        time: slot.time, kind: slot.error.kind,
        detail: ShownText.make(detail[..<min(detail.count, Self.detailLimit)], isCut: detail.count > Self.detailLimit),
        text: ShownText.make(texts[start..<(start + kept)], isCut: isCut), length: slot.length, isCut: isCut)
    }
  }
}

extension FeedError.Kind {
  fileprivate var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
