import Dispatch
import Glibc
import TestTraits
import Testing

@testable import Transport

@Suite("Connector", .realTime)
struct ConnectorTests {
  /// An address on loopback that refuses: taken, so that nobody else can have it, but not listened on.
  final class RefusingAddress {
    private let descriptor: Int32
    let address: SocketAddress

    init() throws {
      descriptor = try SystemKernel.shared.makeSocket(family: AF_INET)
      let any = try #require(KernelAddress(host: "127.0.0.1", port: 0))
      let descriptor = descriptor
      try #require(any.withPointer { bind(descriptor, $0, any.length) } == 0)
      address = KernelAddress { getsockname(descriptor, $0, $1) }.socketAddress
    }

    deinit { Glibc.close(descriptor) }
  }

  /// Connects with a resolver that gives `addresses`.
  func connect(
    _ loop: EventLoop, addresses: [SocketAddress], timeout: Duration = .seconds(60)
  ) -> Result<SocketAddress, TransportError>? {
    let kernelAddresses = addresses.compactMap { KernelAddress(host: $0.host, port: $0.port) }
    let result = Box<Result<SocketAddress, TransportError>?>(nil)
    waitFor("the completion") { done in
      loop.execute {
        _ = Connector.connect(
          host: "venue.test", port: 1, tls: nil, loop: loop, timeout: timeout,
          resolve: { _, _, completion in completion(.success(kernelAddresses)) }, handler: Probe()
        ) { outcome in
          result.set(outcome.map(\.peer))
          done()
        }
      }
    }
    return result.value
  }

  @Test("a refused connection names host, port and reason")
  func refused() throws {
    try withLoops { loops in
      let refusing = try RefusingAddress()
      let address = refusing.address
      let result = failure(loops[0], address)
      #expect(result == .connectFailed(host: "127.0.0.1", port: address.port, reason: "Connection refused"))
      #expect(result?.description == "cannot connect to 127.0.0.1 port \(address.port): Connection refused")
    }
  }

  private func failure(_ loop: EventLoop, _ address: SocketAddress) -> TransportError? {
    guard case .failure(let error) = TransportTests.connect(loop, to: address, probe: Probe()) else { return nil }
    return error
  }

  @Test("a name that does not resolve is named")
  func unresolvable() throws {
    try withLoops { loops in
      // `.invalid` never resolves (RFC 6761 §6.4).
      let address = SocketAddress(host: "127.0.0.1", port: 1)
      guard
        case .failure(.resolution(let host, let reason)) = TransportTests.connect(
          loops[0], to: address, host: "nowhere.invalid", probe: Probe())
      else {
        Issue.record("it resolved")
        return
      }
      #expect(host == "nowhere.invalid")
      #expect(!reason.isEmpty)
    }
  }

  @Test("the second address is used where the first refuses")
  func secondAddress() throws {
    try withLoops { loops in
      let listener = try echoListener(loops)
      let refusing = try RefusingAddress()
      #expect(try connect(loops[0], addresses: [refusing.address, listener.address])?.get() == listener.address)
    }
  }

  /// A listening socket whose queue is full: further connections get no answer.
  private final class SilentAddress {
    let listening: Int32
    let address: SocketAddress
    private var fillers: [Int32] = []

    init() throws {
      listening = try SystemKernel.shared.makeSocket(family: AF_INET)
      let any = try #require(KernelAddress(host: "127.0.0.1", port: 0))
      let descriptor = listening
      try #require(any.withPointer { bind(descriptor, $0, any.length) } == 0)
      try #require(listen(descriptor, 0) == 0)
      address = KernelAddress { getsockname(descriptor, $0, $1) }.socketAddress
      let target = try #require(KernelAddress(host: address.host, port: address.port))
      for _ in 0..<8 {
        let filler = try SystemKernel.shared.makeSocket(family: AF_INET)
        _ = target.withPointer { Glibc.connect(filler, $0, target.length) }
        fillers.append(filler)
      }
    }

    deinit {
      for filler in fillers { Glibc.close(filler) }
      Glibc.close(listening)
    }
  }

  @Test("an address that does not answer makes room for the next")
  func slowAddress() throws {
    try withLoops { loops in
      let silent = try SilentAddress()
      let listener = try echoListener(loops)
      let result = connect(loops[0], addresses: [silent.address, listener.address])
      #expect(try result?.get() == listener.address)
    }
  }

  @Test("nobody answering ends with the time-out, which names the host")
  func timeout() throws {
    try withLoops { loops in
      let silent = try SilentAddress()
      guard case .failure(let error)? = connect(loops[0], addresses: [silent.address], timeout: .milliseconds(50))
      else {
        Issue.record("it connected")
        return
      }
      #expect(error == .connectTimeout(host: "venue.test"))
    }
  }

  @Test("the time-out covers the name look-up")
  func resolverTimeout() throws {
    try withLoops { loops in
      let loop = loops[0]
      let result = Box<TransportError?>(nil)
      waitFor("the completion") { done in
        loop.execute {
          _ = Connector.connect(
            host: "venue.test", port: 1, tls: nil, loop: loop, timeout: .milliseconds(20), resolve: { _, _, _ in },
            handler: Probe()
          ) { outcome in
            if case .failure(let error) = outcome { result.set(error) }
            done()
          }
        }
      }
      #expect(result.value == .connectTimeout(host: "venue.test"))
    }
  }

  @Test("a cancelled attempt says nothing and leaves nothing open")
  func cancel() throws {
    try withLoops { loops in
      let loop = loops[0]
      let silent = try SilentAddress()
      let address = silent.address
      let isCalled = Box(false)
      waitFor("the time in which it would have been called") { done in
        loop.execute {
          let attempt = Connector.connect(
            host: address.host, port: address.port, tls: nil, loop: loop, timeout: .milliseconds(20), handler: Probe()
          ) { _ in isCalled.set(true) }
          loop.schedule(after: .milliseconds(5)) {
            attempt.cancel()
            loop.schedule(after: .milliseconds(30), done)
          }
        }
      }
      #expect(!isCalled.value)
      #expect(on(loop) { loop.table.count } == 0)
    }
  }
}
