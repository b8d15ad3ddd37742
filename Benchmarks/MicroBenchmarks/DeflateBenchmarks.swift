import Bytes
import TestSupport
import WebSocket

/// permessage-deflate: a message compressed, inflated, and shared by many clients.
enum DeflateBenchmarks {
  static var all: [MicroBenchmark] {
    [150, 500, 2_000].map { size in
      MicroBenchmark(name: "deflate: compress \(size) bytes of a book, level 1, 12 bits") { compress(size: size) }
    } + [
      MicroBenchmark(name: "deflate: compress 2,000 bytes of a book, level 1, 15 bits") {
        compress(size: 2_000, bits: 15)
      },
      MicroBenchmark(name: "deflate: inflate a message of 2,000 bytes, context lent") { inflate(takesOver: false) },
      MicroBenchmark(name: "deflate: inflate a message of 2,000 bytes, context kept") { inflate(takesOver: true) },
      MicroBenchmark(name: "deflate: share a compressed frame of 2,000 bytes, per client of 1,000") { share() },
    ]
  }

  /// Text like that of a book's update.
  private static func book(_ size: Int) -> [UInt8] {
    var random = SeededGenerator(seed: 21)
    var text =
      #"{"type":"update","channel":"book","symbol":"kraken:BTC-USD","stream":4,"prev":1,"seq":2,"data":{"bids":["#
    while text.utf8.count < size {
      text += #"["\#(Int.random(in: 63_900...64_100, using: &random)).\#(Int.random(in: 10...99, using: &random))","#
      text += #""0.\#(Int.random(in: 10_000_000...99_999_999, using: &random))"],"#
    }
    return Array(text.utf8.prefix(size))
  }

  private static func compress(size: Int, bits: Int = 12) -> PreparedBenchmark {
    let deflater = Deflater(level: 1, windowBits: bits)
    let payload = book(size)
    let sink = Buffer()
    return PreparedBenchmark(bytes: size * MicroBenchmark.batch) {
      var total = 0
      for _ in 0..<MicroBenchmark.batch {
        sink.bytes.removeAll()
        payload.withUnsafeBytes { deflater.append($0, to: &sink.bytes) }
        total &+= sink.bytes.count
      }
      return total
    }
  }

  private final class Connection {
    var state: WebSocketConnection
    init(_ deflate: PerMessageDeflate) {
      state = WebSocketConnection(role: .client, deflate: deflate, inflaters: InflaterPool())
    }
  }

  private static func inflate(takesOver: Bool) -> PreparedBenchmark {
    let agreed = PerMessageDeflate(serverNoContextTakeover: !takesOver, serverMaxWindowBits: 12)
    let connection = Connection(agreed)
    // Each message alone, which a context that is kept reads as well.
    let wire = Buffer()
    let payload = book(2_000)
    payload.withUnsafeBytes {
      WebSocketFrame.append(.text, payload: $0, mask: nil, deflater: Deflater(windowBits: 12), to: &wire.bytes)
    }
    return PreparedBenchmark(bytes: 2_000 * MicroBenchmark.batch) {
      var total = 0
      for _ in 0..<MicroBenchmark.batch {
        var input = wire.bytes.unsafeMutableBytes
        do {
          while let event = try connection.state.next(&input) {
            if case .text(let payload) = event { total &+= payload.count }
          }
        } catch { total = -1 }
      }
      precondition(total == 2_000 * MicroBenchmark.batch, "a message was not read")
      return total
    }
  }

  private final class Shared {
    var frame = SharedBytes([])
  }

  private static func share() -> PreparedBenchmark {
    let compressor = FrameCompressor()
    let encoded = Buffer()
    book(2_000).withUnsafeBytes { WebSocketFrame.append(.text, payload: $0, mask: nil, to: &encoded.bytes) }
    let shared = Shared()
    return PreparedBenchmark(
      bytes: 2_000 * MicroBenchmark.batch,
      reset: { shared.frame = SharedBytes(encoded.bytes.unsafeBytes) },
      run: {
        var total = 0
        for _ in 0..<MicroBenchmark.batch { total &+= compressor.compressed(shared.frame).count }
        return total
      })
  }
}
