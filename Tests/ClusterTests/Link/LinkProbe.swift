import Bytes
import Foundation
import NATS
import Synchronization
import Transport

@testable import Cluster

/// A link on a loop of its own, and what it reported.
final class LinkProbe: NATSLinkHandler, @unchecked Sendable {
  // `@unchecked`: the link is used on its loop only; what it reported is behind a lock.
  struct Seen: Sendable {
    var connects = 0
    var reasons: [String] = []
    var refused: [String] = []
    var messages: [(tag: Int, subject: String, payload: String)] = []
  }

  let loop: EventLoop
  private let link: NATSLink
  private let seen = Mutex(Seen())
  /// Called on the loop for each message.
  nonisolated(unsafe) var onMessage: ((NATSLink, NATSMessage) -> Void)?

  init(_ settings: NATSLink.Settings) throws {
    loop = try EventLoop(index: 0, label: "test.link")
    link = NATSLink(settings, loop: loop)
    link.handler = self
  }

  static func options(_ credentials: NATSCredentials = .none) -> NATSOptions {
    NATSOptions(name: "test", credentials: credentials, pingInterval: 200_000)
  }

  convenience init(port: UInt16, _ credentials: NATSCredentials = .none, tls: TLSClientContext? = nil) throws {
    let address = NATSServerAddress("\(tls == nil ? "nats" : "tls")://127.0.0.1:\(port)")!
    try self.init(.init(servers: [address], options: Self.options(credentials), tls: tls))
  }

  deinit {
    let ended = DispatchSemaphore(value: 0)
    loop.shutdown { ended.signal() }
    ended.wait()
  }

  var now: Seen { seen.withLock { $0 } }

  /// Runs `body` on the loop.
  func on<Value: Sendable>(_ body: @escaping @Sendable (NATSLink) -> Value) -> Value {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Value?>(nil)
    loop.execute { [self] in
      let value = body(link)
      result.withLock { $0 = value }
      done.signal()
    }
    done.wait()
    return result.withLock { $0! }
  }

  /// Runs `body` on the loop and waits for its end.
  func onLink(_ body: @escaping @Sendable (NATSLink) -> Void) { on { body($0) } }

  /// Looks until `condition` holds, for 30 s at most.
  func wait(_ condition: (Seen) -> Bool) -> Bool {
    for _ in 0..<6_000 {
      if condition(now) { return true }
      usleep(5_000)
    }
    return false
  }

  func linkDidConnect(_ link: NATSLink) { seen.withLock { $0.connects += 1 } }
  func linkDidDisconnect(_ link: NATSLink, reason: String) { seen.withLock { $0.reasons.append(reason) } }
  func link(_ link: NATSLink, wasRefused reason: String) { seen.withLock { $0.refused.append(reason) } }
  func link(_ link: NATSLink, didReceive message: NATSMessage, tag: Int) {
    let (subject, payload) = (
      String(decoding: message.subject, as: UTF8.self), String(decoding: message.payload, as: UTF8.self)
    )
    seen.withLock { $0.messages.append((tag, subject, payload)) }
    onMessage?(link, message)
  }
}

extension NATSLink {
  /// Publishes a text.
  @discardableResult
  func publish(_ subject: NATSSubject, text: String) -> Bool {
    Array(text.utf8).withUnsafeBytes { publish(subject, $0) }
  }
}

func subject(_ text: String) -> NATSSubject {
  do throws(NATSSubjectError) { return try NATSSubject(text) } catch { preconditionFailure("\(text): \(error)") }
}

func pattern(_ text: String) -> NATSSubjectPattern {
  do throws(NATSSubjectError) { return try NATSSubjectPattern(text) } catch { preconditionFailure("\(text): \(error)") }
}
