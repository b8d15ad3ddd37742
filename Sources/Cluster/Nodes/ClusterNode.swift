import Bytes
import NATS
import Transport

/// A part of a node that shares the node's link: one venue of an ingest or of an edge. Called on the link's loop only.
package protocol ClusterPart: AnyObject {
  /// Subscribes, with `ClusterNode.tag(_:of:)`, and takes its first step. Called once.
  func begin(_ node: ClusterNode, index: Int)
  /// The connection is open (again), with all subscriptions.
  func linkConnected(_ node: ClusterNode)
  func receive(_ message: NATSMessage, tag: Int, _ node: ClusterNode)
  /// Called every 50 ms.
  func step(_ node: ClusterNode)
}

/// A node's link, and the parts that share it. Owned by the link's loop.
package final class ClusterNode: NATSLinkHandler {
  /// The oldest confirmation with which a connection counts as good, µs.
  package static let confirmationTime: Int64 = 2_000_000
  private static let stepInterval = Duration.milliseconds(50)

  package let link: NATSLink
  package let subjects: ClusterSubjects
  /// Messages that were not readable.
  package private(set) var unreadable = 0
  /// Why the connection last broke, or what the server last refused, in words.
  package private(set) var lastProblem: String?
  private var parts: [any ClusterPart] = []
  private var timer: LoopTimer?

  package init(_ link: NATSLink, subjects: ClusterSubjects) {
    self.link = link
    self.subjects = subjects
    link.handler = self
  }

  /// Adds a part. Call it before `start`.
  package func add(_ part: any ClusterPart) {
    parts.append(part)
    part.begin(self, index: parts.count - 1)
  }

  package func start() {
    timer = link.loop.scheduleRepeating(every: Self.stepInterval) { [weak self] in
      guard let self else { return }
      for part in parts { part.step(self) }
    }
    link.start()
  }

  package func stop() {
    timer?.cancel()
    link.stop()
  }

  /// The time that parts pass on, µs.
  package var now: Int64 { link.loop.moment }

  /// Whether messages get through, as far as the server has confirmed it lately.
  package var isLinked: Bool { link.lastConfirmed.map { now - $0 < Self.confirmationTime } ?? false }

  /// A tag for the link, from a part's own.
  package func tag(_ tag: Int, of index: Int) -> Int { index << 32 | tag }

  /// Reads a message; one that is not readable is counted.
  package func read<Value>(
    _ message: NATSMessage, _ body: (UnsafeRawBufferPointer) throws(ClusterWireError) -> Value
  ) -> Value? {
    do throws(ClusterWireError) {
      return try body(message.payload)
    } catch {
      unreadable += 1
      return nil
    }
  }

  package func linkDidConnect(_ link: NATSLink) { for part in parts { part.linkConnected(self) } }
  package func linkDidDisconnect(_ link: NATSLink, reason: String) { lastProblem = reason }
  package func link(_ link: NATSLink, wasRefused reason: String) { lastProblem = reason }

  package func link(_ link: NATSLink, didReceive message: NATSMessage, tag: Int) {
    let index = tag >> 32
    guard parts.indices.contains(index) else { return }
    parts[index].receive(message, tag: tag & 0xFFFF_FFFF, self)
  }
}
