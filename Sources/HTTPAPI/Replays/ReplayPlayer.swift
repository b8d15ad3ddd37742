import Bytes
import MarketData
import PubSub
import Recordings
import WebSocket

/// Plays one request, and makes the bytes that its client gets. Used on the recordings' queue only.
///
/// The bytes depend on the recordings, the request and the jumps only, not on the turns.
package final class ReplayPlayer {
  /// The result of a turn.
  package struct Turn: Sendable {
    package enum Next: Sendable {
      case more
      /// Nothing is due before that moment.
      case waits(Timestamp)
      case ended
      case failed(RecordedPast.Failure, symbol: String)
    }

    /// As they go to the client: frames, or lines.
    package var bytes: SharedBytes?
    package var next: Next
    /// The moment that has been played.
    package var position: Timestamp
  }

  private let request: ReplayRequest
  /// Whether the client gets frames; if not, lines.
  private let isFramed: Bool
  private var stream: PastStream?
  private var window: Range<Timestamp>
  /// Jumps so far: the streams begin anew after each.
  private var jumps = 0
  private var hasBegun = false
  private var joined = 0
  private var out = ByteBuffer()
  private let limits: PastStream.Limits

  package init(_ request: ReplayRequest, isFramed: Bool, limits: PastStream.Limits = .init()) {
    (self.request, self.isFramed, self.limits) = (request, isFramed, limits)
    window = request.window
  }

  /// Goes to another moment. The streams begin anew in the next turn.
  package func seek(to time: Timestamp) {
    window = min(time, request.window.upperBound)..<request.window.upperBound
    stream = nil
    joined = 0
    jumps += 1
  }

  /// Plays what is due until `target`, as far as one turn goes.
  package func turn(_ past: RecordedPast, until target: Timestamp) -> Turn {
    var next: Turn.Next
    do throws(PastStream.Problem) {
      let stream = try open(past)
      next =
        switch try stream.turn(until: target, { append($0) }) {
        case .more: .more
        case .waits(let time): .waits(time)
        case .ended: .ended
        }
      if case .more = next {} else { begin() }
    } catch {
      next = .failed(error.failure, symbol: error.symbol)
    }
    defer { out.removeAll() }
    let bytes = out.isEmpty ? nil : SharedBytes(out.bytes)
    return Turn(bytes: bytes, next: next, position: stream?.position ?? window.lowerBound)
  }

  private func open(_ past: RecordedPast) throws(PastStream.Problem) -> PastStream {
    if let stream { return stream }
    let made = try PastStream(
      past, keys: request.keys, window: window, epoch: "replay-\(jumps + 1)", limits: limits)
    stream = made
    return made
  }

  /// Makes the first message, once it is certain that there is an answer.
  private func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    if let message = request.voice.opening(request) { append { $0.append(message) } }
  }

  private func append(_ output: PastStream.Output) {
    begin()
    switch output {
    case .joined(let result, let instrument):
      joined += 1
      var message = ByteBuffer(capacity: 512)
      guard request.voice.appendJoined(result, instrument, total: joined, to: &message) else { return }
      append { $0.append(message.bytes) }
    case .message(let frame):
      if isFramed { out.append(frame.bytes.unsafeBytes) } else { appendLines(frame.bytes.unsafeBytes) }
    }
  }

  /// Appends a message of text.
  private func append(_ body: (inout ByteBuffer) -> Void) {
    if isFramed {
      WebSocketFrame.appendUnmasked(.text, to: &out, body)
    } else {
      body(&out)
      out.append("\n")
    }
  }

  /// Appends the payloads of frames, one a line.
  private func appendLines(_ frames: UnsafeRawBufferPointer) {
    var rest = frames
    while rest.count > 0 {
      let start = WebSocketFrame.payloadStart(ofUnmasked: rest)
      let length: Int =
        switch start {
        case 2: Int(rest[1])
        case 4: Int(rest[2]) << 8 | Int(rest[3])
        default: rest[2..<10].reduce(0) { $0 << 8 | Int($1) }
        }
      out.append(UnsafeRawBufferPointer(rebasing: rest[start..<(start + length)]))
      out.append("\n")
      rest = UnsafeRawBufferPointer(rebasing: rest[(start + length)...])
    }
  }
}
