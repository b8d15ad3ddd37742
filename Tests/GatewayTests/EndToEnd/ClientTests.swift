import Foundation
import TestTraits
import Testing
import TidegateClient
import Transport

@testable import Access
@testable import Gateway

/// The client library against a gateway with simulated venues, over sockets.
@Suite("Client library, end to end", .serialized, .realTime)
struct ClientTests {
  private static func client(
    _ harness: GatewayHarness, tls caFile: String? = nil, isSecure: Bool = false
  ) throws -> TidegateClient {
    var options = TidegateOptions()
    options.caFile = caFile
    options.heartbeatSeconds = 1
    let url = "\(isSecure ? "wss" : "ws")://\(harness.gateway.address.description)/v1/stream"
    return TidegateClient(url: try #require(TidegateURL(url)), options: options)
  }

  @Test("all channels of all venues: a snapshot of each stream, then updates, and heartbeats that count them right")
  func everyChannel() async throws {
    let harness = try GatewayHarness()
    try await harness.waitUntilLive()
    let symbols = ["kraken:BTC-USD", "coinbase:ETH-USD", "binance:ZEC-USDT"]
    let channels = TidegateChannel.allCases.filter { $0 != .status }
    let follower = ClientFollower(
      try Self.client(harness).events(
        .init(channels: channels, symbols: symbols, intervalMilliseconds: 100), .init(channels: [.status])))
    for channel in channels {
      for symbol in symbols {
        let place = try await follower.first("a snapshot of \(channel) \(symbol)") {
          $0.snapshotInfo?.channel == channel && $0.snapshotInfo?.symbol == symbol
        }
        // A sparkline moves when its last point does, a ticker once a second.
        if channel == .sparkline { continue }
        try await follower.first("an update of \(channel) \(symbol)", from: place) {
          $0.updateInfo?.channel == channel && $0.updateInfo?.symbol == symbol
        }
      }
    }
    try await follower.first("the status") { $0.snapshotInfo?.channel == .status }
    let place = try await follower.first("a heartbeat") { $0.isHeartbeat }
    try await follower.first("another one", from: place + 1) { $0.isHeartbeat }
    #expect(follower.trouble == [])
    #expect(follower.events.first?.isConnected == true, "\(follower.events.prefix(3))")
    await harness.stop()
  }

  @Test(
    "a book put together from the stream is the one that /v1/books shows", arguments: ["kraken", "coinbase", "binance"])
  func book(venue: String) async throws {
    let harness = try GatewayHarness(venues: [venue])
    try await harness.waitUntilLive()
    let symbol = "\(venue):\(GatewayHarness.symbols[venue]![0])"
    let follower = ClientFollower(
      try Self.client(harness).events(.init(channels: [.book], symbols: [symbol], depth: 25, intervalMilliseconds: 0)))
    try await follower.first("an update") { $0.updateInfo != nil }
    // A client that is behind gets several changes as one, and not the states between them: a book asked for at such a
    // moment is none that it has seen. It sees others.
    var served: Set<String> = []
    var patience = Patience()
    while true {
      let answer = try await harness.get("/v1/books/\(symbol)?depth=25")
      #expect(answer.status == 200)
      served.insert(BookCopy(answer.json).text)
      var view = BookView()
      if follower.events.contains(where: { view.apply($0) && view.isSynced && served.contains(Self.text(view)) }) {
        break
      }
      try await patience.wait(for: "a book of /v1/books; \(served.count) were served")
    }
    #expect(follower.trouble == [])
    await harness.stop()
  }

  /// As `BookCopy.text`.
  private static func text(_ view: BookView) -> String {
    [view.bids.reversed(), view.asks].map { side in
      side.map { "\($0.price):\($0.size)" }.joined(separator: " ")
    }.joined(separator: " | ")
  }

  @Test("another rate moves the streams to other numbers, and they go on there")
  func configure() async throws {
    let harness = try GatewayHarness(venues: ["kraken"])
    try await harness.waitUntilLive()
    let events = try Self.client(harness).events(
      .init(channels: [.quote, .book], symbols: ["kraken:BTC-USD"], intervalMilliseconds: 0))
    let follower = ClientFollower(events)
    for channel in [TidegateChannel.quote, .book] {
      try await follower.first("an update of \(channel)") { $0.updateInfo?.channel == channel }
    }
    events.configure(intervalMilliseconds: 250)
    for channel in [TidegateChannel.quote, .book] {
      let (place, info) = try await follower.wait("the move of \(channel)") { events in
        for (place, event) in events.enumerated() {
          if case .moved(let info, let from) = event, info.channel == channel, from != info.stream {
            return (place, info)
          }
        }
        return nil
      }
      let snapshot = try await follower.first("its snapshot", from: place) { $0.snapshotInfo?.stream == info.stream }
      try await follower.first("its updates", from: snapshot) { $0.updateInfo?.stream == info.stream }
    }
    try await follower.first("a heartbeat", from: follower.events.count) { $0.isHeartbeat }
    #expect(follower.trouble == [])
    await harness.stop()
  }

  @Test("a pause leaves heartbeats alone; a resume brings a snapshot of each stream")
  func pause() async throws {
    let harness = try GatewayHarness(venues: ["coinbase"])
    try await harness.waitUntilLive()
    let events = try Self.client(harness).events(
      .init(channels: [.quote], symbols: ["coinbase:BTC-USD"], intervalMilliseconds: 0))
    let follower = ClientFollower(events)
    try await follower.first("an update") { $0.updateInfo != nil }
    events.pause()
    // Two heartbeats in a row: nothing came for a second, in which a quote at this rate has many updates.
    let quiet = try await follower.wait("a silence") { events in
      events.indices.dropFirst().first { events[$0].isHeartbeat && events[$0 - 1].isHeartbeat }
    }
    events.resume()
    let place = try await follower.first("a snapshot", from: quiet) { $0.snapshotInfo != nil }
    #expect(follower.events[place].snapshotInfo?.reason == "resume")
    try await follower.first("updates again", from: place) { $0.updateInfo != nil }
    #expect(follower.trouble == [])
    await harness.stop()
  }

  @Test("a gateway that closes the connection and comes back has its clients back, subscribed as before")
  func reconnect() async throws {
    let harness = try GatewayHarness(venues: ["binance"])
    try await harness.waitUntilLive()
    let follower = ClientFollower(
      try Self.client(harness).events(.init(channels: [.pulse], symbols: ["binance:BTC-USDT"])))
    try await follower.first("a snapshot") { $0.snapshotInfo != nil }
    let address = harness.gateway.address
    await harness.stop()
    let lost = try await follower.first("the end of the connection") {
      if case .disconnected(.closed(code: 4201, _), _?) = $0 { true } else { false }
    }
    let next = try GatewayHarness(venues: ["binance"]) { $0.listen = address }
    let back = try await follower.first("the next connection", from: lost) { $0.isConnected }
    let snapshot = try await follower.first("its snapshot", from: back) {
      $0.snapshotInfo?.symbol == "binance:BTC-USDT"
    }
    try await follower.first("updates", from: snapshot) { $0.updateInfo != nil }
    #expect(!follower.isOver)
    await next.stop()
  }

  @Test("a handshake that the gateway refuses is not made again, and the reason is the gateway's")
  func refusedHandshake() async throws {
    let access = Authenticator(policy: AccessPolicy())
    let harness = try GatewayHarness(venues: ["kraken"], access: access)
    let url = "ws://\(harness.gateway.address.description)/v1/stream?token=secret"
    let client = try #require(TidegateClient(url: url))
    let follower = ClientFollower(client.events(.init(channels: [.status])))
    let reason = try await follower.wait("the refusal") { events in
      for case .disconnected(.refused(400, let reason), nil) in events { return reason }
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
    let subscription = TidegateSubscription(channels: [.status])

    let trusting = ClientFollower(
      try Self.client(harness, tls: files.certificate, isSecure: true).events(subscription))
    try await trusting.first("the status") { $0.snapshotInfo?.channel == .status }
    #expect(trusting.trouble == [])

    let wary = ClientFollower(try Self.client(harness, isSecure: true).events(subscription))
    let reason = try await wary.wait("the refusal") { events in
      for case .disconnected(.transport(let reason), _?) in events { return reason }
      return nil as String?
    }
    #expect(reason.contains("certificate"), "\(reason)")
    #expect(!wary.events.contains { $0.isConnected })
    await harness.stop()
  }
}
