import Dispatch
import Glibc
import History
import Logging
import Settings
import Synchronization
import Transport

/// The process that this one takes over from, in a process that `UpgradeCoordinator` started: executes the actions of
/// `IncomingUpgrade`, on its own queue.
package final class UpgradeOrigin: @unchecked Sendable {
  // `@unchecked`: all state but the constants is touched on `queue` only, which `assertOnQueue` checks at each
  // entrance.

  /// Why this process does not take over.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// Tells a process that it takes over from the process with this id. It is not a setting, so no configuration
  /// contains it.
  private static let variable = "SUCCESSOR_OF_TIDEGATE"
  /// The interval between checks of time-outs, ms.
  private static let interval = 50

  /// The sockets that the other process listens on.
  package let sockets: [ServiceManager.KeptSocket]
  private let channel: MessageChannel
  private let queue = DispatchQueue(label: "tidegate.upgrade")
  private let kernel = SystemKernel.shared
  private var machine: IncomingUpgrade?
  private var timer: (any DispatchSourceTimer)?
  private var outcome: Result<Int, any Error>?
  private var waiting: CheckedContinuation<Int, any Error>?

  /// The variables for a process that takes over from this one.
  static func environment(_ own: [String: String]) -> [String: String] {
    ServiceManager.inheritable(own).merging([variable: "\(getpid())"]) { $1 }
  }

  /// Nil if the environment does not say that this process takes over from another.
  /// - Throws: if it says so, but that process did not start this one.
  package init?(environment: [String: String], parent: Int32 = getppid()) throws {
    guard let process = environment[Self.variable] else { return nil }
    // The channel, then the sockets of both ports.
    let descriptor = Program.firstDescriptor
    guard process == "\(parent)", let channel = MessageChannel(inherited: descriptor),
      Program.takeInherited(descriptor + 1), Program.takeInherited(descriptor + 2)
    else {
      throw Failure(description: "\(Self.variable) is set, but process \(process) did not start this one to take over")
    }
    self.channel = channel
    sockets = [
      .init(name: KeptPorts.Name.clients.rawValue, descriptor: descriptor + 1),
      .init(name: KeptPorts.Name.internal.rawValue, descriptor: descriptor + 2),
    ]
  }

  private func assertOnQueue() { dispatchPrecondition(condition: .onQueue(queue)) }

  // MARK: Preparation

  /// Checks in advance whether the configuration can be served: certificates, ports and the data file. Changes nothing.
  /// - Throws: an error with the reason.
  package func check(_ configuration: GatewayConfiguration) throws {
    if configuration.demo || !configuration.replay.isEmpty {
      throw Failure(description: "simulated and replayed markets are not taken over: restart the service")
    }
    if let server = configuration.tls { _ = try TLSServerContext(server) { _, _, _ in } }
    for (socket, address) in zip(sockets, [configuration.listen, configuration.internalListen])
    where !KeptPorts.fits(socket, address, kernel) {
      throw Failure(description: "the service does not listen on \(address.description) yet: restart it")
    }
    if let directory = configuration.data.directory {
      try HistoryKeeper.check(directory: directory, isSimulated: configuration.demo)
    }
  }

  /// Warms the feeds up, and waits until this process has the data file and the ports. Also returns the number of
  /// upgrades of the service.
  /// - Throws: why this process must end.
  package func warm(
    _ configuration: GatewayConfiguration, log: Logger
  ) async throws -> (feeds: WarmFeeds, number: Int) {
    let now = kernel.monotonicMicroseconds
    queue.sync {
      machine = IncomingUpgrade(
        required: configuration.readyFeeds, warmSeconds: configuration.upgradeWarmSeconds, now: now)
    }
    channel.start(on: queue) { [weak self] bytes in
      self?.perform { $0.received(UpgradeMessage(bytes)) }
    } ended: { [weak self] in
      self?.perform { $0.predecessorEnded() }
    }
    let feeds = try WarmFeeds(configuration, log: log) { [weak self] warmth in
      guard let self else { return }
      queue.async { self.perform { $0.feeds(warmth, now: self.kernel.monotonicMicroseconds) } }
    }
    let number = try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        waiting = continuation
        startTimer()
        deliver()
      }
    }
    return (feeds, number)
  }

  /// Tells the other process that this one accepts clients.
  package func serving() { channel.send(UpgradeMessage.serving.bytes) }

  /// Tells the other process that this one ends, for this reason.
  package func fail(_ reason: String) { channel.send(UpgradeMessage.failed(reason).bytes) }

  // MARK: The machine

  private func startTimer() {
    let source = DispatchSource.makeTimerSource(queue: queue)
    source.schedule(deadline: .now() + .milliseconds(Self.interval), repeating: .milliseconds(Self.interval))
    source.setEventHandler { @Sendable [weak self] in
      guard let self else { return }
      perform { $0.tick(now: self.kernel.monotonicMicroseconds) }
    }
    source.activate()
    timer = source
  }

  private func perform(_ step: (inout IncomingUpgrade) -> [IncomingUpgrade.Action]) {
    assertOnQueue()
    guard var current = machine else { return }
    let actions = step(&current)
    machine = current
    for action in actions {
      switch action {
      case .send(let message): channel.send(message.bytes)
      case .take(let number): end(.success(number))
      case .giveUp(let reason): end(.failure(Failure(description: reason)))
      }
    }
  }

  private func end(_ result: Result<Int, any Error>) {
    timer?.cancel()
    timer = nil
    outcome = outcome ?? result
    deliver()
  }

  private func deliver() {
    guard let outcome, let waiting else { return }
    self.waiting = nil
    waiting.resume(with: outcome)
  }
}
