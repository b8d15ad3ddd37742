import TestSupport
import Testing
import Transport

@testable import Gateway

@Suite("Messages of an upgrade")
struct UpgradeMessageTests {
  @Test(
    "each is read as it was written",
    arguments: [
      UpgradeMessage.warming(live: 0, of: 0), .warming(live: 2, of: 30), .ready, .serving, .failed("no such file"),
      .yours(1), .yours(999_999_999),
    ])
  func roundTrip(_ message: UpgradeMessage) {
    #expect(message.bytes.count <= MessageChannel.limit)
    #expect(UpgradeMessage(message.bytes) == message)
  }

  @Test(
    "what is not one of them is none",
    arguments: [
      "", " ", "Ready", "ready ", " ready", "ready 1", "serving now", "yours", "yours 0", "yours -1", "yours 1 2",
      "yours 01x", "yours 9999999999", "warming", "warming 1", "warming 2 1", "warming 1 2 3", "warming 1  2",
      "warming +1 2", "failed", "failed ", "yours \u{661}",
    ])
  func others(_ text: String) { #expect(UpgradeMessage(Array(text.utf8)) == nil) }

  @Test("bytes that are no text, and more than a message may have, are none")
  func bytes() {
    #expect(UpgradeMessage([0xFF, 0xFE]) == nil)
    #expect(UpgradeMessage(Array("failed ".utf8) + [0xC0]) == nil)
    #expect(UpgradeMessage(Array("failed ".utf8) + [UInt8](repeating: 120, count: MessageChannel.limit)) == nil)
  }

  @Test("a reason is one line of bounded length, whatever it was, and never empty")
  func reasons() throws {
    let long = String(repeating: "reason\n\u{1F600}\t", count: 400)
    let message = UpgradeMessage.failed(long)
    #expect(message.bytes.count <= MessageChannel.limit)
    guard case .failed(let reason) = try #require(UpgradeMessage(message.bytes)) else { return #expect(Bool(false)) }
    #expect(reason.hasPrefix("reason \u{1F600} reason"))
    #expect(!reason.contains("\n") && reason.utf8.count <= UpgradeMessage.reasonLimit + 4)
    #expect(UpgradeMessage(UpgradeMessage.failed("").bytes) == .failed("for no reason"))
  }

  @Test("random bytes are read without a fault, and what is read is written as it came")
  func random() {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<20_000 {
      let words = ["ready", "serving", "yours", "warming", "failed", "1", "22", " ", "x", "\n"]
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 0...4, using: &generator) {
        bytes += Array((words.randomElement(using: &generator) ?? "").utf8)
        if Bool.random(using: &generator) { bytes.append(UInt8(ascii: " ")) }
      }
      if Bool.random(using: &generator), !bytes.isEmpty {
        bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
      }
      guard let message = UpgradeMessage(bytes) else { continue }
      #expect(UpgradeMessage(message.bytes) == message)
    }
  }
}
