import Bytes
import Foundation
import MarketData

@testable import VenueSimulator

/// A client of a simulated venue without sockets: what it was sent, as text and parsed by Foundation, not by the house.
final class TestClient {
  let venue: SimulatedVenue
  let session: SimulatedSession
  private(set) var texts: [String] = []
  private(set) var pings: [[UInt8]] = []
  private(set) var closed: UInt16?
  private(set) var isAborted = false
  private var read = 0

  init(_ venue: SimulatedVenue, path: String? = nil, query: [(name: String, value: String)] = []) throws {
    self.venue = venue
    session = try venue.open(path: path ?? venue.venueProtocol.webSocketPath, query: query)
    drain()
  }

  func send(_ text: String) {
    venue.receive(text, from: session)
    drain()
  }

  func pong(_ payload: [UInt8]) {
    payload.withUnsafeBytes { venue.receivedPong($0, from: session) }
    drain()
  }

  func drain() {
    for output in session.takeOutput() {
      switch output {
      case .text(let bytes): texts.append(String(decoding: bytes.unsafeBytes, as: UTF8.self))
      case .ping(let payload): pings.append(payload)
      case .close(let code, _): closed = code
      case .abort: isAborted = true
      case .witness: break
      }
    }
  }

  /// The messages since the last call.
  func take() -> [String] {
    drain()
    defer { read = texts.count }
    return Array(texts[read...])
  }
}

func makeVenue(_ name: String, seed: UInt64 = 3, rate: Double = 40, faults: [String] = []) throws -> SimulatedVenue {
  try SimulatedVenue(
    venue: name, seed: seed, rate: rate, faults: faults.map { try Fault(parsing: $0) }, start: testStart)
}

extension SimulatedVenue {
  /// Moves time on by seconds, in steps of 10 ms as the server does.
  func run(_ seconds: Double, _ clients: TestClient...) {
    let end = now + Int64(seconds * 1e6)
    var time = now
    while time < end {
      time = min(time + 10_000, end)
      advance(to: time)
      for client in clients { client.drain() }
    }
  }
}

/// JSON by Foundation.
func parse(_ text: String) throws -> [String: Any] {
  try JSONSerialization.jsonObject(with: Data(text.utf8)) as! [String: Any]
}

extension [String: Any] {
  func string(_ key: String) -> String? { self[key] as? String }
  func int(_ key: String) -> Int? { self[key] as? Int }
  func object(_ key: String) -> [String: Any]? { self[key] as? [String: Any] }
  func objects(_ key: String) -> [[String: Any]] { self[key] as? [[String: Any]] ?? [] }
  /// `[["price","size"],…]`
  func pairs(_ key: String) -> [[String]] { self[key] as? [[String]] ?? [] }
}

/// Decimal text with exactly `digits` digits after the point, as a count of 10^-`digits`; nil if it is spelled
/// otherwise.
func exact(_ text: String, digits: Int) -> Int64? {
  let parts = text.split(separator: ".", omittingEmptySubsequences: false)
  guard parts.count == (digits == 0 ? 1 : 2), digits == 0 || parts[1].count == digits else { return nil }
  guard parts[0] == "0" || !parts[0].hasPrefix("0") else { return nil }
  return Int64(parts.joined())
}

/// A side of a client's book, by price.
typealias TestSide = [Int64: Int64]

func levels(_ side: TestSide, best: (Int64, Int64) -> Bool) -> [PriceLevel] {
  side.sorted { best($0.key, $1.key) }.map { PriceLevel(price: $0.key, size: $0.value) }
}
