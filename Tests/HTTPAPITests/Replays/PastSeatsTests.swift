import Testing

@testable import HTTPAPI

@Suite("Places for clients that follow recorded time")
struct PastSeatsTests {
  @Test("an owner gets so many, all together get so many, and each is free again with its last reference")
  func limits() throws {
    let seats = PastSeats()
    var held: [PastSeats.Seat] = []
    func refusal(_ owner: String) -> PastSeats.Refusal? {
      do throws(PastSeats.Refusal) {
        held.append(try seats.take(owner))
        return nil
      } catch {
        return error
      }
    }
    for _ in 0..<PastSeats.ownerLimit { #expect(refusal("a") == nil) }
    #expect(refusal("a") == .owner)
    held.removeFirst()
    #expect(refusal("a") == nil && refusal("a") == .owner)
    var owner = 0
    while seats.count < PastSeats.limit {
      #expect(refusal("b\(owner)") == nil)
      owner += 1
    }
    #expect(refusal("c") == .all)
    held.removeAll()
    #expect(seats.count == 0 && refusal("c") == nil)
  }
}
