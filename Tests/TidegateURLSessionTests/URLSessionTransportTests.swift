import Foundation
import TestTraits
import Testing
import TidegateClient
import TransportTrials

@testable import TidegateURLSession

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
    return !(told.count == 1 && told[0].contains("use TidegateEpoll"))
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

  @Test("nobody there is told as a failure", .enabled { await isAble() })
  func nobody() async throws {
    let told = try await TransportTrial(.urlSession, url: "ws://127.0.0.1:1/v1/stream").run(sending: [])
    #expect(told.count == 1 && told[0].hasPrefix("broken: "), "\(told)")
  }

  @Test(
    "without WebSockets in libcurl a subscription ends with the reason, and so does a request",
    .enabled { await !isAble() })
  func missing() async throws {
    let client = GatewayClient(url: try GatewayURL("ws://127.0.0.1:1/v1/stream"), transport: .urlSession)
    var events = client.subscribe(.status).makeAsyncIterator()
    let failure = await #expect(throws: ConnectionFailure.self) { try await events.next() }
    #expect(failure?.description.contains("use TidegateEpoll") == true, "\(String(describing: failure))")
    let refusal = await #expect(throws: RequestFailure.self) { try await client.perform(.enable("1")) }
    #expect(refusal == failure.map { .ended($0) })
  }

  @Test("failures that last are told from those of the network")
  func failures() {
    func told(_ code: Int, domain: String = NSURLErrorDomain) -> Bool? {
      switch SessionFailure.event(NSError(domain: domain, code: code)) {
      case .unusable: true
      case .closed(nil, _): false
      default: nil
      }
    }
    // Unsupported URL, bad URL, plain text forbidden, certificates, no HTTP.
    for code in [-1002, -1000, -1022, -1201, -1202, -1203, -1204, -1205, -1206, -1011, -1017, -1007, -1010] {
      #expect(told(code) == true, "\(code)")
      #expect(told(code, domain: NSPOSIXErrorDomain) == false, "\(code)")
    }
    // Offline, timed out, no such host, refused, lost, no TLS for now.
    for code in [-1009, -1001, -1003, -1004, -1005, -1200, -1006, -999] { #expect(told(code) == false, "\(code)") }
  }
}
