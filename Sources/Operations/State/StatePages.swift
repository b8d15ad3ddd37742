import Bytes
import Transport

/// Shows operators the state of the gateway: has the `StateDocument` gathered while there are viewers, encodes it once
/// for all of them, and pushes it once a second. On one loop.
package final class StatePages: @unchecked Sendable {
  // `@unchecked`: made before the loop begins, used on it only from then on.

  /// The largest number of simultaneous viewers.
  package static let viewerLimit = 16
  /// A document younger than this is sent to all requesters, µs.
  private static let freshness: Int64 = 900_000

  /// Gathers the present document, now or later, and passes it on. On the loop.
  package typealias Gather = (@escaping (StateDocument) -> Void) -> Void

  private let loop: EventLoop
  private let gather: Gather
  private var viewers: [StateViewer] = []
  private var timer: LoopTimer?
  private var latest: (document: SharedBytes, at: Int64)?
  /// Requests that wait for the document that is being gathered.
  private var waiting: [(SharedBytes) -> Void] = []

  package init(loop: EventLoop, gather: @escaping Gather) {
    self.loop = loop
    self.gather = gather
  }

  /// Whether another viewer is admitted.
  package var hasRoom: Bool { viewers.count < Self.viewerLimit }

  /// Takes over a connection, if there is room, and sends it the document now and once a second.
  /// - Parameters:
  ///   - date: of the answer's head, as HTTP writes it.
  ///   - ended: called once, when the connection is gone.
  package func admit(_ connection: Connection, date: String, ended: @escaping () -> Void) {
    loop.assertOnLoop()
    precondition(hasRoom)
    let viewer = StateViewer(connection, date: date) { [self] viewer in
      viewers.removeAll { $0 === viewer }
      if viewers.isEmpty {
        timer?.cancel()
        timer = nil
      }
      ended()
    }
    connection.handler = viewer
    viewers.append(viewer)
    line { [weak viewer] in viewer?.show($0) }
    if timer == nil {
      timer = loop.scheduleRepeating(every: .seconds(1)) { [self] in
        line { [self] document in for viewer in viewers { viewer.show(document) } }
      }
    }
  }

  /// Calls `body` with the present document, without its line feed.
  package func document(_ body: @escaping ([UInt8]) -> Void) { line { body(Array($0.unsafeBytes.dropLast())) } }

  /// The same with the line feed.
  private func line(_ body: @escaping (SharedBytes) -> Void) {
    loop.assertOnLoop()
    if let latest, loop.moment - latest.at < Self.freshness { return body(latest.document) }
    waiting.append(body)
    guard waiting.count == 1 else { return }
    gather { [self] document in
      let bytes = SharedBytes(document.encode() + [UInt8(ascii: "\n")])
      latest = (bytes, loop.moment)
      let waiting = waiting
      self.waiting = []
      for body in waiting { body(bytes) }
    }
  }
}
