import TestTraits
import Testing
import TidegateClient
import TidegateURLSession
import TransportTrials

/// On Linux these run where the libcurl that is loaded has WebSockets (`curl --version` lists `ws`), and are skipped
/// elsewhere: Debian 12's answers `WebSockets not supported by libcurl`.
@Suite("URLSession transport", .realTime)
struct URLSessionTransportTests {
  /// What happens with an echo on loopback; whether the library can do WebSockets at all.
  private static func isAble() async -> Bool {
    guard let gateway = try? LoopbackGateway(.echo),
      let trial = try? TransportTrial(.urlSession, url: gateway.url)
    else { return true }
    let told = await trial.run(sending: ["a"], limit: 1)
    // Any other failure is one to look at.
    let refusals = ["unsupported url", "websockets not supported"]
    return !(told.count == 1 && refusals.contains { told[0].lowercased().contains($0) })
  }

  @Test("messages come back in order, and the code and words of a close frame are told", .enabled { await isAble() })
  func echoes() async throws {
    let gateway = try LoopbackGateway(.echo)
    let told = try await TransportTrial(.urlSession, url: gateway.url)
      .run(sending: ["a", "ä", "b", "close 4202 taken over"])
    #expect(told == ["opened", "a", "ä", "b", "closed 4202 taken over"])
  }

  @Test("a connection that breaks is told as a failure", .enabled { await isAble() })
  func breaks() async throws {
    let gateway = try LoopbackGateway(.echo)
    let told = try await TransportTrial(.urlSession, url: gateway.url).run(sending: ["break"])
    #expect(told.count == 2 && told[1].hasPrefix("broken: "), "\(told)")
  }

  @Test("a refused handshake is told with its status and when to come back", .enabled { await isAble() })
  func refuses() async throws {
    let gateway = try LoopbackGateway(.refuse(503))
    let told = try await TransportTrial(.urlSession, url: gateway.url).run(sending: [])
    #expect(told == ["refused 503, 7 s: the server answered 503"])
  }

  @Test("nobody there is told as a failure, with or without WebSockets in libcurl")
  func nobody() async throws {
    let told = try await TransportTrial(.urlSession, url: "ws://127.0.0.1:1/v1/stream").run(sending: [])
    #expect(told.count == 1 && told[0].hasPrefix("broken: "), "\(told)")
  }
}
