import Glibc
import Synchronization

@testable import Transport

/// The machine's own sockets with a clock of the test's: time passes when the test says so.
final class ManualClock: Kernel {
  private let system = SystemKernel.shared
  private let time = Mutex(UInt64(1_000_000_000_000))

  /// A loop on this clock, which the test steps.
  func makeLoop(index: Int = 0) throws -> EventLoop {
    EventLoop(index: index, kernel: self, poller: try SystemPoller.make())
  }

  /// Lets `nanoseconds` pass, and gives `loop` its turns.
  func pass(_ nanoseconds: UInt64, _ loop: EventLoop) {
    time.withLock { $0 += nanoseconds }
    settle(loop)
  }

  /// Gives `loop` turns until nothing happens in some; loopback delivers within the sender's call.
  func settle(_ loop: EventLoop) {
    var quiet = 0
    while quiet < 3 { quiet = loop.step() ? 0 : quiet + 1 }
  }

  func uptime() -> UInt64 { time.withLock { $0 } }
  func wallMicroseconds() -> Int64 { Int64(uptime() / 1_000) }

  func fillRandom(_ buffer: UnsafeMutableRawBufferPointer) { system.fillRandom(buffer) }
  func socket(family: Int32) -> Int32 { system.socket(family: family) }
  func setOptions(_ descriptor: Int32, _ limits: Connection.Limits) { system.setOptions(descriptor, limits) }
  func takeError(_ descriptor: Int32) -> Int32 { system.takeError(descriptor) }
  func bind(_ descriptor: Int32, to address: KernelAddress) -> Int32 { system.bind(descriptor, to: address) }
  func sharePort(_ descriptor: Int32) -> Int32 { system.sharePort(descriptor) }
  func listen(_ descriptor: Int32, backlog: Int32) -> Int32 { system.listen(descriptor, backlog: backlog) }
  func hasWaiting(_ descriptor: Int32) -> Bool { system.hasWaiting(descriptor) }
  func localAddress(_ descriptor: Int32) -> KernelAddress { system.localAddress(descriptor) }
  func accept(_ descriptor: Int32) -> (descriptor: Int32, peer: KernelAddress) { system.accept(descriptor) }
  func connect(_ descriptor: Int32, to address: KernelAddress) -> Int32 { system.connect(descriptor, to: address) }
  func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    system.receive(descriptor, into: buffer)
  }
  func send(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    system.send(descriptor, bytes, count)
  }
  func send(_ descriptor: Int32, pieces: UnsafeMutableBufferPointer<iovec>) -> Int {
    system.send(descriptor, pieces: pieces)
  }
  func queuedBytes(_ descriptor: Int32) -> Int { system.queuedBytes(descriptor) }
  func endSending(_ descriptor: Int32) -> Int32 { system.endSending(descriptor) }
  func close(_ descriptor: Int32) { system.close(descriptor) }
  func openSpare() -> Int32 { system.openSpare() }
}
