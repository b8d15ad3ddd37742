import Bytes
import MarketData

/// One client's side of another protocol: it reads the client's messages, and makes the answers and the end. Sans-IO;
/// confined to the queue of its hub.
///
/// The hub knows the client and its queues, the session knows the protocol. A session acts through the `DialectContext`
/// that it is given with each message.
package protocol DialectSession: AnyObject {
  /// How often `heartbeat` is called, s, 1…60.
  var heartbeatSeconds: Int { get }
  /// The client has connected.
  func open(_ desk: inout DialectContext)
  /// A message of the client, whole.
  func receive(_ message: RawSpan, _ desk: inout DialectContext)
  /// Appends the protocol's own heartbeat, if it has one and one is due. Not called while data of the client is not
  /// live.
  /// - Parameter isQuiet: whether the client got no data since the last call.
  func heartbeat(isQuiet: Bool, now: Timestamp, to out: inout ByteBuffer) -> Bool
  /// The end of the connection in the words of the protocol. `message` goes before the close frame.
  /// - Parameter code: of our own protocol.
  func farewell(_ code: UInt16, _ reason: String) -> DialectFarewell
}

/// The end of a connection in another protocol.
package struct DialectFarewell: Sendable {
  /// A code that the protocol's clients expect, such as 1001 (RFC 6455 section 7.4).
  package var code: UInt16
  package var reason: String
  package var message: [UInt8]?

  package init(code: UInt16, reason: String, message: [UInt8]? = nil) {
    self.code = code
    self.reason = reason
    self.message = message
  }

  /// Codes that any WebSocket client knows, for those of our protocol.
  package static func standard(_ code: UInt16, _ reason: String) -> DialectFarewell {
    let standard: UInt16 =
      switch code {
      case CloseCode.draining, CloseCode.notLive: 1001
      case CloseCode.unauthorized, CloseCode.slow, CloseCode.rateLimited, CloseCode.protocolErrors: 1008
      default: code < 4000 ? code : 1001
      }
    return DialectFarewell(code: standard, reason: reason)
  }
}

/// What a session may see and do while it handles one message of its client.
package struct DialectContext {
  package enum Action {
    case send([UInt8])
    case join(StreamKey)
    case leave(StreamKey)
    case close(UInt16, String)
  }

  package let now: Timestamp
  package let grant: Grant
  package let directory: Directory
  package let feeds: [FeedStatus]
  /// Subscriptions that the client may still add.
  package private(set) var room: Int
  private let holds: (StreamKey) -> Bool
  private let all: () -> [StreamKey]
  package private(set) var actions: [Action] = []

  /// - Parameters:
  ///   - holds: whether the client has a subscription.
  ///   - all: its subscriptions.
  package init(
    now: Timestamp, grant: Grant, directory: Directory, feeds: [FeedStatus], room: Int,
    holds: @escaping (StreamKey) -> Bool = { _ in false }, all: @escaping () -> [StreamKey] = { [] }
  ) {
    self.now = now
    self.grant = grant
    self.directory = directory
    self.feeds = feeds
    self.room = room
    self.holds = holds
    self.all = all
  }

  /// The client's subscriptions before this message.
  package var subscriptions: [StreamKey] { all() }
  package func isSubscribed(to key: StreamKey) -> Bool { holds(key) }

  /// Sends one message of text.
  package mutating func send(_ body: (inout ByteBuffer) -> Void) {
    var out = ByteBuffer(capacity: 256)
    body(&out)
    actions.append(.send(out.takeBytes()))
  }

  /// Subscribes the client. Its first message follows what this desk sends.
  package mutating func join(_ key: StreamKey) {
    guard !holds(key) else { return }
    room -= 1
    actions.append(.join(key))
  }

  package mutating func leave(_ key: StreamKey) { actions.append(.leave(key)) }

  /// Ends the connection, with a code of our own protocol.
  package mutating func close(_ code: UInt16, _ reason: String) { actions.append(.close(code, reason)) }
}

/// The clients of a hub that speak other protocols.
struct DialectClients {
  struct Entry {
    let session: any DialectSession
    /// Data messages that it had been sent at its last heartbeat.
    var sent: UInt64 = 0
    /// Since when data that it subscribed is not live; nil: all of it is.
    var deadSince: Timestamp?
  }

  /// How long such a client is kept while data of it is not live, µs. Then it is closed, because its protocol cannot
  /// say so. A feed that is `stale` has been silent for three times its venue's cadence already.
  static let patience = 10 * Microseconds.second

  private var entries: [UInt32: Entry] = [:]
  /// When the clients' data is next looked at.
  private var nextLook = Timestamp.distantPast

  var slots: [UInt32] { Array(entries.keys) }
  subscript(slot: UInt32) -> Entry? { entries.isEmpty ? nil : entries[slot] }
  /// Whether a client speaks another protocol. O(1).
  func has(_ slot: UInt32) -> Bool { !entries.isEmpty && entries[slot] != nil }

  mutating func open(_ slot: UInt32, _ session: any DialectSession) { entries[slot] = Entry(session: session) }
  mutating func close(_ slot: UInt32) { if !entries.isEmpty { entries[slot] = nil } }
  mutating func set(_ entry: Entry, at slot: UInt32) { entries[slot] = entry }

  /// Whether a second has passed since the clients' data was looked at.
  mutating func isLookDue(at now: Timestamp) -> Bool {
    guard !entries.isEmpty, now >= nextLook else { return false }
    nextLook = now + Microseconds.second
    return true
  }
}
