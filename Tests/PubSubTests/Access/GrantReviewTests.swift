import MarketData
import Testing

@testable import PubSub

@Suite("When grants are looked at")
struct GrantReviewTests {
  private let now = Timestamp(microseconds: 1_790_000_000_000_000)

  @Test("told a minute before the end, revoked at it; without a grant revoked after ten seconds")
  func deadlines() {
    var review = GrantReview()
    review.asksForTokens = true
    var (grant, deadline) = review.begin(nil, now: now)
    #expect(grant == nil)
    #expect(review.review(grant, &deadline, now: now + GrantReview.tokenTime + -1) == .fine)
    #expect(review.review(grant, &deadline, now: now + GrantReview.tokenTime) == .revoke(why: "no token within 10 s"))
    let end = now + 100 * Microseconds.second
    (grant, deadline) = review.begin(Grant(subject: "a", expires: end), now: now)
    #expect(review.review(grant, &deadline, now: end + -GrantReview.expiryNotice + -1) == .fine)
    #expect(review.review(grant, &deadline, now: end + -GrantReview.expiryNotice) == .expiring(end))
    #expect(review.review(grant, &deadline, now: end + -1) == .fine)
    #expect(review.review(grant, &deadline, now: end) == .revoke(why: "the token has expired"))
  }

  @Test("each slot has its turn within ten calls, and nobody where no tokens are asked for")
  func turns() {
    var review = GrantReview()
    #expect(review.nextSlots(used: 55).isEmpty)
    review.asksForTokens = true
    let seen = (0..<10).flatMap { _ in review.nextSlots(used: 55) }
    #expect(Set(seen) == Set(0..<55))
  }
}
