import Bytes
import Foundation
import MarketData
import TestSupport
import Testing
import WebSocket

@testable import PubSub

/// What a watchlist of 50 busy symbols costs a client: its pulses of 100 ms, over ten seconds in which each symbol
/// trades 20 times a second on average.
@Suite("The cost of a watchlist, in bytes and sends")
struct WatchlistCostTests {
  private static let symbols = 50
  private static let seconds = 10

  private struct Cost {
    /// Per second: messages, times at which the client got something, bytes with the headers of WebSocket, and the same
    /// when large messages are deflated.
    var (messages, sends, bytes, deflated) = (0.0, 0.0, 0.0, 0.0)
    /// Pulses that arrived, a second.
    var pulses = 0.0
  }

  /// - Parameters:
  ///   - pauses: whether trades come in bursts of 40 ms with pauses of 60 ms between, which do not begin at ticks.
  private static func cost(isGroup: Bool, isBinary: Bool, pauses: Bool, tradesPerSecond: Double = 20) -> Cost {
    let world = World(instruments: symbols)
    let client = world.client(isBinary: isBinary)
    client.keepsFrames = true
    let group = isGroup ? #","group":true"# : ""
    _ = client.ask(#"{"op":"subscribe","streams":[{"channel":"pulse","symbols":["kraken:*"]\#(group)}]}"#)
    var random = SeededGenerator(seed: 7)
    var prices = (0..<symbols).map { Int64(1_000 * ($0 + 1)) }
    let compressor = FrameCompressor()
    var cost = Cost()
    var number: UInt64 = 0
    for step in 0..<(seconds * 200) {
      world.now = world.now + 5 * Microseconds.millisecond
      let isActive = !pauses || step % 20 < 8
      let chance = tradesPerSecond / 200 * (pauses ? 2.5 : 1)
      for instrument in 0..<symbols where isActive && Double.random(in: 0..<1, using: &random) < chance {
        prices[instrument] += Int64.random(in: -2...2, using: &random)
        number += 1
        world.apply {
          $0.events.append(
            .trade(
              Trade(
                instrument: InstrumentID(instrument), id: TradeID(number), price: prices[instrument], size: 10,
                side: .buy, time: world.now)))
        }
      }
      world.tick()
      client.frames = []
      world.settle()
      guard !client.frames.isEmpty else { continue }
      cost.sends += 1
      cost.messages += Double(client.frames.count)
      cost.bytes += Double(client.frames.reduce(0) { $0 + $1.count })
      cost.deflated += Double(client.frames.reduce(0) { $0 + compressor.compressed($1).count })
    }
    #expect(client.faults == [])
    cost.pulses = Double(client.texts.reduce(0) { $0 + $1.components(separatedBy: "\"merged\"").count - 1 })
    for path in [\Cost.messages, \.sends, \.bytes, \.deflated, \.pulses] { cost[keyPath: path] /= Double(seconds) }
    if environment("TIDEGATE_BENCHMARKS") == "1" {
      print(
        "\(isBinary ? "binary" : "JSON") \(isGroup ? "group" : "single")\(pauses ? ", pauses" : ""): \(cost.pulses) pulses,",
        "\(cost.messages) messages, \(cost.sends) sends, \(cost.bytes) B, deflated \(cost.deflated) B a second")
    }
    return cost
  }

  @Test("a group has at most ten sends a second, in binary at most 20 bytes a pulse", arguments: [false, true])
  func group(pauses: Bool) {
    let single = Self.cost(isGroup: false, isBinary: false, pauses: pauses)
    let text = Self.cost(isGroup: true, isBinary: false, pauses: pauses)
    let binary = Self.cost(isGroup: true, isBinary: true, pauses: pauses)
    #expect(single.pulses > 300)
    #expect(text.sends <= 10.5 && binary.sends <= 10.5)
    #expect(single.sends > 2 * binary.sends)
    // One message a tick, beside the heartbeats.
    #expect(binary.messages <= 10.5)
    #expect(binary.bytes < 10_000 && binary.bytes / binary.pulses <= 20)
    #expect(text.deflated / text.pulses < 60)
    #expect(single.bytes > 10 * binary.bytes)
  }
}
