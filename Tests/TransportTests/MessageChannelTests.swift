import Dispatch
import Glibc
import Synchronization
import TestTraits
import Testing

@testable import Transport

@Suite("Messages between two processes", .realTime)
struct MessageChannelTests {
  private final class Heard: Sendable {
    let messages = Mutex<[[UInt8]]>([])
    let isEnded = Mutex(false)

    func wait(_ condition: () -> Bool) async throws {
      while !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }
  }

  private func listening(_ channel: MessageChannel) -> Heard {
    let heard = Heard()
    channel.start(on: DispatchQueue(label: "heard")) { message in
      heard.messages.withLock { $0.append(message) }
    } ended: {
      heard.isEnded.withLock { $0 = true }
    }
    return heard
  }

  @Test("each message arrives whole and in order, then the end, once")
  func order() async throws {
    let (one, descriptor) = try MessageChannel.pair()
    // It is held to the end, not to its last use.
    defer { one.close() }
    let heard = listening(one)
    let other = try #require(MessageChannel(inherited: descriptor))
    for number in 1...150 { #expect(other.send(Array("message \(number)".utf8))) }
    other.close()
    try await heard.wait { heard.isEnded.withLock { $0 } }
    #expect(heard.messages.withLock { $0 } == (1...150).map { Array("message \($0)".utf8) })
    #expect(!other.send([1]))
  }

  @Test("a message that is too long arrives cut off, and is longer than any may be")
  func long() async throws {
    let (one, descriptor) = try MessageChannel.pair()
    // It is held to the end, not to its last use.
    defer { one.close() }
    let heard = listening(one)
    let bytes = [UInt8](repeating: 120, count: 5_000)
    #expect(send(descriptor, bytes, bytes.count, 0) == 5_000)
    close(descriptor)
    try await heard.wait { heard.isEnded.withLock { $0 } }
    #expect(heard.messages.withLock { $0.map(\.count) } == [MessageChannel.limit + 1])
  }

  @Test("one who does not read holds nobody up, and one who is gone is noticed")
  func deaf() throws {
    let (one, descriptor) = try MessageChannel.pair()
    var sent = 0
    while one.send([UInt8](repeating: 1, count: 1_000)), sent < 1_000_000 { sent += 1 }
    #expect(sent > 0 && sent < 1_000_000)
    close(descriptor)
    #expect(!one.send([1]))
  }

  @Test("another kind of descriptor, or none, is no channel")
  func others() throws {
    var pipes: [Int32] = [0, 0]
    try #require(pipe(&pipes) == 0)
    defer { for descriptor in pipes { close(descriptor) } }
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, 1, 0, &ends) == 0)
    defer { for descriptor in ends { close(descriptor) } }
    #expect(MessageChannel(inherited: pipes[0]) == nil)
    #expect(MessageChannel(inherited: ends[0]) == nil)
    #expect(MessageChannel(inherited: 12_345) == nil)
  }
}
