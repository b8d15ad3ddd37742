import TestTraits
import Testing
import TidegateClient
import TidegateEpoll
import TransportTrials

@Suite("Epoll transport", .realTime)
struct EpollTransportTests {
  @Test("messages come back in order, and the code and words of a close frame are told")
  func echoes() async throws {
    let gateway = try LoopbackGateway(.echo)
    let large = String(repeating: "ä", count: 20_000)
    let told = try await TransportTrial(.epoll, url: gateway.url).run(sending: [
      "a", large, "b", "close 4202 taken over",
    ])
    #expect(told == ["opened", "a", large, "b", "closed 4202 taken over"])
  }

  @Test("a connection that breaks, and a message that is not text, are told as a failure")
  func breaks() async throws {
    let gateway = try LoopbackGateway(.echo)
    for word in ["break", "binary"] {
      let told = try await TransportTrial(.epoll, url: gateway.url).run(sending: [word])
      #expect(told.count == 2 && told[1].hasPrefix("broken: "), "\(told)")
    }
  }

  @Test("a refused handshake is told with its status, when to come back, and the gateway's words")
  func refuses() async throws {
    let gateway = try LoopbackGateway(.refuse(503))
    let told = try await TransportTrial(.epoll, url: gateway.url).run(sending: [])
    #expect(
      told == ["refused 503, 7 s: the server answered 503 Service Unavailable: this gateway is full; try another"])
  }

  @Test("a server that accepts without the subprotocol is told as one that does not speak it, before anything is open")
  func otherProtocol() async throws {
    let gateway = try LoopbackGateway(.withoutSubprotocol)
    let told = try await TransportTrial(.epoll, url: gateway.url).run(sending: [])
    #expect(told == ["broken: the server does not speak tidegate.v1.json"])
  }

  @Test("nobody there is told as a failure")
  func nobody() async throws {
    let told = try await TransportTrial(.epoll, url: "ws://127.0.0.1:1/v1/stream").run(sending: [])
    #expect(told.count == 1 && told[0].hasPrefix("broken: "), "\(told)")
  }
}
