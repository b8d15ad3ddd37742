import Foundation
import TestTraits
import Testing
import TidegateClient
import TidegateEpoll
import Transport
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

  @Test("a connection that breaks is told as a failure, and a message that is not text as what cannot go on")
  func breaks() async throws {
    let gateway = try LoopbackGateway(.echo)
    for (word, start) in [("break", "broken: "), ("binary", "unusable: tidegate.v1 is text")] {
      let told = try await TransportTrial(.epoll, url: gateway.url).run(sending: [word])
      #expect(told.count == 2 && told[1].hasPrefix(start), "\(told)")
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
    #expect(told == ["unusable: the server does not speak tidegate.v1.json"])
  }

  @Test("a server that speaks no HTTP, no TLS, or TLS where none is expected, is told as one that cannot be used")
  func otherServers() async throws {
    let words = try LoopbackGateway(.say("SSH-2.0-OpenSSH_9.2\r\n\r\n"))
    let told = try await TransportTrial(.epoll, url: words.url).run(sending: [])
    #expect(told.count == 1 && told[0].hasPrefix("unusable: this is no WebSocket server: "), "\(told)")
    let plain = try await TransportTrial(.epoll, url: words.wrongURL).run(sending: [])
    #expect(plain.count == 1 && plain[0].hasPrefix("unusable: TLS with "), "\(plain)")
    let secure = try LoopbackGateway(.echo, certificate: try SelfSignedCertificate(hosts: ["127.0.0.1"]))
    let clear = try await TransportTrial(.epoll, url: secure.wrongURL).run(sending: [])
    // The server says in plain HTTP that it speaks TLS.
    #expect(clear.count == 1 && clear[0].hasPrefix("refused 400"), "\(clear)")
  }

  @Test("a certificate that is not trusted is told as what cannot be used, one of a trusted root is used")
  func certificates() async throws {
    let certificate = try SelfSignedCertificate(hosts: ["127.0.0.1"])
    let gateway = try LoopbackGateway(.echo, certificate: certificate)
    let told = try await TransportTrial(.epoll, url: gateway.url).run(sending: [])
    #expect(told.count == 1 && told[0].hasPrefix("unusable: TLS with "), "\(told)")
    let roots = FileManager.default.temporaryDirectory.appendingPathComponent("roots-\(UUID().uuidString).pem")
    try Data(certificate.certificatePEM.utf8).write(to: roots)
    defer { try? FileManager.default.removeItem(at: roots) }
    let trusted = try await TransportTrial(.epoll(caFile: roots.path), url: gateway.url).run(sending: ["a"], limit: 1)
    #expect(trusted == ["opened", "a"])
    let other = try LoopbackGateway(.echo, certificate: try SelfSignedCertificate(hosts: ["gateway.example"]))
    let wrong = try await TransportTrial(.epoll(caFile: roots.path), url: other.url).run(sending: [])
    #expect(wrong.count == 1 && wrong[0].hasPrefix("unusable: TLS with "), "\(wrong)")
    let missing = try await TransportTrial(.epoll(caFile: roots.path + ".no"), url: gateway.url).run(sending: [])
    #expect(missing.count == 1 && missing[0].hasPrefix("unusable: cannot use "), "\(missing)")
  }

  @Test("a subscription ends with the reason why its certificate is not trusted")
  func subscription() async throws {
    let gateway = try LoopbackGateway(.echo, certificate: try SelfSignedCertificate(hosts: ["127.0.0.1"]))
    let client = GatewayClient(url: try GatewayURL(gateway.url), transport: .epoll)
    var events = client.subscribe(.status).makeAsyncIterator()
    let failure = await #expect(throws: ConnectionFailure.self) { try await events.next() }
    #expect(failure?.description.contains("certificate") == true, "\(String(describing: failure))")
  }

  @Test("nobody there is told as a failure")
  func nobody() async throws {
    let told = try await TransportTrial(.epoll, url: "ws://127.0.0.1:1/v1/stream").run(sending: [])
    #expect(told.count == 1 && told[0].hasPrefix("broken: "), "\(told)")
  }
}
