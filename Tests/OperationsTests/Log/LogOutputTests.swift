import Foundation
import TestTraits
import Testing

@testable import Operations

@Suite("Log output", .realTime)
struct LogOutputTests {
  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    try #require(Foundation.pipe(&ends) == 0)
    _ = signal(SIGPIPE, SIG_IGN)
    return (ends[0], ends[1])
  }

  private static func readAll(_ descriptor: Int32) -> String {
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while case let count = read(descriptor, &chunk, chunk.count), count > 0 { all += chunk[..<count] }
    return String(decoding: all, as: UTF8.self)
  }

  @Test("a reader that does not read costs lines, not time; it is told how many, and the others are whole and in order")
  func stuckReader() async throws {
    let (reader, writer) = try Self.pipe()
    let output = LogOutput(descriptor: writer)
    let line = String(repeating: "x", count: 990)
    let count = 4_000
    let start = ContinuousClock.now
    for number in 0..<count { output.write("n=\(number) \(line)\n") }
    // A write that waited for the reader would never come back.
    #expect(ContinuousClock.now - start < .seconds(30))
    let reading = Task.detached { Self.readAll(reader) }
    output.flush(milliseconds: 60_000)
    close(writer)
    let lines = await reading.value.split(separator: "\n").map(String.init)
    close(reader)
    let numbers = lines.compactMap { line in
      line.hasPrefix("n=") ? Int(line.dropFirst(2).prefix { $0 != " " }) : nil
    }
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "in their order")
    #expect((LogOutput.limit / 1_000..<count).contains(numbers.count))
    // The pipe itself takes some while the lines come, so that there may be more than one gap.
    let losses = lines.filter { $0.contains("were lost") }.compactMap {
      $0.split(separator: "lines=").last.flatMap { Int($0) }
    }
    #expect(!losses.isEmpty && losses.reduce(0, +) == count - numbers.count, "\(losses)")
  }

  @Test("a line is out when the call comes back, where the reader keeps up")
  func atOnce() throws {
    let (reader, writer) = try Self.pipe()
    let output = LogOutput(descriptor: writer)
    output.write("one\n")
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(read(reader, &bytes, bytes.count) == 4)
    close(writer)
    close(reader)
  }

  @Test("a reader that is gone stops nothing")
  func goneReader() throws {
    let (reader, writer) = try Self.pipe()
    close(reader)
    let output = LogOutput(descriptor: writer)
    for _ in 0..<3_000 { output.write(String(repeating: "y", count: 999) + "\n") }
    output.flush(milliseconds: 60_000)
    close(writer)
  }
}
