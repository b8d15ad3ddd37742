import Dispatch
import Glibc
import Logging
import Synchronization

/// Writes lines to a descriptor whose reader may be slow, stuck or gone. The code that logs never waits for the reader.
///
/// A line is written at once if the descriptor takes it, so the last lines of a dying process arrive. Otherwise it
/// waits for a separate queue, at most 1 MiB of lines. Lines that do not fit are counted, and a line says how many.
package final class LogOutput: Sendable {
  /// Bytes that may wait.
  static let limit = 1 << 20
  /// A ready pipe takes this many bytes without waiting (PIPE_BUF, pipe(7)).
  private static let pipeBytes = 4_096

  private struct State {
    var waiting: [UInt8] = []
    /// Lines lost since the last line that was taken.
    var lost = 0
    /// Whether the last line was JSON: then lines about lost lines are JSON, too.
    var isJSON = false
    /// Whether the queue is writing, so that new lines must wait.
    var isWriting = false
  }
  private let descriptor: Int32
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "tidegate.log")

  /// Standard error.
  package static let standardError = LogOutput(descriptor: STDERR_FILENO)

  /// - Parameter descriptor: the caller keeps it open.
  package init(descriptor: Int32) { self.descriptor = descriptor }

  /// Takes a line, line feed included. Callable from anywhere; does not wait.
  package func write(_ line: String) {
    let begins = state.withLock { state in
      var rest = Array(line.utf8)[...]
      state.isJSON = rest.first == UInt8(ascii: "{")
      if !state.isWriting, isReady, rest.count <= Self.pipeBytes {
        rest = Self.write(rest, to: descriptor, waits: false)
        if rest.isEmpty { return false }
      }
      guard state.waiting.count + rest.count <= Self.limit else {
        state.lost += 1
        return false
      }
      state.waiting += rest
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if begins { queue.async { [self] in writeWaiting() } }
  }

  /// Waits until everything is written, at most for `milliseconds`.
  package func flush(milliseconds: Int = 1_000) {
    let done = DispatchSemaphore(value: 0)
    queue.async { done.signal() }
    _ = done.wait(timeout: .now() + .milliseconds(milliseconds))
  }

  /// Whether a write does not wait, or fails at once.
  private var isReady: Bool {
    var target = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&target, 1, 0) > 0
  }

  private func writeWaiting() {
    while true {
      let bytes: [UInt8] = state.withLock { state in
        var bytes: [UInt8] = []
        swap(&bytes, &state.waiting)
        if state.lost > 0 {
          bytes += Array(Self.lossLine(state.lost, isJSON: state.isJSON).utf8)
          state.lost = 0
        }
        state.isWriting = !bytes.isEmpty
        return bytes
      }
      guard !bytes.isEmpty else { return }
      _ = Self.write(bytes[...], to: descriptor, waits: true)
    }
  }

  private static func lossLine(_ count: Int, isJSON: Bool) -> String {
    LogLine(
      level: .warning, message: "lines of this log were lost: its reader is too slow",
      fields: [("lines", "\(count)")]
    ).text(isJSON ? .json : .logfmt, time: LogTime.wallClock())
  }

  /// Writes bytes, and returns those that could not be written without waiting; none if the reader is gone or the disk
  /// is full.
  ///
  /// - Parameter waits: whether to wait for a slow reader of a descriptor that another program, such as a shell, made
  ///   non-blocking.
  private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, waits: Bool) -> ArraySlice<UInt8> {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        guard waits else { return rest }
        var target = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&target, 1, 1_000)
      } else if errno != EINTR {
        return []
      }
    }
    return []
  }
}
