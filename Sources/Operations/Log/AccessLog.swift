import Logging
import PubSub
import Synchronization
import Transport

/// Writes a line for each HTTP request and for each ended stream: client, target, duration, result, bytes. Off unless
/// `log.access` turns it on. It writes at most `log.access-per-second` lines a second, and counts further ones.
///
/// Paths are written without their query. Tokens are never written; a client with a token has the name of its key.
package final class AccessLog: Sendable {
  /// What is logged.
  package enum Scope: String, CaseIterable, Sendable {
    case none, http, streams, all
    var hasRequests: Bool { self == .http || self == .all }
    var hasStreams: Bool { self == .streams || self == .all }
  }

  package struct Settings: Sendable, Equatable {
    package var scope: Scope
    /// 1…10,000.
    package var linesPerSecond: Int

    package init(scope: Scope = .none, linesPerSecond: Int = 100) {
      self.scope = scope
      self.linesPerSecond = linesPerSecond
    }
  }

  private struct State {
    var settings: Settings
    /// The number of lines in the second that began at `second`, and of lines left out since the last report.
    var second = Int64.min
    var lines = 0
    var leftOut = 0
  }

  private let log: Logger
  private let now: @Sendable () -> Int64
  private let state: Mutex<State>
  /// Bits: requests 1, streams 2.
  private let wanted: Atomic<UInt8>

  /// - Parameter now: monotonic µs.
  package init(_ log: Logger, _ settings: Settings, now: @escaping @Sendable () -> Int64) {
    self.log = log.of(.access)
    self.now = now
    state = Mutex(State(settings: settings))
    wanted = Atomic(Self.bits(settings.scope))
  }

  private static func bits(_ scope: Scope) -> UInt8 { (scope.hasRequests ? 1 : 0) | (scope.hasStreams ? 2 : 0) }

  var wantsRequests: Bool { wanted.load(ordering: .relaxed) & 1 != 0 }
  var wantsStreams: Bool { wanted.load(ordering: .relaxed) & 2 != 0 }

  package func apply(_ settings: Settings) {
    state.withLock { $0.settings = settings }
    wanted.store(Self.bits(settings.scope), ordering: .relaxed)
  }

  /// The client that was served.
  package struct Client {
    var peer: IPAddress?
    /// The name of the client's key; nil: it has no key, or none is required.
    var subject: String?

    package init(peer: IPAddress? = nil, subject: String? = nil) {
      self.peer = peer
      self.subject = subject
    }

    fileprivate var fields: Logger.Metadata {
      var fields: Logger.Metadata = [:]
      if let peer { fields["peer"] = "\(peer.description)" }
      if let subject { fields["key"] = "\(subject)" }
      return fields
    }
  }

  /// A request was answered.
  /// - Parameter path: without its query; nil: the request could not be read.
  package func request(
    _ client: @autoclosure () -> Client, method: String?, path: String?, status: Int, bytes: Int, nanoseconds: UInt64
  ) {
    guard wantsRequests, takes() else { return }
    var fields = client().fields
    fields["method"] = "\(method ?? "-")"
    fields["path"] = "\(path.map { String($0.prefix(200)) } ?? "-")"
    fields["status"] = "\(status)"
    fields["bytes"] = "\(bytes)"
    fields["us"] = "\(nanoseconds / 1_000)"
    log.info("request", metadata: fields)
  }

  /// A stream on the client port.
  package struct Stream {
    let peer: IPAddress
    /// The code that the gateway closed it with; nil: it did not.
    let closeCode: UInt16?
    /// When it was opened, monotonic µs.
    let openedAt: Int64
    let bytesWritten: UInt64

    package init(peer: IPAddress, closeCode: UInt16?, openedAt: Int64, bytesWritten: UInt64) {
      self.peer = peer
      self.closeCode = closeCode
      self.openedAt = openedAt
      self.bytesWritten = bytesWritten
    }
  }

  /// A stream has ended.
  /// - Parameter figures: the client's figures, before the hub forgets it.
  package func ended(_ stream: Stream, _ figures: @autoclosure () -> ClientFigures?) {
    guard wantsStreams, takes() else { return }
    let figures = figures()
    var fields = Client(peer: stream.peer, subject: figures?.subject).fields
    fields["ended_by"] = "\(ClientCounts.Ending(code: stream.closeCode).rawValue)"
    if let code = stream.closeCode { fields["code"] = "\(code)" }
    fields["ms"] = "\((now() - stream.openedAt) / 1_000)"
    fields["bytes"] = "\(stream.bytesWritten)"
    fields["messages"] = "\(figures?.sent ?? 0)"
    fields["merged"] = "\(figures?.merged ?? 0)"
    fields["lost"] = "\(figures?.lost ?? 0)"
    fields["subscriptions"] = "\(figures?.subscriptions ?? 0)"
    log.info("stream ended", metadata: fields)
  }

  /// Whether there is room for another line in this second.
  private func takes() -> Bool {
    let second = now() / 1_000_000
    return state.withLock { state in
      if state.second != second {
        state.second = second
        state.lines = 0
      }
      guard state.lines < state.settings.linesPerSecond else {
        state.leftOut += 1
        return false
      }
      state.lines += 1
      return true
    }
  }

  /// Logs the number of lines left out; call about once a second.
  package func tell() {
    let leftOut = state.withLock { state in
      defer { state.leftOut = 0 }
      return state.leftOut
    }
    if leftOut > 0 { log.notice("access lines were left out", metadata: ["count": "\(leftOut)"]) }
  }
}
