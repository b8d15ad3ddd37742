import Bytes
import Foundation
import HTTP1
import Synchronization
import TestTraits
import TidegateClient
import Transport
import WebSocket

/// A JSON message as the tests look at it.
struct Message: @unchecked Sendable {
  // `@unchecked`: made from JSON once and only read afterwards.
  let json: [String: Any]
  let text: String

  var type: String { json["type"] as? String ?? "" }
  var channel: String { json["channel"] as? String ?? "" }
  var symbol: String { json["symbol"] as? String ?? "" }
  var stream: Int { json["stream"] as? Int ?? -1 }
  var seq: Int { json["seq"] as? Int ?? -1 }
  var prev: Int { json["prev"] as? Int ?? -1 }
  var id: Int { json["id"] as? Int ?? -1 }
  var data: [String: Any] { json["data"] as? [String: Any] ?? [:] }
  subscript(_ key: String) -> Any? { json[key] }
}

struct ProbeError: Error, CustomStringConvertible {
  let description: String
}

/// A WebSocket client for tests: collects what arrives and lets a test wait for what it expects.
final class StreamProbe: ConnectionHandler, @unchecked Sendable {
  // `@unchecked`: socket state is touched on `loop` only; what tests read is behind `state`.

  private struct State {
    var messages: [Message] = []
    var closeCode: UInt16?
    var bytesAfterClose = 0
    var isClosed = false
    var isOpen = false
    var failure: String?
    var deflate: PerMessageDeflate?
    var pongs = 0
    /// Binary messages.
    var records = 0
  }

  private let loop: EventLoop
  private let state = Mutex(State())
  private var connection: Connection?
  private var webSocket = WebSocketConnection(role: .client, limits: WebSocketLimits(messageBytes: 32 << 20))
  private var parser = HTTPResponseParser(limits: HTTPLimits())
  private var isUpgraded = false
  private let key = SystemRandom.bytes(16)
  private let offers: [PerMessageDeflate.Offer]
  private let answersPings: Bool
  private let subprotocol: String?
  /// What replies say of the streams whose messages are binary.
  private var binary: [Int64: BinaryStream] = [:]
  private var deflater: Deflater?

  /// Connects to `address` and waits until the stream is open.
  /// - Parameters:
  ///   - answersPings: false for a client that never shows that it reads, unless by `pong`.
  ///   - first: a message that goes out in one write with the handshake.
  init(
    _ address: SocketAddress, fields: [HTTPField] = [], loop: EventLoop, offers: [PerMessageDeflate.Offer] = [],
    answersPings: Bool = true, first: String? = nil, subprotocol: String? = "tidegate.v1.json",
    target: String = "/v1/stream"
  ) async throws {
    self.subprotocol = subprotocol
    self.loop = loop
    self.offers = offers
    self.answersPings = answersPings
    loop.execute { [self] in
      Connector.connect(host: address.host, port: address.port, tls: nil, loop: loop, handler: self) { result in
        switch result {
        case .success(let connection):
          self.connection = connection
          let head = WebSocketHandshake.request(
            host: address.description, target: target, key: self.key,
            subprotocols: subprotocol.map { [$0] } ?? [], compression: self.offers, fields: fields)
          var out = ByteBuffer()
          HTTPEncoder.append(head, bodyLength: 0, to: &out)
          if let first {
            Array(first.utf8).withUnsafeBytes {
              WebSocketFrame.append(.text, payload: $0, mask: SystemRandom.uint32(), to: &out)
            }
          }
          connection.write(out.bytes)
        case .failure(let error): self.state.withLock { $0.failure = error.description }
        }
      }
    }
    _ = try await wait("the stream to open") { $0.isOpen ? true : nil }
  }

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    var input = bytes
    if (state.withLock { $0.closeCode != nil }) { return state.withLock { $0.bytesAfterClose += bytes.count } }
    do {
      if !isUpgraded {
        var head = UnsafeRawBufferPointer(input)
        guard let (answer, _) = try parser.next(&head) else { return }
        let deflate = try WebSocketHandshake.check(
          answer, key: key, subprotocols: subprotocol.map { [$0] } ?? [], compression: offers
        ).deflate
        isUpgraded = true
        if let deflate {
          webSocket = WebSocketConnection(
            role: .client, limits: WebSocketLimits(messageBytes: 32 << 20), deflate: deflate)
          deflater = Deflater(level: 9, windowBits: deflate.clientMaxWindowBits)
          state.withLock { $0.deflate = deflate }
        }
        state.withLock { $0.isOpen = true }
        input = UnsafeMutableRawBufferPointer(rebasing: input[(input.count - head.count)...])
      }
      while let event = try webSocket.next(&input) {
        switch event {
        case .text(let payload):
          let data = Data(payload)
          guard let json = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
            throw ProbeError(description: "not an object")
          }
          for item in json["ok"] as? [[String: Any]] ?? [] { learn(item) }
          let message = Message(json: json, text: String(decoding: data, as: UTF8.self))
          state.withLock { $0.messages.append(message) }
        case .binary(let payload):
          let record = try BinaryDecoder.decode([UInt8](payload)) { binary[$0] }
          if let scale = record.scale { binary[record.stream] = scale }
          guard let text = record.text,
            let json = try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any]
          else { throw ProbeError(description: "a record of a stream that is not known") }
          let message = Message(json: json, text: String(decoding: text, as: UTF8.self))
          state.withLock { state in
            state.records += 1
            state.messages.append(message)
          }
        case .ping(let payload):
          // A test that waits long for its turn is not to lose its connection for that.
          if answersPings { pong(payload, on: connection) }
        case .pong: state.withLock { $0.pongs += 1 }
        case .close(let code, _, _):
          state.withLock { $0.closeCode = code }
          state.withLock { $0.bytesAfterClose += input.count }
          return
        }
      }
    } catch {
      state.withLock { $0.failure = "\(error)" }
    }
  }

  private func learn(_ item: [String: Any]) {
    guard item["encoding"] as? String == "binary", let number = item["stream"] as? Int64 else { return }
    binary[number] = BinaryStream(
      channel: item["channel"] as? String ?? "", symbol: item["symbol"] as? String ?? "",
      base: item["base"] as? Int64 ?? 0, priceDigits: item["price_digits"] as? UInt8 ?? 0,
      sizeDigits: item["size_digits"] as? UInt8 ?? 0)
  }

  /// Binary messages so far.
  var records: Int { state.withLock { $0.records } }

  func connectionDidDrain(_ connection: Connection) {}
  func connectionDidClose(_ connection: Connection, reason: CloseReason) { state.withLock { $0.isClosed = true } }

  func send(_ text: String) {
    loop.execute { [self] in
      var out = ByteBuffer()
      let payload = Array(text.utf8)
      let mask = SystemRandom.uint32()
      payload.withUnsafeBytes {
        if let deflater {
          WebSocketFrame.append(.text, payload: $0, mask: mask, deflater: deflater, to: &out)
        } else {
          WebSocketFrame.append(.text, payload: $0, mask: mask, to: &out)
        }
      }
      connection?.write(out.bytes)
    }
  }

  /// Answers the gateway's greeting, if late.
  func pong() { loop.execute { [self] in if let connection { pong(.init(start: nil, count: 0), on: connection) } } }

  private func pong(_ payload: UnsafeRawBufferPointer, on connection: Connection) {
    var pong = ByteBuffer()
    WebSocketFrame.append(.pong, payload: payload, mask: SystemRandom.uint32(), to: &pong)
    connection.write(pong.bytes)
  }

  /// Sends bytes as they are.
  func send(raw bytes: [UInt8]) { loop.execute { [self] in connection?.write(bytes.span.bytes) } }

  /// Bytes that the gateway has not taken yet.
  func unsentBytes() async -> Int {
    await withCheckedContinuation { continuation in
      loop.execute { [self] in continuation.resume(returning: connection?.queuedBytes ?? 0) }
    }
  }

  /// What was agreed on about compression.
  var deflate: PerMessageDeflate? { state.withLock { $0.deflate } }

  /// Stops taking bytes, as a client does that hangs.
  func stopReading() { loop.execute { [self] in connection?.pauseReading() } }
  func startReading() { loop.execute { [self] in connection?.resumeReading() } }
  func disconnect() { loop.execute { [self] in connection?.abort() } }

  var messages: [Message] { state.withLock { $0.messages } }
  /// WebSocket pongs that came.
  var pongs: Int { state.withLock { $0.pongs } }
  var count: Int { state.withLock { $0.messages.count } }
  /// What came behind the gateway's close frame, which ought to be nothing.
  var bytesAfterClose: Int { state.withLock { $0.bytesAfterClose } }

  /// Waits until a message fits, from the `from`th on; 30 s at most.
  @discardableResult
  func first(_ what: String, from: Int = 0, where fits: @escaping @Sendable (Message) -> Bool) async throws -> Message {
    try await wait(what) { state in state.messages.dropFirst(from).first(where: fits) }
  }

  /// The same, or nil if the server closes first.
  func first(
    _ what: String, orClose: Bool, where fits: @escaping @Sendable (Message) -> Bool
  ) async throws -> Message? {
    try await wait(what) { state -> Message?? in
      if let found = state.messages.first(where: fits) { return .some(found) }
      return state.closeCode == nil ? nil : .some(nil)
    }
  }

  func closeCode() async throws -> UInt16 { try await wait("a close frame") { $0.closeCode } }

  private func wait<T: Sendable>(_ what: String, _ look: @Sendable (State) -> T?) async throws -> T {
    var patience = Patience()
    while true {
      let (found, failure) = state.withLock { (look($0), $0.failure) }
      if let found { return found }
      if let failure { throw ProbeError(description: "waiting for \(what): \(failure)") }
      try await patience.wait(
        for: state.withLock {
          "\(what); \($0.messages.count) messages, last: \($0.messages.last?.text.prefix(300) ?? "none")"
        })
    }
  }
}
