import Bytes
import MarketData
import TestSupport
import Testing

@testable import PubSub

@Suite("A turn's frames as bundles")
struct TurnBundlesTests {
  private static func frame(_ stream: UInt32, _ seq: UInt64, bytes: Int = 4) -> StreamFrame {
    StreamFrame(
      stream: StreamID(rawValue: stream), kind: .update, prev: seq - 1, seq: seq, events: 1,
      bytes: SharedBytes((0..<bytes).map { UInt8(truncatingIfNeeded: Int(stream) &* 31 &+ Int(seq) &+ $0) }))
  }

  @Test(
    "every client has the frames of its streams in order, whatever the runs and their number", arguments: testSeeds(20))
  func likeLists(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var bundles = TurnBundles(bytesLimit: 200)
    for turn in 0..<4 {
      var numbers = Array(repeating: TurnBundles.empty, count: 30)
      var expected: [[UInt8]] = Array(repeating: [], count: 30)
      var frames = Array(repeating: 0, count: 30)
      for run in 0..<12 {
        let stream = UInt32.random(in: 1...5, using: &random)
        let time = Timestamp(microseconds: Int64(run))
        let made = (0..<Int.random(in: 1...3, using: &random)).map {
          Self.frame(stream, UInt64(run * 3 + $0 + 1), bytes: Int.random(in: 1...20, using: &random))
        }
        bundles.begin(made, time: time)
        for client in 0..<30 where (client + turn) % 5 != Int(stream) - 1 {
          let next = bundles.advance(numbers[client])
          let bytes = made.flatMap { Array($0.bytes.unsafeBytes) }
          let isTooLarge = frames[client] + made.count > 1 && expected[client].count + bytes.count > 200
          #expect((next == TurnBundles.empty) == isTooLarge, "seed \(seed)")
          if next == TurnBundles.empty { continue }
          numbers[client] = next
          expected[client] += bytes
          frames[client] += made.count
        }
      }
      for client in 0..<30 {
        #expect(Array(bundles.bytes(of: numbers[client])) == expected[client], "seed \(seed)")
        #expect(bundles.frameCount(of: numbers[client]) == frames[client], "seed \(seed)")
        #expect(bundles.byteCount(of: numbers[client]) == expected[client].count, "seed \(seed)")
        var listed: [UInt8] = []
        bundles.forEachFrame(of: numbers[client]) { frame, _ in listed += Array(frame.bytes.unsafeBytes) }
        #expect(listed == expected[client], "seed \(seed)")
      }
      bundles.removeAll()
      #expect(bundles.count == 1)
    }
  }

  @Test("clients with the same runs share one bundle and one copy of its bytes")
  func shared() {
    var bundles = TurnBundles(bytesLimit: 1 << 15)
    var numbers = Array(repeating: TurnBundles.empty, count: 1_000)
    for run in 1...16 {
      bundles.begin([Self.frame(1, UInt64(run))], time: .distantPast)
      for client in numbers.indices { numbers[client] = bundles.advance(numbers[client]) }
    }
    #expect(Set(numbers).count == 1)
    #expect(bundles.count == 17)
    #expect(bundles.sharedBytes(of: numbers[0]) === bundles.sharedBytes(of: numbers[999]))
    #expect(bundles.sharedBytes(of: numbers[0]).count == 64)
  }

  @Test("a single frame is given whatever its size, and not copied")
  func large() {
    var bundles = TurnBundles(bytesLimit: 100)
    let frame = Self.frame(1, 1, bytes: 5_000)
    bundles.begin([frame], time: .distantPast)
    let number = bundles.advance(TurnBundles.empty)
    #expect(bundles.bytes(of: number).baseAddress == frame.bytes.unsafeBytes.baseAddress)
    bundles.begin([Self.frame(2, 1)], time: .distantPast)
    #expect(bundles.advance(number) == TurnBundles.empty)
  }

  @Test("the compressed form is made once for all, and says what it has saved")
  func compressed() {
    var bundles = TurnBundles(bytesLimit: 1_000)
    bundles.begin([Self.frame(1, 1, bytes: 40), Self.frame(1, 2, bytes: 6)], time: .distantPast)
    let number = bundles.advance(TurnBundles.empty)
    var made = 0
    let form: (SharedBytes) -> SharedBytes = { frame in
      made += 1
      return frame.count > 10 ? SharedBytes(Array(repeating: 7, count: 10)) : frame
    }
    let first = bundles.compressedBytes(of: number, form)
    let second = bundles.compressedBytes(of: number, form)
    #expect(made == 2)
    #expect(first.bytes === second.bytes && first.bytes.count == 16)
    #expect(first.isFirst && !second.isFirst)
    #expect(second.compressedFrames == 1 && second.bytesBefore == 40 && second.bytesAfter == 10)
  }
}
