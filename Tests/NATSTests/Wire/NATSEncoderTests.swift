import Testing

@testable import NATS

@Suite("Operations of a NATS client")
struct NATSEncoderTests {
  @Test("subscriptions, and their ends")
  func subscriptions() {
    #expect(written { NATSEncoder.subscribe(pattern("a.>"), number: 7, to: &$0) } == "SUB a.> 7\r\n")
    #expect(
      written { NATSEncoder.subscribe(pattern("a"), queue: subject("q"), number: 8, to: &$0) } == "SUB a q 8\r\n")
    #expect(written { NATSEncoder.unsubscribe(7, to: &$0) } == "UNSUB 7\r\n")
  }

  @Test("what a server would pass on is what the client wrote")
  func roundTrip() {
    let payload = Array("MSG\r\nx".utf8)
    let headers = Array("NATS/1.0\r\nA: 1\r\n\r\n".utf8)
    let line = written { out in
      headers.withUnsafeBytes { block in
        payload.withUnsafeBytes {
          NATSEncoder.publish(subject("a.b"), reply: subject("r"), headers: block, payload: $0, to: &out)
        }
      }
    }
    // A server puts the number of the subscription behind the subject.
    #expect(
      operations(line.replacing("HPUB a.b", with: "HMSG a.b 3"))
        == ["a.b 3 [r] NATS/1.0\r\nA: 1\r\n\r\n|MSG\r\nx"])
  }
}
