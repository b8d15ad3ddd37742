import MarketData
import Testing

@testable import Feeds

@Suite("What a line received before it became its feed's")
struct HeldRecordingTests {
  private final class Recorder: FeedRecorder {
    var lines: [String] = []
    var times: [Int64] = []

    private func note(_ line: String, _ now: Timestamp) {
      lines.append(line)
      times.append(now.microseconds)
    }
    func opened(url: String, at now: Timestamp) { note("opened \(url)", now) }
    func received(_ message: UnsafeRawBufferPointer, at now: Timestamp) {
      note("received \(message.count > 20 ? "\(message.count) bytes" : String(decoding: message, as: UTF8.self))", now)
    }
    func sent(_ message: String, at now: Timestamp) { note("sent \(message)", now) }
    func answered(url: String, status: Int, body: [UInt8], at now: Timestamp) { note("answered \(status) \(url)", now) }
    func closed(at now: Timestamp) { note("closed", now) }
  }

  private func time(_ microseconds: Int64) -> Timestamp { Timestamp(microseconds: microseconds) }

  @Test("everything in its order, at the time of the newest, so that times in the recording do not go back")
  func order() {
    let held = HeldRecording()
    held.answered(url: "/list", status: 200, body: [1], at: time(1))
    held.opened(url: "wss://x", at: time(2))
    held.sent("subscribe", at: time(2))
    Array("{}".utf8).withUnsafeBytes { held.received($0, at: time(7)) }
    held.closed(at: time(8))
    let recorder = Recorder()
    held.release(into: recorder)
    #expect(recorder.lines == ["answered 200 /list", "opened wss://x", "sent subscribe", "received {}"])
    #expect(recorder.times == [7, 7, 7, 7])
    held.release(into: recorder)
    #expect(recorder.lines.count == 4)
    held.release(into: nil)
  }

  @Test("beyond the bound only the opening is kept")
  func bound() {
    let held = HeldRecording()
    held.opened(url: "wss://x", at: time(2))
    let block = [UInt8](repeating: 0, count: 1 << 20)
    for _ in 0..<40 { block.withUnsafeBytes { held.received($0, at: time(3)) } }
    let recorder = Recorder()
    held.release(into: recorder)
    #expect(recorder.lines == ["opened wss://x"])
  }
}
