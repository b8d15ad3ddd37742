import MarketData
import Testing

@testable import Venues

@Suite("A book of which every message is everything")
struct WholeBookTests {
  /// A book whose messages are bids of some sizes, at seconds from its beginning.
  private final class Script {
    private let start = Timestamp(microseconds: 1_700_000_000_000_000)
    private var book = WholeBook(
      .init(
        lateLimit: 10 * Microseconds.second, probeAfter: 20 * Microseconds.second,
        probeWithin: 10 * Microseconds.second, catchUp: 6 * Microseconds.second))

    private func event(_ sizes: [Int64], _ time: Int64, in batch: inout EventBatch) -> BookEvent {
      for (index, size) in sizes.enumerated() { batch.bids.append(PriceLevel(price: Int64(100 - index), size: size)) }
      return BookEvent(
        instrument: InstrumentID(0), kind: .snapshot, bidRange: 0..<sizes.count, askRange: 0..<0, time: start + time)
    }

    func take(_ sizes: [Int64], _ time: Int64, isLive: Bool = true, at second: Int64) -> WholeBook.Novelty {
      var batch = EventBatch()
      let event = event(sizes, time, in: &batch)
      return book.take(event, batch, isLive: isLive, now: start + second * Microseconds.second)
    }

    func compare(_ sizes: [Int64], at second: Int64) {
      var batch = EventBatch()
      let event = event(sizes, 0, in: &batch)
      book.compare(event, batch, now: start + second * Microseconds.second)
    }

    func doubt(_ second: Int64) -> WholeBook.Doubt { book.doubt(now: start + second * Microseconds.second) }

    func rescale(sizeBy: Int64) { book.rescale(priceBy: 1, sizeBy: sizeBy) }
  }

  @Test("new, the same again, and late; older times for ten seconds are those of a clock that was set back")
  func novelty() {
    let book = Script()
    #expect(book.take([1], 0, isLive: false, at: 0) == .new)
    #expect(book.take([1], 1, at: 1) == .same)
    #expect(book.take([2], 2, at: 2) == .new)
    #expect(book.take([1], 1, at: 3) == .late)
    #expect(book.take([1], 1, at: 12) == .new)
    #expect(book.take([1], 0, isLive: false, at: 12) == .new, "of a book that is not live nothing is late")
  }

  @Test("silence: asked for, compared, and dead where it differs and does not catch up, or is not answered")
  func silence() {
    let book = Script()
    _ = book.take([1, 2], 0, isLive: false, at: 0)
    #expect(book.doubt(19) == .none && book.doubt(20) == .asks && book.doubt(25) == .none)
    book.compare([1], at: 25)
    #expect(
      book.doubt(44) == .none && book.doubt(45) == .asks, "the best levels that both have are the same: a quiet market")
    book.compare([3], at: 46)
    #expect(book.doubt(51) == .none && book.doubt(52) == .isDead)
    #expect(book.doubt(53) == .asks && book.doubt(62) == .none && book.doubt(63) == .isDead, "not answered")
    #expect(book.doubt(64) == .asks)
    book.compare([], at: 65)
    #expect(book.take([3], 3, at: 66) == .new && book.doubt(72) == .none, "it has caught up")
  }

  @Test("what is kept follows a wider scale")
  func rescaled() {
    let book = Script()
    #expect(book.take([1], 0, isLive: false, at: 0) == .new)
    book.rescale(sizeBy: 10)
    #expect(book.take([10], 1, at: 1) == .same)
  }
}
