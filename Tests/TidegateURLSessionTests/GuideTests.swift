import Foundation
import Observation
import Testing
import TidegateClient
import TidegateURLSession

// The examples of GettingStarted.md, word by word, so that they compile.

/// Where an app logs in.
actor Account {
  func freshToken() -> String? { nil }
}

func showPrices() async throws {
  let url = try GatewayURL("ws://127.0.0.1:8080/v1/stream")
  let client = GatewayClient(url: url, transport: .urlSession)
  for try await event in client.subscribe(.pulse("kraken:BTC-USD", "coinbase:ETH-USD")) {
    switch event {
    case .value(let pulse, let info):
      print(info.symbol, pulse.direction, pulse.price.trimmed(to: info.priceIncrement))
    case .stale(let info, let reason):
      print(info.symbol, "is old:", reason)
    case .refused(let refusal):
      print(refusal)
    default:
      break
    }
  }
}

func follow(_ client: GatewayClient) async throws {
  for try await event in client.subscribe(.book("kraken:BTC-USD", depth: .levels10)) {
    guard case .value(let book, _) = event else { continue }
    print("spread", book.spread ?? 0)
    for level in book.depth(10).asks { print(level.price, level.size, level.total, level.share) }
  }
}

func showValue(_ client: GatewayClient) async throws {
  let contents = PortfolioContents(
    currency: "USD", holdings: [.init("BTC", quantity: ExactDecimal("0.5")!, cost: 20_000)],
    positions: [.init("kraken:ETH-USD", .short, size: 2, leverage: 3, entry: 3_300)])
  for try await event in client.subscribe(.portfolio(contents)) {
    guard case .value(let portfolio, _) = event, let value = portfolio.value else { continue }
    print(value, portfolio.currency ?? "", portfolio.state == .live ? "" : "not all prices are the present ones")
    for line in portfolio.holdings { print(line.asset, line.value ?? "–", line.unrealised ?? "–") }
  }
}

struct RiskState: Decodable { var state: String }

func answerAlerts(_ client: GatewayClient) async throws {
  let rule = #"{"condition":{"type":"price","symbol":"kraken:BTC-USD","is":"above","value":"70000"}}"#
  try await client.perform(.create(name: "BTC over 70k", rule: rule, key: "first-alert"))
  for try await event in client.subscribe(.alerts) {
    guard case .value(let alerts, _) = event else { continue }
    for alert in alerts.ringing { try await client.perform(.acknowledge(alert.id, through: alert.firing?.number)) }
  }
}

func watchRisk(_ client: GatewayClient) async throws {
  for try await event in client.subscribe(.topic("risk-state")) {
    guard case .value(let documents, _) = event else { continue }
    for document in documents { print(document.number, try document.decode(RiskState.self).state) }
  }
}

@MainActor @Observable
final class PriceModel {
  private(set) var pulse: Pulse?
  private(set) var line: Sparkline?
  /// Why the price is old; nil: it is not.
  private(set) var staleReason: String?
  private(set) var error: String?

  func follow(_ symbol: String, _ client: GatewayClient) async {
    let request = StreamRequest.all(
      StreamRequest.pulse(symbol).untyped, StreamRequest.sparkline(symbol, points: 48).untyped)
    do {
      for try await event in client.subscribe(request) { apply(event) }
    } catch {
      self.error = "\(error). To do: \(error.advice)"
    }
  }

  func apply(_ event: StreamEvent<Payload>) {
    switch event {
    case .value(.pulse(let pulse), _): (self.pulse, staleReason) = (pulse, nil)
    case .value(.sparkline(let line), _): self.line = line
    case .stale(_, let reason): staleReason = reason.description
    case .refused(let refusal): error = refusal.description
    default: break
    }
  }
}

func watchConnection(_ client: GatewayClient) async {
  for await event in client.connectionEvents() {
    switch event {
    case .connected(let welcome):
      print("connected to \(welcome.node)", welcome.isSimulated ? "with simulated prices" : "")
    case .disconnected(let failure, let retryIn?):
      print("\(failure); coming back in \(retryIn)")
    case .disconnected(let failure, nil):
      print("\(failure). To do: \(failure.advice)")
    case .heartbeat(let heartbeat):
      for feed in heartbeat.feeds { print(feed.venue, feed.indicator, feed.age ?? .zero) }
    default:
      break
    }
  }
}

func client(of account: Account) throws -> GatewayClient {
  let url = try GatewayURL("wss://gateway.example/v1/stream")
  return GatewayClient(url: url, transport: .urlSession, tokenSource: { await account.freshToken() })
}

@Suite("The guide")
struct GuideTests {
  @Test("every Swift example of the guide stands in this file, word by word")
  func examples() throws {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let guide = try String(
      contentsOf: root.appendingPathComponent("Sources/TidegateClient/TidegateClient.docc/GettingStarted.md"),
      encoding: .utf8)
    let code = try String(contentsOfFile: #filePath, encoding: .utf8)
    let blocks = guide.components(separatedBy: "```swift\n").dropFirst().compactMap { part in
      part.components(separatedBy: "\n```").first
    }
    #expect(blocks.count >= 5)
    for block in blocks { #expect(code.contains(block), "not in this file:\n\(block)") }
  }

  @Test("the model shows the latest value, and that it is old")
  @MainActor func model() async throws {
    let model = PriceModel()
    let client = GatewayClient(url: try GatewayURL("ws://127.0.0.1:1/v1/stream"), transport: NoTransport())
    await model.follow("kraken:BTC-USD", client)
    #expect(model.error == "nobody (4003). To do: sign in again, or ask the gateway's operator for access")
    #expect(model.pulse == nil && model.line == nil && model.staleReason == nil)
  }
}

/// A transport whose gateway sends everybody away.
private struct NoTransport: ClientTransport, ClientTransportConnection {
  func connect(
    to url: GatewayURL, subprotocol: String, receive: @escaping @Sendable (ClientTransportEvent) -> Void
  ) -> any ClientTransportConnection {
    Task { receive(.closed(code: 4003, reason: "nobody")) }
    return self
  }
  func send(_ text: String) {}
  func close(code: UInt16, reason: String) {}
}
