/// The state of a gateway from its internal port (`/admin/state`), without the fields that are not shown.
package struct GatewayState: Decodable, Sendable {
  package struct Feed: Decodable, Sendable {
    let connection: String
    let state: String
    let indicator: String
    let reason: String?
    let simulated: Bool
    let age_ms: Double?
    let rate: Double?
    let rates: [Double]
    let lag_ms: Double?
    let gaps: Int
    let resyncs: Int
    let books: [String: Int]
  }

  package struct Book: Decodable, Sendable {
    let symbol: String
    let reason: String
  }

  package struct Clients: Decodable, Sendable {
    let now: Int
    let slow: Int
    let subscriptions: Int
  }

  package struct Client: Decodable, Sendable {
    let id: String
    let peer: String
    let key: String?
    let queued_bytes: Double
    let slow_ms: Double?
    let held_ms: Int
    let degraded_ms: Int
    let merged: Int
    let lost: Int
  }

  package struct Throughput: Decodable, Sendable {
    let messages: Double?
    let frames: Double?
    let delivery_p99_ms: Double?
  }

  package struct Loop: Decodable, Sendable {
    let loop: Int
    let clients: Int
    let feeds: Int
    let busy: Double
    let lag_p99_ms: Double?
    let turn_p99_ms: Double?
  }

  package struct Limit: Decodable, Sendable {
    let name: String
    let used: Double
    let limit: Double
  }

  package struct Process: Decodable, Sendable {
    let cores: Double?
    let resident_bytes: Double?
  }

  package struct Event: Decodable, Sendable {
    let time: Int64
    let level: String
    let msg: String
    let fields: [String: String]
  }

  let node: String
  let version: String
  let uptime_s: Double
  let status: String
  let draining: Bool
  let reasons: [String]
  let warnings: [String]
  let feeds: [Feed]
  let books: [Book]
  let books_not_live: Int
  let clients: Clients
  let slow: [Client]
  let throughput: Throughput
  let loops: [Loop]
  let limits: [Limit]
  let process: Process
  let events: [Event]
}
