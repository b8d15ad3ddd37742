import Bytes
import Foundation
import HTTP1
import MarketData
import Synchronization
import TestTraits
import Testing
import Transport
import WebSocket

@testable import VenueSimulator

/// What a socket client meets, in order.
private enum Happening: Sendable {
  case response(Int, String)
  case text(String, isBinary: Bool)
  case ping
  case close(UInt16)
  case ended
  case failed(String)
}

/// A bare client: one request, then WebSocket messages if it was answered with 101. Everything happens on `loop`.
private final class SocketClient: ConnectionHandler, @unchecked Sendable {
  // `@unchecked`: touched on `loop` only, but for `happenings`, whose continuation is Sendable.
  let happenings: AsyncStream<Happening>
  private let continuation: AsyncStream<Happening>.Continuation
  private let loop: EventLoop
  private var connection: Connection?
  private var parser = HTTPResponseParser(limits: HTTPLimits(bodyBytes: 8 << 20))
  private var webSocket = WebSocketConnection(role: .client, limits: WebSocketLimits(messageBytes: 8 << 20))
  private var isUpgraded = false
  private var attempt: ConnectAttempt?

  init(
    _ address: SocketAddress, tls: TLSClientContext?, loop: EventLoop, target: String, upgrade: Bool, body: String?
  ) {
    (happenings, continuation) = AsyncStream.makeStream()
    self.loop = loop
    loop.execute { [self] in
      attempt = Connector.connect(host: "localhost", port: address.port, tls: tls, loop: loop, handler: self) {
        result in
        switch result {
        case .failure(let error): self.continuation.yield(.failed(error.description))
        case .success(let connection):
          self.connection = connection
          let head =
            upgrade
            ? WebSocketHandshake.request(host: "localhost", target: target, key: Array(0..<16))
            : HTTPRequestHead(
              method: body == nil ? "GET" : "POST", target: target, fields: HTTPFields([HTTPField("Host", "localhost")])
            )
          var out = ByteBuffer()
          HTTPEncoder.append(head, bodyLength: body?.utf8.count ?? 0, to: &out)
          out.append(body ?? "")
          connection.write(out.bytes)
        }
      }
    }
  }

  func send(_ text: String) {
    loop.execute { [self] in
      var out = ByteBuffer()
      Array(text.utf8).withUnsafeBytes {
        WebSocketFrame.append(.text, payload: RawSpan(_unsafeBytes: $0), mask: 0x1234_5678, to: &out)
      }
      connection?.write(out.bytes)
    }
  }

  func close() { loop.execute { [self] in connection?.abort() } }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var rest = bytes
    do {
      if !isUpgraded {
        var input = UnsafeRawBufferPointer(bytes)
        guard let (head, body) = try parser.next(&input) else { return }
        isUpgraded = head.status == 101
        continuation.yield(.response(head.status, String(decoding: body, as: UTF8.self)))
        rest = UnsafeMutableRawBufferPointer(rebasing: bytes.suffix(input.count))
      }
      while isUpgraded, let event = try webSocket.next(&rest) {
        switch event {
        case .text(let text): continuation.yield(.text(String(decoding: text, as: UTF8.self), isBinary: false))
        case .binary(let text): continuation.yield(.text(String(decoding: text, as: UTF8.self), isBinary: true))
        case .ping: continuation.yield(.ping)
        case .close(let code, _, _): continuation.yield(.close(code))
        default: break
        }
      }
    } catch { continuation.yield(.failed("\(error)")) }
  }
  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    continuation.yield(.ended)
    continuation.finish()
  }
}

@Suite("Simulated exchange", .realTime)
struct SimulatedExchangeTests {
  /// An exchange and what a client needs to reach it.
  private struct Fixture {
    let exchange: SimulatedExchange
    let tls: TLSClientContext
    let loop: EventLoop
    let clientLoop: EventLoop

    init(_ venue: String, rate: Double = 60, faults: [Fault] = []) throws {
      let certificate = try SelfSignedCertificate(hosts: ["localhost", "127.0.0.1"])
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("simulator-\(UUID().uuidString).pem")
      try certificate.certificatePEM.write(to: file, atomically: true, encoding: .utf8)
      defer { try? FileManager.default.removeItem(at: file) }
      tls = try TLSClientContext(caFile: file.path)
      loop = try EventLoop(index: 0, label: "test.exchange")
      clientLoop = try EventLoop(index: 1, label: "test.client")
      exchange = try SimulatedExchange(
        venue: venue, seed: 9, rate: rate, faults: faults, listen: SocketAddress(host: "127.0.0.1", port: 0),
        tls: TLSServerContext(certificate: certificate), loop: loop)
    }

    /// - Parameter body: of a POST; nil for a GET.
    func client(_ target: String, upgrade: Bool = true, body: String? = nil) -> SocketClient {
      SocketClient(exchange.address, tls: tls, loop: clientLoop, target: target, upgrade: upgrade, body: body)
    }

    func stop() async {
      exchange.stop()
      let (loop, clientLoop) = (loop, clientLoop)
      await withCheckedContinuation { continuation in loop.shutdown { continuation.resume() } }
      await withCheckedContinuation { continuation in clientLoop.shutdown { continuation.resume() } }
    }
  }

  private static let venues: [(String, String, String, String)] = [
    ("kraken", "/v2", KrakenProtocolTests.subscribe("book", ["BTC/USD"], depth: 1000), #""type":"update""#),
    ("coinbase", "/", CoinbaseProtocolTests.subscribe(["BTC-USD"], ["level2_batch"]), #""type":"l2update""#),
    ("binance", "/ws", #"{"method":"SUBSCRIBE","params":["btcusdt@depth@100ms"],"id":1}"#, #""e":"depthUpdate""#),
    (
      "kucoin", "/",
      #"{"id":"1","action":"subscribe","channel":"obu","tradeType":"SPOT","symbol":"BTC-USDT","depth":"increment@10ms"}"#,
      #""t":"delta""#
    ),
  ]

  @Test("over TLS: upgrade, subscription, updates, a drop, and back again", arguments: 0..<4)
  func session(index: Int) async throws {
    let (venue, target, subscribe, update) = Self.venues[index]
    let fixture = try Fixture(venue)
    #expect(fixture.exchange.webSocketURL == "wss://localhost:\(fixture.exchange.address.port)\(target)")
    for _ in 0..<2 {
      let client = fixture.client(target)
      var updates = 0
      var isEnded = false
      for await happening in client.happenings {
        switch happening {
        case .response(let status, _):
          #expect(status == 101)
          client.send(subscribe)
        case .text(let text, let isBinary):
          _ = try parse(text)
          #expect(isBinary == (venue == "kucoin"))
          if text.contains(update) {
            updates += 1
            if updates == 5 { fixture.exchange.inject(Fault(.drop)) }
          }
        case .ended: isEnded = true
        case .failed(let reason): Issue.record("\(reason)")
        case .ping, .close: break
        }
      }
      #expect(updates >= 5 && isEnded)
    }
    await fixture.stop()
    #expect(fixture.exchange.statistics.faultsInjected == 2 && fixture.exchange.statistics.connections == 2)
    #expect(fixture.exchange.statistics.framesSent > 10)
  }

  @Test(
    "REST over TLS on the same port",
    arguments: [
      ("kraken", "/0/public/AssetPairs", nil, "XXBTZUSD"), ("coinbase", "/products", nil, "BTC-USD"),
      ("binance", "/api/v3/exchangeInfo?symbols=%5B%22BTCUSDT%22%5D", nil, "BTCUSDT"),
      ("binance", "/api/v3/depth?symbol=ETHUSDT&limit=1000", nil, "lastUpdateId"),
      ("hyperliquid", "/info", #"{"type":"meta"}"#, "szDecimals"),
    ] as [(String, String, String?, String)])
  func rest(venue: String, target: String, post: String?, text: String) async throws {
    let fixture = try Fixture(venue)
    let client = fixture.client(target, upgrade: false, body: post)
    for await happening in client.happenings {
      guard case .response(let status, let body) = happening else { continue }
      #expect(status == 200 && body.contains(text))
      client.close()
    }
    await fixture.stop()
  }

  @Test("a ban answers upgrades with 429, a slow handshake answers them late, a reset closes with 1012")
  func handshakeFaults() async throws {
    let banned = try Fixture("kraken", faults: [Fault(parsing: "ban=600")])
    for await happening in banned.client("/v2").happenings {
      if case .response(let status, _) = happening { #expect(status == 429) }
    }
    await banned.stop()

    let slow = try Fixture("kraken", faults: [Fault(parsing: "slow-handshake=0.2")])
    let began = ContinuousClock.now
    let client = slow.client("/v2")
    for await happening in client.happenings {
      switch happening {
      case .response(let status, _):
        #expect(status == 101 && ContinuousClock.now - began >= .milliseconds(200))
        slow.exchange.inject(Fault(.serverReset))
      case .close(let code):
        #expect(code == 1012)
        client.close()
      default: break
      }
    }
    await slow.stop()
  }
}
