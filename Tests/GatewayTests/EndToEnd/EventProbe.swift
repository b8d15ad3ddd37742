import Bytes
import Foundation
import HTTP1
import Synchronization
import TestTraits
import Transport

/// Reads server-sent events as a browser does (HTML standard, "Interpreting an event stream"), from a connection of its
/// own.
final class EventProbe: ConnectionHandler, @unchecked Sendable {
  // `@unchecked`: the loop alone touches `connection`; the rest is behind the lock, or constant.
  struct Event: @unchecked Sendable {
    // `@unchecked`: made once from the text and only read afterwards.
    let json: [String: Any]
    let text: String
    /// The id that counts when it came.
    let id: String
    var type: String? { json["type"] as? String }
    var seq: Int? { json["seq"] as? Int }
  }

  private struct State {
    var bytes: [UInt8] = []
    var head: String?
    var data: [String] = []
    var id = ""
    var events: [Event] = []
    var isClosed = false
    /// Blocks that have no data.
    var emptyBlocks = 0
    /// How long it would wait before it reconnects, ms.
    var retry: Int?
  }

  private let state = Mutex(State())
  private let loop: EventLoop
  private var connection: Connection?

  /// - Parameter host: the name that it calls the server by; its address if nil.
  init(
    _ address: SocketAddress, _ target: String, host: String? = nil, fields: [HTTPField] = [], loop: EventLoop
  ) {
    self.loop = loop
    loop.execute { [self] in
      Connector.connect(host: address.host, port: address.port, tls: nil, loop: loop, handler: self) { result in
        guard case .success(let connection) = result else { return self.state.withLock { $0.isClosed = true } }
        self.connection = connection
        var out = ByteBuffer()
        let fields =
          [HTTPField("Host", host ?? address.description), HTTPField("Accept", "text/event-stream")] + fields
        HTTPEncoder.append(
          HTTPRequestHead(method: "GET", target: target, fields: HTTPFields(fields)), bodyLength: 0, to: &out)
        connection.write(out.bytes)
      }
    }
  }

  var events: [Event] { state.withLock(\.events) }
  var head: String? { state.withLock(\.head) }
  var emptyBlocks: Int { state.withLock(\.emptyBlocks) }
  var retry: Int? { state.withLock(\.retry) }
  var isClosed: Bool { state.withLock(\.isClosed) }
  /// What a reader would say in `Last-Event-ID`.
  var lastID: String { state.withLock(\.id) }

  func close() { loop.execute { self.connection?.abort() } }

  /// Waits for the first event that `fits`.
  func first(_ what: String, _ fits: (Event) -> Bool) async throws -> Event {
    var patience = Patience()
    while true {
      if let event = events.first(where: fits) { return event }
      try await patience.wait(for: "\(what); \(head ?? "no answer"), \(events.count) events")
    }
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    state.withLock { state in
      state.bytes += bytes
      if state.head == nil {
        guard let end = Data(state.bytes).range(of: Data("\r\n\r\n".utf8)) else { return }
        state.head = String(decoding: state.bytes[..<end.lowerBound], as: UTF8.self)
        state.bytes.removeFirst(end.upperBound)
      }
      while let end = state.bytes.firstIndex(of: 10) {
        let line = String(decoding: state.bytes[..<end], as: UTF8.self)
        state.bytes.removeFirst(end + 1)
        Self.take(line, &state)
      }
    }
  }

  private static func take(_ line: String, _ state: inout State) {
    if line.isEmpty {
      let text = state.data.joined(separator: "\n")
      state.data = []
      guard !text.isEmpty else {
        state.emptyBlocks += 1
        return
      }
      let json = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
      state.events.append(Event(json: json, text: text, id: state.id))
    } else if line.hasPrefix("data: ") {
      state.data.append(String(line.dropFirst(6)))
    } else if line.hasPrefix("id: ") {
      state.id = String(line.dropFirst(4))
    } else if line.hasPrefix("retry: ") {
      state.retry = Int(line.dropFirst(7))
    }
  }

  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) { state.withLock { $0.isClosed = true } }
}
