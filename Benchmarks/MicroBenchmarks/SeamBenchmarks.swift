import Glibc
import MarketData
import PubSub
import Transport

/// What stands in the hot path for the sake of something else: the kernel behind a protocol, so that a simulation can
/// take its place, and the messages that are kept for clients that come back.
enum SeamBenchmarks {
  static var all: [SeamBenchmark] {
    [
      SeamBenchmark(
        name: "kernel: read the clock",
        with: {
          let kernel = OpenKernel.shared
          return PreparedBenchmark { clock { kernel.kernel.uptime() } }
        },
        without: {
          PreparedBenchmark {
            clock {
              var time = timespec()
              clock_gettime(CLOCK_MONOTONIC, &time)
              return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
            }
          }
        }),
      SeamBenchmark(
        name: "kernel: send 300 bytes to a socket",
        with: {
          let pair = try SocketPair()
          let kernel = OpenKernel.shared
          return PreparedBenchmark(bytes: 300 * MicroBenchmark.batch) {
            pair.send { kernel.kernel.send(pair.sender, $0, $1) }
          }
        },
        without: {
          let pair = try SocketPair()
          return PreparedBenchmark(bytes: 300 * MicroBenchmark.batch) {
            pair.send { Glibc.send(pair.sender, $0, $1, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) }
          }
        }),
      publisher("rings: apply and encode a trade", StreamKey(channel: .trades, symbol: MarketBench.symbol)) {
        $0.trade(step: $1)
      },
      publisher(
        "rings: apply and encode a book delta of 20 levels, depth 25",
        StreamKey(channel: .book, symbol: MarketBench.symbol, depth: 25)
      ) { $0.book(step: $1) },
    ]
  }

  private static func clock(_ read: () -> UInt64) -> Int {
    var sum: UInt64 = 0
    for _ in 0..<MicroBenchmark.batch { sum &+= read() }
    return Int(truncatingIfNeeded: sum)
  }

  private static func publisher(
    _ name: String, _ key: StreamKey, _ change: @escaping @Sendable (MarketBench, Int64) -> Void
  ) -> SeamBenchmark {
    let make: @Sendable (Bool) -> PreparedBenchmark = { remembers in
      let bench = PublisherBench(key, remembers: remembers)
      let steps = PublisherBenchmarks.steps
      return PreparedBenchmark {
        var bytes = 0
        for step in steps {
          change(bench.market, step)
          bytes &+= bench.publish()
        }
        return bytes
      }
    }
    return SeamBenchmark(name: name, with: { make(true) }, without: { make(false) })
  }
}

/// The kernel as loops hold it: behind its protocol, in a property that the compiler cannot see through.
final class OpenKernel: Sendable {
  static let shared = OpenKernel(SystemKernel.shared)
  let kernel: any Kernel
  @inline(never)
  private init(_ kernel: any Kernel) { self.kernel = kernel }
}

/// A TCP connection to itself on loopback.
final class SocketPair: Sendable {
  let sender: Int32
  let receiver: Int32
  /// Sends between two receives: what they bring fits into any socket's buffers.
  private static let burst = 50

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    sender = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let sending = sender
    let isConnected = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, $0, &length) == 0
          && connect(sending, $0, length) == 0
      }
    }
    receiver = accept(listener, nil, nil)
    close(listener)
    guard isConnected, receiver >= 0 else { throw BenchmarkUnavailable("no TCP connection on loopback") }
    var one: Int32 = 1
    setsockopt(sender, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit {
    close(sender)
    close(receiver)
  }

  /// A batch of sends of 300 bytes, received in between.
  @inline(__always)
  func send(_ body: (UnsafeRawPointer, Int) -> Int) -> Int {
    withUnsafeTemporaryAllocation(byteCount: 300 * Self.burst, alignment: 16) { buffer in
      var sent = 0
      for number in 1...MicroBenchmark.batch {
        sent &+= body(buffer.baseAddress!, 300)
        guard number % Self.burst == 0 else { continue }
        var left = 300 * Self.burst
        while left > 0 {
          let count = recv(receiver, buffer.baseAddress, left, 0)
          guard count > 0 else { return -1 }
          left -= count
        }
      }
      return sent
    }
  }
}
