import Bytes
import Documents
import Foundation
import HTTP1
import Settings
import Synchronization
import TestTraits
import Testing
import Transport

@testable import Gateway

/// A receiver of webhooks that does what a script says, request by request, and answers 200 from there on.
private final class Receiver: Sendable {
  enum Behaviour: Sendable { case answer(Int), redirect, reset, hold, garbage }
  struct Request: Sendable {
    var target: String
    var signature: String
    var delivery: String
    var body: String
  }
  struct State: Sendable {
    var script: [Behaviour]
    var requests: [Request] = []
  }
  /// Shared with its connections.
  final class Book: Sendable {
    let state: Mutex<State>
    init(_ script: [Behaviour]) { state = Mutex(State(script: script)) }

    func take(_ request: Request) -> Behaviour {
      state.withLock { state in
        state.requests.append(request)
        return state.script.isEmpty ? .answer(200) : state.script.removeFirst()
      }
    }
  }

  private let book: Book
  private let listener: Listener

  init(_ script: [Behaviour], tls: TLSServerContext, loop: EventLoop) throws {
    let book = Book(script)
    self.book = book
    listener = try Listener(address: SocketAddress(host: "127.0.0.1", port: 0), loops: [loop], tls: tls) { _ in
      ReceiverConnection(book)
    }
  }

  var url: String { "https://localhost:\(listener.address.port)/hook?a=b" }
  var requests: [Request] { book.state.withLock { $0.requests } }
  func close() { listener.close() }
}

private final class ReceiverConnection: ConnectionHandler {
  private let book: Receiver.Book
  private var parser = HTTPRequestParser()

  init(_ book: Receiver.Book) { self.book = book }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = UnsafeRawBufferPointer(bytes)
    guard let (head, body) = try? parser.next(&input) else { return }
    let behaviour = book.take(
      .init(
        target: head.target, signature: head.fields["Tidegate-Signature"] ?? "",
        delivery: head.fields["Tidegate-Delivery"] ?? "", body: String(decoding: body, as: UTF8.self)))
    switch behaviour {
    case .hold: break
    case .reset: connection.abort()
    case .garbage: answer(connection, "nonsense\r\n\r\n")
    case .answer(let status):
      answer(connection, "HTTP/1.1 \(status) X\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    case .redirect:
      answer(connection, "HTTP/1.1 302 X\r\nLocation: /stolen\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    }
  }

  private func answer(_ connection: Connection, _ text: String) { connection.write(Array(text.utf8).span.bytes) }
  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) {}
}

@Suite("Webhooks end to end", .serialized, .realTime)
struct WebhookTests {
  private struct World {
    var harness: GatewayHarness
    var receiver: Receiver
    var loop: EventLoop

    func end() async {
      receiver.close()
      await harness.stop()
      await withCheckedContinuation { continuation in loop.shutdown { continuation.resume() } }
    }

    func send(_ method: String, _ path: String, _ body: String = "") async throws -> Answer {
      try await HTTPProbe.send(
        method, path, to: harness.gateway.address,
        fields: body.isEmpty ? [] : [HTTPField("Content-Type", "application/json")], body: Array(body.utf8),
        loop: harness.clientLoop)
    }

    func countdown() async throws {
      let rule = "{\"name\":\"tea\",\"rule\":{\"condition\":{\"type\":\"countdown\",\"for_s\":1}}}"
      #expect(try await send("POST", "/v1/alerts", rule).status == 201)
    }
  }

  /// A gateway that trusts the receiver and tries again soon.
  /// - Parameter allowed: a network that it may reach beside the public Internet.
  private func world(_ script: [Receiver.Behaviour], allowed: String? = "127.0.0.0/8") throws -> World {
    // Not of the same name as the exchange's: OpenSSL takes the first root of a name for the only one.
    let certificate = try SelfSignedCertificate(hosts: ["receiver.test", "localhost", "127.0.0.1"])
    let loop = try EventLoop(index: 0, label: "test.receiver")
    let receiver = try Receiver(script, tls: try TLSServerContext(certificate: certificate), loop: loop)
    let harness = try GatewayHarness(venues: ["kraken"]) { configuration in
      if let file = configuration.caFile, let known = try? String(contentsOfFile: file, encoding: .utf8) {
        try? (known + certificate.certificatePEM).write(toFile: file, atomically: true, encoding: .utf8)
      }
      configuration.webhookNetworks = [allowed.flatMap { IPNetwork($0) }].compactMap { $0 }
      configuration.alerts.webhookWait = 100_000
      configuration.alerts.webhookTimeout = .milliseconds(1_500)
    }
    return World(harness: harness, receiver: receiver, loop: loop)
  }

  @Test("a receiver that resets, answers 500, redirects, sends nonsense or holds gets the delivery until it takes it")
  func faults() async throws {
    let world = try world([.reset, .answer(500), .redirect, .garbage, .hold])
    let made = try await world.send("POST", "/v1/webhooks", "{\"url\":\"\(world.receiver.url)\"}")
    #expect(made.status == 201, "\(made.text)")
    let secret = try #require(made.json["secret"] as? String)
    try await world.countdown()
    var patience = Patience()
    while world.receiver.requests.count < 6 {
      let list = try await world.send("GET", "/v1/webhooks").text
      try await patience.wait(for: "six requests, \(world.receiver.requests), \(list)")
    }
    let requests = world.receiver.requests
    #expect(Set(requests.map(\.delivery)) == ["1"] && Set(requests.map(\.body)).count == 1, "the same delivery")
    #expect(requests.allSatisfy { $0.target == "/hook?a=b" }, "a redirect is not followed")
    #expect(requests[0].body.contains("\"name\":\"tea\""))
    for request in requests {
      let seconds = try #require(Int64(request.signature.dropFirst(2).prefix { $0 != "," }))
      #expect(
        request.signature
          == WebhookRequest.signature(of: Array(request.body.utf8), secret: secret, seconds: seconds))
    }
    var waiting = 1
    while waiting != 0 {
      try await patience.wait(for: "the outbox to be empty")
      let list = try await world.send("GET", "/v1/webhooks")
      #expect(!list.text.contains(secret))
      waiting = ((list.json["webhooks"] as? [[String: Any]])?.first?["waiting"] as? Int) ?? -1
    }
    #expect(world.receiver.requests.count == 6)
    let id = try #require(made.json["id"] as? String)
    #expect(try await world.send("DELETE", "/v1/webhooks/\(id)").status == 204)
    #expect(try await world.send("GET", "/v1/webhooks/\(id)").status == 404)
    await world.end()
  }

  @Test("a name that leads to this machine is not reached unless the operator allows it")
  func forgery() async throws {
    let world = try world([], allowed: nil)
    let made = try await world.send("POST", "/v1/webhooks", "{\"url\":\"\(world.receiver.url)\"}")
    #expect(made.status == 201, "a name is looked up when it is sent to: \(made.text)")
    for url in ["https://127.0.0.1/", "http://example.com/"] {
      #expect(try await world.send("POST", "/v1/webhooks", "{\"url\":\"\(url)\"}").status == 422)
    }
    try await world.countdown()
    var patience = Patience()
    var failures = 0
    while failures < 2 {
      try await patience.wait(for: "two attempts")
      failures = Int(world.harness.gateway.alerts.figures.undelivered)
    }
    #expect(world.receiver.requests.isEmpty)
    await world.end()
  }
}
