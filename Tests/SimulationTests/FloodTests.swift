import Access
import Bytes
import HTTP1
import Logging
import Operations
import PubSub
import Settings
import Simulation
import TestTraits
import Testing
import Transport
import WebSocket

@testable import Gateway

/// What a client gets done that sends as fast as the network carries it.
@Suite("Floods on a simulated network", .longComputation)
struct FloodTests {
  enum Flood: String, CaseIterable, CustomTestStringConvertible {
    case emptyTexts, badTexts, pings, pongs, validPings, lists, subscribes, fragments, compressed
    var testDescription: String { rawValue }
  }

  private static let second: UInt64 = 1_000_000_000

  /// A gateway without feeds on one loop of a network, and those who flood it.
  private final class Harbour {
    let network: FaultyTransport
    let gateway: Gateway
    let loop: EventLoop
    let host: SimulatedHost
    private var isStopped = false
    private var strangers: [EventLoop] = []

    init(seed: UInt64, change: (inout GatewayConfiguration) -> Void = { _ in }) throws {
      network = FaultyTransport(seed: seed)
      host = network.host("10.0.0.1")
      loop = network.loop(on: host)
      var configuration = GatewayConfiguration()
      configuration.listen = SocketAddress(host: host.address, port: 8080)
      configuration.internalListen = SocketAddress(host: host.address, port: 9090)
      configuration.heartbeatSeconds = 1
      configuration.node = "simulated"
      change(&configuration)
      gateway = try Gateway(
        configuration: configuration, log: Logger(label: "flood") { _ in SwiftLogNoOpLogHandler() }, loops: [loop])
      try gateway.start()
    }

    /// - Parameter address: of all of them; else each has one of its own.
    func attackers(
      _ count: Int, sending unit: [UInt8], upgrades: Bool = true, deflates: Bool = false, address: String? = nil
    ) -> [Attacker] {
      let shared = address.map { network.host($0) }
      return (0..<count).map { index in
        let loop = network.loop(on: shared ?? network.host("10.0.2.\(strangers.count + 1)"))
        strangers.append(loop)
        let attacker = Attacker(unit, upgrades: upgrades, deflates: deflates)
        attacker.connect(to: gateway.address, loop)
        return attacker
      }
    }

    func stop() {
      gateway.stop(within: .seconds(1), FloodCall { [unowned self] in isStopped = true }.body)
      #expect(network.run(atMost: 30 * FloodTests.second) { isStopped })
      for loop in strangers { loop.shutdown {} }
      network.run(for: FloodTests.second)
      network.tearDown()
    }
  }

  private struct FloodCall: @unchecked Sendable {
    // `@unchecked`: a network runs in one thread.
    let call: () -> Void
    init(_ call: @escaping () -> Void) { self.call = call }
    var body: @Sendable () -> Void { { call() } }
  }

  /// Sends the same again and again, as fast as it is taken.
  private final class Attacker: ConnectionHandler {
    private let unit: [UInt8]
    private let portion: [UInt8]
    private let upgrades: Bool
    private let deflates: Bool
    private var parser = HTTPResponseParser(limits: HTTPLimits())
    private var webSocket = WebSocketConnection(role: .client)
    private var isOpen = false
    private(set) var connection: Connection?
    private(set) var texts: [String] = []
    private(set) var pongs = 0
    private(set) var statuses: [Int: Int] = [:]
    private(set) var closeCode: UInt16?
    private(set) var hasEnded = false

    init(_ unit: [UInt8], upgrades: Bool, deflates: Bool) {
      self.unit = unit
      self.upgrades = upgrades
      self.deflates = deflates
      portion = Array(repeatElement(unit, count: max(1, (32 << 10) / unit.count)).joined())
    }

    func connect(to address: SocketAddress, _ loop: EventLoop) {
      loop.execute(
        FloodCall { [self] in
          Connector.connect(host: address.host, port: address.port, tls: nil, loop: loop, handler: self) { result in
            guard case .success(let connection) = result else { return }
            self.connection = connection
            if self.upgrades {
              var fields = [
                HTTPField("Host", "a"), HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade"),
                HTTPField("Sec-WebSocket-Version", "13"), HTTPField("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
              ]
              if self.deflates {
                fields.append(
                  HTTPField(
                    "Sec-WebSocket-Extensions",
                    "permessage-deflate; client_no_context_takeover; server_no_context_takeover"))
              }
              var out = ByteBuffer()
              HTTPEncoder.append(
                HTTPRequestHead(method: "GET", target: "/v1/stream", fields: HTTPFields(fields)), bodyLength: 0,
                to: &out)
              connection.write(out.bytes)
            } else {
              self.isOpen = true
              self.flood()
            }
          }
        }.body)
    }

    /// Sends until the network takes no more, or 256 KiB at a time: more is no worse, and costs the test.
    private func flood() {
      guard let connection, isOpen else { return }
      let portion = portion
      for _ in 0..<8 where connection.isWritable {
        connection.write(portion.span.bytes)
        connection.flush()
      }
      if connection.isWritable {
        connection.loop.schedule(after: .milliseconds(1)) { [weak self] in self?.flood() }
      }
    }

    func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
      var input = bytes
      if !upgrades || !isOpen {
        var head = UnsafeRawBufferPointer(input)
        do throws(HTTPError) {
          while let (answer, _) = try parser.next(&head) {
            statuses[answer.status, default: 0] += 1
            if answer.status == 101 {
              isOpen = true
              break
            }
          }
        } catch { return connection.abort() }
        input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - head.count)...])
        guard upgrades, isOpen else { return }
        flood()
      }
      do throws(WebSocketError) {
        while let event = try webSocket.next(&input) {
          switch event {
          case .text(let payload): texts.append(String(decoding: payload, as: UTF8.self))
          case .pong: pongs += 1
          case .close(let code, _, _): closeCode = code
          default: break
          }
        }
      } catch {
        Issue.record("the gateway broke the WebSocket protocol: \(error.reason)")
        connection.abort()
      }
    }
    func connectionDidDrain(_ connection: Connection) { flood() }
    func connectionDidClose(_ connection: Connection, reason: CloseReason) { hasEnded = true }
  }

  private static func frame(_ opcode: WebSocketFrame.Opcode, _ text: String = "") -> [UInt8] {
    var out = ByteBuffer()
    Array(text.utf8).withUnsafeBytes { WebSocketFrame.append(opcode, payload: $0, mask: 0x1234_5678, to: &out) }
    return out.takeBytes()
  }

  private static func unit(of flood: Flood) -> [UInt8] {
    switch flood {
    case .emptyTexts: frame(.text)
    case .badTexts: frame(.text, "{\"op\":")
    case .pings: frame(.ping)
    case .pongs: frame(.pong)
    case .validPings: frame(.text, "{\"op\":\"ping\",\"id\":1}")
    case .lists: frame(.text, "{\"op\":\"list\"}")
    case .subscribes:
      frame(.text, "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"status\"}]}")
        + frame(.text, "{\"op\":\"unsubscribe\",\"all\":true}")
    case .fragments:
      // 500 fragments of nothing around one space.
      [0x01, 0x81, 0, 0, 0, 0, 0x20] + Array(repeatElement([0x00, 0x80, 0, 0, 0, 0], count: 500).joined())
        + [0x80, 0x80, 0, 0, 0, 0]
    case .compressed:
      {
        let spaces = [UInt8](repeating: 0x20, count: 60_000)
        let deflater = Deflater(level: 9, windowBits: 15)
        var out = ByteBuffer()
        spaces.withUnsafeBytes { WebSocketFrame.append(.text, payload: $0, mask: 7, deflater: deflater, to: &out) }
        return out.takeBytes()
      }()
    }
  }

  @Test(
    "whoever floods a stream gets twice its rate done, keeps others waiting for no turn, and is closed",
    arguments: Flood.allCases)
  func streams(flood: Flood) throws {
    let harbour = try Harbour(seed: 7)
    let node = harbour.gateway.nodes[0]
    let before = harbour.host.openDescriptors
    let attackers = harbour.attackers(20, sending: Self.unit(of: flood), deflates: flood == .compressed)
    let seconds = 4
    harbour.network.run(for: UInt64(seconds) * Self.second)
    // A burst of 20, 20 in a second, as many refusals, a snapshot for the few subscriptions that come through, and what
    // the network needs to get going.
    let most = 20 + 2 * 20 * seconds + 2 + (flood == .subscribes ? 10 : 0)
    for attacker in attackers {
      let replies = attacker.texts.count { !$0.contains("\"heartbeat\"") } + attacker.pongs
      #expect(replies <= most, "\(flood): \(replies) replies")
    }
    #expect(node.metrics.requests <= UInt64(attackers.count * most), "\(flood): \(node.metrics.requests)")
    // 240 KiB a second, 1 MiB ahead, and the last one.
    let work = (1 << 20) + seconds * (240 << 10) + (128 << 10)
    #expect(node.hub.workDone <= UInt64(attackers.count * work), "\(flood): \(node.hub.workDone)")
    // A turn's share and the one request that went over it.
    #expect(
      node.clients.inputTurn.mostWork <= (512 << 10) + (128 << 10), "\(flood): \(node.clients.inputTurn.mostWork)")
    if flood != .fragments && flood != .compressed {
      harbour.network.run(for: 6 * Self.second)
      for attacker in attackers {
        #expect(attacker.closeCode == 4129 || attacker.closeCode == 4008, "\(flood): \(attacker.closeCode ?? 0)")
        #expect(attacker.hasEnded, "\(flood)")
      }
      #expect(harbour.host.openDescriptors == before, "\(flood)")
    }
    harbour.stop()
  }

  @Test("those of one address share the work of a few, and it opens no more streams meanwhile; others are as before")
  func oneAddress() throws {
    let harbour = try Harbour(seed: 10) {
      $0.limits.handshakesPerSecondPerAddress = 1_000
      $0.limits.fullRateClientsPerAddress = 16
    }
    let node = harbour.gateway.nodes[0]
    let unit = Self.unit(of: .compressed)
    let attackers = harbour.attackers(96, sending: unit, deflates: true, address: "10.0.3.1")
    let seconds = 8
    harbour.network.run(for: UInt64(seconds) * Self.second)
    #expect(attackers.count { $0.connection != nil } == 96)
    // 16 at their rate, a burst of a second, what newcomers did before the address was in debt, and a message of each.
    let rate = 16 * (240 << 10)
    #expect(node.hub.workDone < UInt64(rate * (seconds + 4) + 96 * (64 << 10)), "\(node.hub.workDone)")
    #expect(node.hub.workDone > UInt64(rate * seconds / 2), "\(node.hub.workDone)")
    let late = harbour.attackers(4, sending: unit, address: "10.0.3.1")
    let others = harbour.attackers(4, sending: Self.unit(of: .validPings))
    harbour.network.run(for: 3 * Self.second)
    #expect(late.map { $0.statuses[429] } == [1, 1, 1, 1])
    #expect(others.map { $0.statuses[101] } == [1, 1, 1, 1])
    #expect(harbour.gateway.nodes[0].settings.admission.figures.refusals.reduce(0, +) >= 4)
    harbour.stop()
  }

  @Test("50 bad requests in a row close with 4008, those over the rate counted")
  func badRequests() throws {
    let harbour = try Harbour(seed: 8)
    let attackers = harbour.attackers(3, sending: Self.unit(of: .emptyTexts))
    harbour.network.run(for: 3 * Self.second)
    #expect(attackers.map(\.closeCode) == [4008, 4008, 4008])
    harbour.stop()
  }

  @Test("a pipeline of HTTP requests is answered at its rate, then four times a second")
  func pipelines() throws {
    let harbour = try Harbour(seed: 9)
    let attackers = harbour.attackers(
      20, sending: Array("GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n".utf8), upgrades: false)
    harbour.network.run(for: 4 * Self.second)
    for attacker in attackers {
      // 100 at once and 100 a second of a connection; each has an address of its own.
      #expect((100...520).contains(attacker.statuses[200] ?? 0), "\(attacker.statuses)")
      #expect((1...20).contains(attacker.statuses[429] ?? 0), "\(attacker.statuses)")
    }
    harbour.stop()
  }
}
