import Alerts
import MarketData
import Testing

@testable import Documents

@Suite("The mailbox of alerts")
struct AlertMailboxTests {
  @Test("a full mailbox leaves figures out, never states, and calls the desk once")
  func mailbox() {
    var mailbox = AlertMailbox()
    let moment = AlertMoment(steady: 0, wall: Timestamp(microseconds: 0))
    let isFirst = mailbox.add(AlertSource(rawValue: 0), [.price(1)], at: moment)
    #expect(isFirst)
    let many = (0..<AlertMailbox.limit).map { AlertMarketEvent.price(Int64($0)) }
    let isSecond = mailbox.add(AlertSource(rawValue: 0), many, at: moment)
    #expect(!isSecond)
    #expect(mailbox.hasOverflown && mailbox.events.count == AlertMailbox.limit)
    _ = mailbox.add(AlertSource(rawValue: 0), [.feed(isLive: false)], at: moment)
    #expect(mailbox.events.count == AlertMailbox.limit + 1)
    let taken = mailbox.take()
    #expect(taken.events.count == AlertMailbox.limit + 1)
    #expect(mailbox.events.isEmpty && !mailbox.hasOverflown)
  }
}
