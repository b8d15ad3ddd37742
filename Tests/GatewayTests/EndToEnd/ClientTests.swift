import Foundation
import Settings
import TestTraits
import Testing
import TidegateClient
import TidegateEpoll
import Transport

@testable import Access
@testable import Gateway

/// The client library against a gateway with simulated venues, over sockets.
@Suite("Client library, end to end", .serialized, .realTime)
struct ClientTests {
  private static func client(
    _ harness: GatewayHarness, tls caFile: String? = nil, isSecure: Bool = false, frames: Bool = false
  ) throws -> GatewayClient {
    var options = ClientOptions()
    options.includesFrames = frames
    options.heartbeatInterval = .seconds(1)
    let url = "\(isSecure ? "wss" : "ws")://\(harness.gateway.address.description)/v1/stream"
    return GatewayClient(url: try GatewayURL(url), transport: .epoll(caFile: caFile), options: options)
  }

  /// A request for every symbol of a channel.
  private static func request(_ channel: Channel, _ symbols: [String]) -> StreamRequest<Payload> {
    let every = Duration.milliseconds(100)
    return switch channel {
    case .trades: StreamRequest.trades(symbols, every: every).untyped
    case .quote: StreamRequest.quote(symbols, every: every).untyped
    case .ticker: StreamRequest.ticker(symbols, every: every).untyped
    case .pulse: StreamRequest.pulse(symbols, every: every).untyped
    case .book: StreamRequest.book(symbols, every: every).untyped
    case .sparkline: StreamRequest.sparkline(symbols, every: every).untyped
    case .candles: StreamRequest.candles(symbols, every: every).untyped
    default: StreamRequest.status.untyped
    }
  }

  /// The channels of markets, and the status.
  private static let channels: [Channel] = [
    .trades, .quote, .ticker, .pulse, .book, .sparkline, .candles, .status,
  ]

  @Test("all channels of all venues: a value of each stream, then others, and heartbeats that count them right")
  func everyChannel() async throws {
    let harness = try GatewayHarness()
    try await harness.waitUntilLive()
    let symbols = ["kraken:BTC-USD", "coinbase:ETH-USD", "binance:ZEC-USDT"]
    let follower = ClientFollower(
      try Self.client(harness), .all(Self.channels.map { Self.request($0, symbols) }))
    for channel in Self.channels where channel != .status {
      for symbol in symbols {
        let index = try await follower.first("a value of \(channel) \(symbol)") {
          $0.info?.channel == channel && $0.info?.symbol == symbol
        }
        // A sparkline moves when its last point does, candles with their last, a ticker once a second.
        if channel == .sparkline || channel == .candles { continue }
        try await follower.first("another of \(channel) \(symbol)", from: index + 1) {
          $0.info?.channel == channel && $0.info?.symbol == symbol
        }
      }
    }
    try await follower.first("the status") { $0.info?.channel == .status }
    let index = try await follower.first("a heartbeat") { $0.isHeartbeat }
    try await follower.first("another one", from: index + 1) { $0.isHeartbeat }
    #expect(follower.failure.isEmpty, "\(follower.failure)")
    await harness.stop()
  }

  @Test("streams come and go on a live connection, and what is left goes on")
  func comesAndGoes() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let client = try Self.client(harness, frames: true)
    let follower = ClientFollower(client, StreamRequest.quote("kraken:BTC-USD").untyped)
    try await follower.first("a quote") { $0.info != nil }
    for depth in [BookDepth.levels10, .levels25, .full] {
      let books = client.subscribe(.book("kraken:BTC-USD", depth: depth))
      for try await case .value(let book, _) in books {
        #expect(book.symbol == "kraken:BTC-USD" && book.spread != nil)
        break
      }
    }
    // All of the books are gone again, as the gateway counts it.
    try await follower.wait("three ends") { events -> Bool? in
      let ends = events.count { event in
        guard case .connection(.frame(let text)) = event else { return false }
        return text.contains(#""type":"unsubscribed""#) && text.contains(#""total":1}"#)
      }
      return ends == 3 ? true : nil
    }
    try await follower.first("a quote", from: follower.events.count) { $0.info != nil }
    #expect(follower.failure.isEmpty, "\(follower.failure)")
    await harness.stop()
  }

  @Test(
    "a book put together from the stream is the one that /v1/books shows", arguments: ["kraken", "coinbase", "binance"])
  func book(venue: String) async throws {
    let harness = try GatewayHarness(venues: [venue])
    try await harness.waitUntilLive()
    let symbol = "\(venue):\(GatewayHarness.symbols[venue]![0])"
    let follower = ClientFollower(try Self.client(harness), StreamRequest.book(symbol, every: .zero).untyped)
    try await follower.first("a book") { $0.book != nil }
    // A client that is behind gets several changes as one, and not the states between them: a book asked for at such a
    // moment is none that it has seen. It sees others.
    var served: Set<String> = []
    var patience = Patience()
    while true {
      let answer = try await harness.get("/v1/books/\(symbol)?depth=25")
      #expect(answer.status == 200)
      served.insert(BookCopy(answer.json).text)
      if follower.events.contains(where: { $0.book.map { served.contains(Self.text($0)) } ?? false }) { break }
      try await patience.wait(for: "a book of /v1/books; \(served.count) were served")
    }
    #expect(follower.failure.isEmpty, "\(follower.failure)")
    await harness.stop()
  }

  /// As `BookCopy.text`.
  private static func text(_ view: OrderBook) -> String {
    [view.bids.reversed(), view.asks].map { side in
      side.map { "\($0.price):\($0.size)" }.joined(separator: " ")
    }.joined(separator: " | ")
  }

  @Test("at another rate the streams go on")
  func configure() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let client = try Self.client(harness)
    let symbol = "kraken:BTC-USD"
    let follower = ClientFollower(
      client, StreamRequest.quote(symbol, every: .zero).untyped, StreamRequest.book(symbol, every: .zero).untyped)
    for channel in [Channel.quote, .book] {
      try await follower.first("a value of \(channel)") { $0.info?.channel == channel }
    }
    client.setUpdateInterval(.seconds(1))
    // Of two heartbeats, a second apart, the second has at most two values of each stream before it.
    try await follower.wait("a slower pace") { events -> Bool? in
      let beats = events.indices.filter { events[$0].isHeartbeat }
      guard let last = beats.last, let before = beats.dropLast().last else { return nil }
      let values = events[before..<last].filter { $0.info != nil }.count
      return values > 0 && values <= 4 ? true : nil
    }
    let index = follower.events.count
    for channel in [Channel.quote, .book] {
      try await follower.first("a value of \(channel)", from: index) { $0.info?.channel == channel }
    }
    #expect(follower.failure.isEmpty, "\(follower.failure)")
    await harness.stop()
  }

  @Test("a pause leaves heartbeats alone; a resume brings a value of each stream")
  func pause() async throws {
    let harness = try GatewayHarness(venues: ["coinbase"])
    try await harness.waitUntilLive()
    let client = try Self.client(harness)
    let follower = ClientFollower(client, StreamRequest.quote("coinbase:BTC-USD", every: .zero).untyped)
    try await follower.first("a value") { $0.info != nil }
    client.pause()
    // Two heartbeats in a row: nothing came for a second, in which a quote at this rate has many updates.
    let quiet = try await follower.wait("a silence") { events in
      events.indices.dropFirst().first { events[$0].isHeartbeat && events[$0 - 1].isHeartbeat }
    }
    client.resume()
    let index = try await follower.first("a value", from: quiet) { $0.info != nil }
    try await follower.first("updates again", from: index + 1) { $0.info != nil }
    #expect(follower.failure.isEmpty, "\(follower.failure)")
    await harness.stop()
  }

  @Test("a gateway that closes the connection and comes back has its clients back, subscribed as before")
  func reconnect() async throws {
    let harness = try GatewayHarness(venues: ["binance"])
    try await harness.waitUntilLive()
    let follower = ClientFollower(try Self.client(harness), StreamRequest.pulse("binance:BTC-USDT").untyped)
    try await follower.first("a value") { $0.info != nil }
    let address = harness.gateway.address
    await harness.stop()
    let lost = try await follower.first("the end of the connection") {
      if case .connection(.disconnected(.closed(code: 4201, _), _?)) = $0 { true } else { false }
    }
    let next = try GatewayHarness(venues: ["binance"]) { $0.listen = address }
    let back = try await follower.first("the next connection", from: lost) { $0.isConnected }
    let value = try await follower.first("its value", from: back) { $0.info?.symbol == "binance:BTC-USDT" }
    try await follower.first("updates", from: value + 1) { $0.info != nil }
    #expect(!follower.isOver)
    await next.stop()
  }

  @Test("a handshake that the gateway refuses is not made again, and the reason is the gateway's")
  func refusedHandshake() async throws {
    let access = Authenticator(policy: AccessPolicy())
    let harness = try GatewayHarness(venues: ["kraken"], access: access)
    let url = "ws://\(harness.gateway.address.description)/v1/stream?token=secret"
    let client = GatewayClient(url: try GatewayURL(url), transport: .epoll)
    let follower = ClientFollower(client, StreamRequest.status.untyped)
    let reason = try await follower.wait("the refusal") { events in
      for case .connection(.disconnected(.refused(400, let reason), nil)) in events { return reason }
      return nil as String?
    }
    #expect(reason.contains("token"), "\(reason)")
    try await follower.wait("the end") { _ in follower.isOver ? true : nil }
    await harness.stop()
  }

  @Test("wss: with the root that signed the gateway's certificate it works, without it the reason is told")
  func secure() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-tls-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let certificate = try SelfSignedCertificate(hosts: ["127.0.0.1"])
    let files = TLSCertificateFiles(
      certificate: folder.appendingPathComponent("certificate.pem").path,
      key: folder.appendingPathComponent("key.pem").path)
    try certificate.certificatePEM.write(toFile: files.certificate, atomically: true, encoding: .utf8)
    try certificate.keyPEM.write(toFile: files.key, atomically: true, encoding: .utf8)
    let harness = try GatewayHarness(venues: ["kraken"]) {
      $0.tlsSettings.certificates = [files.certificate]
      $0.tlsSettings.keys = [files.key]
    }
    let trusting = ClientFollower(
      try Self.client(harness, tls: files.certificate, isSecure: true), StreamRequest.status.untyped)
    try await trusting.first("the status") { $0.info?.channel == .status }
    #expect(trusting.failure.isEmpty, "\(trusting.failure)")

    let wary = ClientFollower(try Self.client(harness, isSecure: true), StreamRequest.status.untyped)
    let reason = try await wary.wait("the refusal") { events in
      // No attempt can succeed, so none follows.
      for case .connection(.disconnected(.unusable(let reason), nil)) in events { return reason }
      return nil as String?
    }
    #expect(reason.contains("certificate"), "\(reason)")
    #expect(!wary.events.contains { $0.isConnected })
    await harness.stop()
  }
}
