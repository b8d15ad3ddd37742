import Bytes
import HTTP1
import WebSocket

/// The way of a client's bytes through the gateway's layers, without sockets: request parser, handshake, frames,
/// requests, fan-out; with a market that moves behind it. What ends a connection opens the next.
package final class GarbageStack {
  /// What came of the bytes so far.
  package struct Tally: Sendable {
    package var connections = 0
    package var requestsRead = 0
    package var requestsRefused = 0
    package var upgrades = 0
    package var messages = 0
    package var framesRefused = 0
    package var framesSent = 0
  }

  package private(set) var tally = Tally()
  private let model: StackModel
  private var http = HTTPRequestParser()
  private var webSocket: WebSocketConnection?
  private var mutator: SeededMutator
  private let requests: [[UInt8]]
  private let messages: [[UInt8]]
  private let market: [[UInt8]]

  /// - Parameters:
  ///   - requests: whole HTTP requests.
  ///   - messages: texts that a client may send.
  ///   - market: messages of Kraken.
  package init(seed: UInt64, requests: [[UInt8]], messages: [[UInt8]], market: [[UInt8]]) throws(FuzzFailure) {
    self.requests = requests
    self.messages = messages
    self.market = market
    mutator = SeededMutator(seed: seed, words: FuzzTarget.clientRequest.words)
    model = try FuzzTarget.connected("kraken")
  }

  /// One more frame, or request: whole or damaged, in one piece or several.
  package func step() throws(FuzzFailure) {
    if mutator.below(8) == 0 { try model.receive(damage(market, 4)) }
    if mutator.below(16) == 0 { try model.wait(100) }
    let bytes = webSocket == nil ? request() : frame()
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = mutator.below(3) == 0 ? 1 + mutator.below(rest.count) : rest.count
      var piece = Array(rest.prefix(count))
      rest = rest.dropFirst(count)
      guard try take(&piece) else { return try reopen() }
    }
    if model.isClosed || mutator.below(64) == 0 { try reopen() }
  }

  // MARK: What is sent

  /// One of `inputs`, damaged once in `often`.
  private func damage(_ inputs: [[UInt8]], _ often: Int) -> [UInt8] {
    guard mutator.below(often) == 0 else { return inputs[mutator.below(inputs.count)] }
    return mutator.mutate(inputs, limit: 2048)
  }

  private func request() -> [UInt8] {
    // Half of them open a WebSocket, so that what lies behind it is reached.
    if mutator.below(2) == 0 {
      return Array(
        ("GET /v1/stream HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n").utf8)
    }
    return damage(requests, 2)
  }

  private func frame() -> [UInt8] {
    let opcodes: [WebSocketFrame.Opcode] = [.text, .text, .text, .text, .binary, .ping, .pong, .continuation, .close]
    let opcode = opcodes[mutator.below(opcodes.count)]
    var payload = damage(messages, 2)
    if opcode.rawValue >= 8 { payload = Array(payload.prefix(mutator.below(126))) }
    var out = ByteBuffer()
    WebSocketFrame.append(
      opcode, payload: payload.span.bytes, mask: UInt32(truncatingIfNeeded: mutator.next()),
      isFinal: opcode.rawValue >= 8 || mutator.below(4) > 0, to: &out)
    let whole = Array(out.unsafeBytes)
    return mutator.below(6) == 0 ? mutator.mutate([whole], limit: 4096) : whole
  }

  // MARK: What takes it

  /// False where the connection ends.
  private func take(_ piece: inout [UInt8]) throws(FuzzFailure) -> Bool {
    guard webSocket != nil else { return try takeRequests(piece) }
    return try takeFrames(&piece)
  }

  private func takeRequests(_ piece: [UInt8]) throws(FuzzFailure) -> Bool {
    var after: [UInt8]?
    let goesOn = piece.withUnsafeBytes { raw -> Bool in
      var input = raw
      do throws(HTTPError) {
        while let (head, _) = try http.next(&input) {
          tally.requestsRead += 1
          guard WebSocketHandshake.isUpgrade(head) else { continue }
          _ = try WebSocketHandshake.accept(head, subprotocols: ["tidegate.v1.json"])
          after = Array(input)
          return true
        }
        return true
      } catch {
        tally.requestsRefused += 1
        return false
      }
    }
    guard var after else { return goesOn }
    tally.upgrades += 1
    webSocket = WebSocketConnection(role: .server)
    return after.isEmpty ? true : try takeFrames(&after)
  }

  private func takeFrames(_ piece: inout [UInt8]) throws(FuzzFailure) -> Bool {
    var texts: [[UInt8]] = []
    let goesOn = piece.withUnsafeMutableBytes { raw -> Bool in
      var input = raw
      do throws(WebSocketError) {
        while let event = try webSocket!.next(&input) {
          switch event {
          case .text(let payload): texts.append(Array(payload))
          case .binary, .ping, .pong: break
          case .close: return false
          }
        }
        return true
      } catch {
        tally.framesRefused += 1
        return false
      }
    }
    for text in texts {
      tally.messages += 1
      try model.request(text)
    }
    return goesOn
  }

  private func reopen() throws(FuzzFailure) {
    tally.connections += 1
    tally.framesSent += model.frames
    http = HTTPRequestParser()
    webSocket = nil
    try model.reopen()
  }
}
