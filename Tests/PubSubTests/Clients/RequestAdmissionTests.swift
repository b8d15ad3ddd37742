import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("What clients ask for")
struct RequestAdmissionTests {
  private let now = Timestamp(microseconds: 1_790_000_000_000_000)

  private func receive(
    _ text: String, _ admission: inout RequestAdmission, _ client: inout ClientRequests, grant: Grant? = .everything,
    at now: Timestamp
  ) -> RequestAdmission.Verdict {
    admission.receive(Array(text.utf8).span.bytes, from: &client, grant, now: now)
  }

  @Test("a request behind one that is being answered waits, and comes in its turn")
  func order() {
    var admission = RequestAdmission(limits: ClientLimits())
    var client = ClientRequests()
    _ = client.begin(.subscribe, id: "1")
    for id in 2...4 {
      guard case .wait = receive("{\"op\":\"list\",\"id\":\(id)}", &admission, &client, at: now) else {
        Issue.record("request \(id) did not wait")
        return
      }
    }
    #expect(admission.next(of: &client) == nil)
    client.end()
    #expect(admission.next(of: &client)?.id == "2")
    _ = client.begin(.subscribe, id: "2")
    #expect(admission.next(of: &client) == nil)
    client.end()
    #expect((0..<3).map { _ in admission.next(of: &client)?.id } == ["3", "4", nil])
  }

  @Test("a client is closed at the bound of what may wait, in messages and in bytes")
  func waitingBound() {
    let (count, bytes) = (RequestAdmission.waitingLimit, RequestAdmission.waitingBytesLimit)
    for (padding, limit) in [(0, count), (60_000, bytes / 60_000)] {
      var admission = RequestAdmission(limits: ClientLimits())
      var client = ClientRequests()
      _ = client.begin(.subscribe, id: nil)
      var waited = 0
      var at = now
      while case .wait = receive(
        "{\"op\":\"list\"}" + String(repeating: " ", count: padding), &admission, &client, at: at)
      {
        waited += 1
        at = at + Microseconds.second
      }
      #expect(abs(waited - limit) <= 1, "\(waited) of \(limit)")
    }
  }

  @Test("over its rate a client is told when to come again, and closed if it goes on for long")
  func rate() {
    var admission = RequestAdmission(limits: ClientLimits())
    var client = ClientRequests()
    var errors = 0
    for step in 0..<1_000 {
      switch receive("{\"op\":\"list\"}", &admission, &client, at: now + Int64(step) * 10_000) {
      case .handle(let request): if request.error?.code == .rateLimited { errors += 1 }
      case .wait: Issue.record("nothing is being answered")
      case .disconnect(let code, _):
        #expect(code == CloseCode.rateLimited)
        #expect(errors > 100 && step > 500)
        return
      }
    }
    Issue.record("nobody was closed")
  }

  @Test("a stranger has less of everything than a client that has shown a token")
  func strangers() {
    var admission = RequestAdmission(limits: ClientLimits())
    var client = ClientRequests()
    #expect(admission.requestLimit(nil) == RequestAdmission.strangerRequestsPerSecond)
    let large = "{\"op\":\"list\"}" + String(repeating: " ", count: RequestAdmission.strangerMessageBytes)
    guard case .handle(let refused) = receive(large, &admission, &client, grant: nil, at: now) else {
      Issue.record("it was not answered")
      return
    }
    #expect(refused.error?.code == .messageTooLarge)
    guard case .handle(let taken) = receive(large, &admission, &client, at: now) else {
      Issue.record("it was not answered")
      return
    }
    #expect(taken.error == nil)
  }

  @Test("bytes are taken while nothing is being answered and replies have room; errors in a row have an end")
  func delays() {
    let admission = RequestAdmission(limits: ClientLimits())
    var client = ClientRequests()
    #expect(admission.inputDelay(of: client, .everything, replyBytes: 0, now: now) == 0)
    let tooMany = RequestAdmission.replyLimit + 1
    #expect(admission.inputDelay(of: client, .everything, replyBytes: tooMany, now: now) == .max)
    _ = client.begin(.subscribe, id: nil)
    #expect(admission.inputDelay(of: client, .everything, replyBytes: 0, now: now) == .max)
    for _ in 1..<RequestAdmission.errorLimit { #expect(admission.noteError(.badJSON, of: &client) == nil) }
    #expect(admission.noteError(.badJSON, of: &client) != nil)
  }
}
