import Bytes
import Dispatch
import Glibc
import Synchronization
import Testing

@testable import Transport

/// Loops that are shut down when the test is over.
func withLoops<Result>(_ count: Int = 1, _ body: ([EventLoop]) throws -> Result) throws -> Result {
  let loops = try (0..<count).map { try EventLoop(index: $0, label: "test.\($0)") }
  defer { for loop in loops { waitFor("shutdown") { done in loop.shutdown(done) } } }
  return try body(loops)
}

/// Far more than anything here takes: only a hang reaches it.
let patience: DispatchTimeInterval = .seconds(60)

/// Runs `start` and waits until it calls what it is given.
func waitFor(
  _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ start: (@escaping @Sendable () -> Void) -> Void
) {
  let semaphore = DispatchSemaphore(value: 0)
  start { semaphore.signal() }
  if semaphore.wait(timeout: .now() + patience) == .timedOut {
    Issue.record("\(what) did not happen", sourceLocation: sourceLocation)
  }
}

/// Runs `body` on the loop and gives back its result.
func on<Value: Sendable>(_ loop: EventLoop, _ body: @escaping @Sendable () -> Value) -> Value {
  let semaphore = DispatchSemaphore(value: 0)
  let box = Box<Value?>(nil)
  loop.execute {
    box.set(body())
    semaphore.signal()
  }
  if semaphore.wait(timeout: .now() + patience) == .timedOut { fatalError("the loop does not answer") }
  return box.value!
}

/// A value behind a lock.
final class Box<Value: Sendable>: Sendable {
  private let storage: Mutex<Value>
  init(_ value: Value) { storage = Mutex(value) }
  var value: Value { storage.withLock { $0 } }
  func set(_ value: Value) { storage.withLock { $0 = value } }
  func update(_ body: (inout sending Value) -> Void) { storage.withLock { body(&$0) } }
}

/// A handler made of closures, and what it saw.
final class Probe: ConnectionHandler, @unchecked Sendable {
  // `@unchecked`: the closures are set before the connection is made and called on its loop; the rest has locks.
  let received = Box<[UInt8]>([])
  let receivedCount = Box(0)
  let closeReason = Box<CloseReason?>(nil)
  let closed = DispatchSemaphore(value: 0)
  let drained = DispatchSemaphore(value: 0)
  var keepsBytes = true
  var onReceive: ((Connection, UnsafeMutableRawBufferPointer) -> Void)?
  var onDrain: ((Connection) -> Void)?
  var onClose: ((Connection, CloseReason) -> Void)?
  /// On the loop only.
  var connection: Connection?
  private let waiters = Mutex<[(Int, DispatchSemaphore)]>([])

  func connection(_ connection: Connection, didReceive bytes: UnsafeMutableRawBufferPointer) {
    if keepsBytes { received.update { $0.append(contentsOf: bytes) } }
    receivedCount.update { $0 += bytes.count }
    onReceive?(connection, bytes)
    let count = receivedCount.value
    waiters.withLock { waiters in
      for (wanted, semaphore) in waiters where wanted <= count { semaphore.signal() }
      waiters.removeAll { $0.0 <= count }
    }
  }

  func connectionDidDrain(_ connection: Connection) {
    onDrain?(connection)
    drained.signal()
  }

  func connectionDidClose(_ connection: Connection, reason: CloseReason) {
    closeReason.set(reason)
    onClose?(connection, reason)
    self.connection = nil
    closed.signal()
  }

  /// Waits until `count` bytes in all have been received.
  func waitForBytes(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    let semaphore = DispatchSemaphore(value: 0)
    waiters.withLock { $0.append((count, semaphore)) }
    if receivedCount.value >= count { return }
    if semaphore.wait(timeout: .now() + patience) == .timedOut {
      Issue.record("\(receivedCount.value) of \(count) bytes came", sourceLocation: sourceLocation)
    }
  }

  func waitForClose(sourceLocation: SourceLocation = #_sourceLocation) -> CloseReason? {
    if closed.wait(timeout: .now() + patience) == .timedOut {
      Issue.record("the connection was not closed", sourceLocation: sourceLocation)
    }
    return closeReason.value
  }
}

/// A listener whose connections all echo.
func echoListener(
  _ loops: [EventLoop], tls: TLSServerContext? = nil, limits: Connection.Limits = .init()
) throws -> Listener {
  try listener(loops, tls: tls, limits: limits) { _ in
    let probe = Probe()
    probe.keepsBytes = false
    probe.onReceive = { connection, bytes in connection.write(UnsafeRawBufferPointer(bytes).bytes) }
    return probe
  }
}

func listener(
  _ loops: [EventLoop], tls: TLSServerContext? = nil, limits: Connection.Limits = .init(), host: String = "127.0.0.1",
  _ accept: @escaping @Sendable (Connection) -> (any ConnectionHandler)?
) throws -> Listener {
  try Listener(address: SocketAddress(host: host, port: 0), loops: loops, tls: tls, limits: limits, accept: accept)
}

/// Connects and waits for the result; the probe has its connection then.
@discardableResult
func connect(
  _ loop: EventLoop, to address: SocketAddress, host: String? = nil, tls: TLSClientContext? = nil,
  limits: Connection.Limits = .init(), timeout: Duration = .seconds(60), probe: Probe
) -> Result<Void, TransportError> {
  let semaphore = DispatchSemaphore(value: 0)
  let result = Box<Result<Void, TransportError>?>(nil)
  let name = host ?? address.host
  loop.execute {
    Connector.connect(
      host: name, port: address.port, tls: tls, loop: loop, limits: limits, timeout: timeout, handler: probe
    ) { outcome in
      switch outcome {
      case .success(let connection):
        probe.connection = connection
        result.set(.success(()))
      case .failure(let error): result.set(.failure(error))
      }
      semaphore.signal()
    }
  }
  if semaphore.wait(timeout: .now() + patience) == .timedOut { Issue.record("the connector does not answer") }
  return result.value ?? .failure(.connectTimeout(host: name))
}

/// A blocking socket of the test's own, for peers that behave as the house's own connections do not.
struct RawSocket: ~Copyable {
  let descriptor: Int32

  init(connectedTo address: SocketAddress) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let kernelAddress = try #require(KernelAddress(host: address.host, port: address.port))
    let status = kernelAddress.withPointer { Glibc.connect(descriptor, $0, kernelAddress.length) }
    try #require(status == 0)
    var timeout = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { Glibc.close(descriptor) }

  func send(_ bytes: [UInt8]) { _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
  func endStream() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Reads until `count` bytes are there, or the end.
  func receive(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let taken = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + filled, count - filled, 0) }
      if taken <= 0 { break }
      filled += taken
    }
    return Array(bytes[..<filled])
  }
}
