import Bytes
import Dispatch
import Glibc
import Logging
import Operations
import Settings
import Synchronization
import Transport

/// Replaces this process with another one of the same service on an operator's request: executes the actions of
/// `OutgoingUpgrade`, on its own queue.
package final class UpgradeCoordinator: @unchecked Sendable {
  // `@unchecked`: all state but the constants and `shared` is touched on `queue` only, which `assertOnQueue` checks at
  // each entrance.

  /// The steps that the rest of the process performs for the desk.
  package struct Hooks: Sendable {
    /// `Gateway.handOver`, and closing everything else that only one process may have open.
    package var handOver: @Sendable (@escaping @Sendable () -> Void) -> Void
    /// The next process serves: send the clients to it and end.
    package var leave: @Sendable (_ process: Int32) -> Void
    /// End with a failure.
    package var giveUp: @Sendable () -> Void

    package init(
      handOver: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
      leave: @escaping @Sendable (_ process: Int32) -> Void, giveUp: @escaping @Sendable () -> Void
    ) {
      (self.handOver, self.leave, self.giveUp) = (handOver, leave, giveUp)
    }
  }

  private struct Child {
    let process: ChildProcess
    let channel: MessageChannel
    /// When to stop asking how it ended.
    var reapUntil: Int64?
  }

  /// The interval between checks of time-outs and children, ms.
  private static let interval = 50
  /// How long a child that has closed its channel may take to end, µs.
  private static let endLimit: Int64 = 2_000_000

  private unowned let gateway: Gateway
  private let program: Program?
  private let environment: [String: String]
  private let hooks: Hooks
  private let log: Logger
  private let kernel: any Kernel
  private let queue = DispatchQueue(label: "tidegate.upgrade")
  private let shared: Mutex<UpgradeReport>
  private var machine: OutgoingUpgrade
  private var child: Child?
  private var timer: (any DispatchSourceTimer)?

  /// - Parameters:
  ///   - gateway: outlives the desk.
  ///   - program: the program to start; nil: the system does not report the path of this program.
  ///   - environment: the environment of the next process, without the variables that mark it as one.
  ///   - number: the number of the upgrade that started this process; 0: none.
  package init(
    _ gateway: Gateway, program: Program?, environment: [String: String], number: Int, log: Logger, hooks: Hooks
  ) {
    self.gateway = gateway
    self.program = program
    self.environment = environment
    self.hooks = hooks
    self.log = log
    kernel = gateway.loops[0].kernel
    machine = OutgoingUpgrade(number: number)
    shared = Mutex(UpgradeReport(number: number))
  }

  private func assertOnQueue() { dispatchPrecondition(condition: .onQueue(queue)) }

  var report: UpgradeReport { shared.withLock { $0 } }

  // MARK: Requests of operators

  /// Begins an upgrade. `reply` gets the reason if none can begin, on the desk's queue.
  package func request(_ reply: @escaping @Sendable (_ refusal: String?) -> Void) {
    queue.async { [self] in
      if let obstacle {
        log.warning("upgrade refused", metadata: ["reason": "\(obstacle)"])
        return reply(obstacle)
      }
      do throws(OutgoingUpgrade.UpgradeRefusal) {
        let actions = try machine.request(warmSeconds: gateway.current.upgradeWarmSeconds, now: moment)
        reply(nil)
        perform(actions)
      } catch {
        log.warning("upgrade refused", metadata: ["reason": "\(error.reason)"])
        reply(error.reason)
      }
    }
  }

  /// Why this process cannot be replaced by another at all.
  private var obstacle: String? {
    let configuration = gateway.configuration
    if configuration.demo { return "the simulated exchanges are inside this process, and would end with it" }
    if !configuration.replay.isEmpty { return "recordings are replayed, and would begin again" }
    // A container ends with its first process, whatever else runs in it.
    if getpid() == 1 { return "this is the first process of its container: start a new container and end this one" }
    return program == nil ? "the system does not report the path of this program" : nil
  }

  /// Call when this process ends for another reason; waits for the end of a next process that does not serve yet.
  package func processEnds() {
    queue.sync { perform(machine.processEnds()) }
  }

  // MARK: Actions

  private var moment: Int64 { kernel.monotonicMicroseconds }

  private func perform(_ actions: [OutgoingUpgrade.Action]) {
    assertOnQueue()
    let fields = fields
    for action in actions {
      switch action {
      case .start: start()
      case .send(let message): child?.channel.send(message.bytes)
      case .handOver:
        log.notice("the next process is ready and takes over", metadata: fields)
        hooks.handOver { [self] in
          queue.async { [self] in perform(machine.handedOver(now: moment)) }
        }
      case .leave:
        log.notice("the next process serves: clients are sent to it", metadata: fields)
        shared.withLock { $0.number += 1 }
        hooks.leave(child?.process.id ?? 0)
      case .endSuccessor: endSuccessor()
      case .goOn(let reason):
        log.error(
          "the upgrade failed; this process continues to serve",
          metadata: fields.merging(["reason": "\(reason)"]) { $1 })
        note(failure: reason)
      case .giveUp(let reason):
        log.critical(
          "the upgrade failed after the data file was handed over; this process ends",
          metadata: fields.merging(["reason": "\(reason)"]) { $1 })
        note(failure: reason)
        hooks.giveUp()
      }
    }
    let (phase, warmth, process) = (machine.phase, machine.warmth, child?.process.id)
    shared.withLock { ($0.phase, $0.warmth, $0.successor) = (phase, warmth, process) }
    watch()
  }

  private var fields: Logger.Metadata { child.map { ["process": "\($0.process.id)"] } ?? [:] }

  private func note(failure reason: String) {
    let time = kernel.wallMicroseconds()
    shared.withLock { report in
      report.failed += 1
      report.failure = (reason, time)
    }
  }

  // MARK: The next process

  private func start() {
    gateway.copySockets { [self] sockets in
      queue.async { [self] in
        defer { for socket in sockets ?? [] { kernel.close(socket) } }
        guard machine.phase == .warming, child == nil else { return }
        guard let sockets, let program else { return perform(machine.couldNotStart("the ports are closed")) }
        do throws(TransportError) {
          try spawn(program, sockets)
        } catch {
          perform(machine.couldNotStart(error.description))
        }
      }
    }
  }

  private func spawn(_ program: Program, _ sockets: [Int32]) throws(TransportError) {
    let (channel, end) = try MessageChannel.pair()
    defer { kernel.close(end) }
    let copy = Program.copy(end)
    guard copy >= 0 else { throw .system(call: "fcntl", errno: -copy) }
    defer { kernel.close(copy) }
    let process = try program.start(
      environment: UpgradeOrigin.environment(environment), descriptors: [copy] + sockets)
    log.notice(
      "an upgrade begins: the next process warms up",
      metadata: ["process": "\(process.id)", "program": "\(program.path)"])
    child = Child(process: process, channel: channel)
    channel.start(on: queue) { [weak self] bytes in
      guard let self, child?.process == process else { return }
      perform(machine.received(UpgradeMessage(bytes), now: moment))
    } ended: { [weak self] in
      guard let self, child?.process == process else { return }
      // It ends now, or stays silent: either way it does not take over.
      child?.reapUntil = moment + Self.endLimit
      reap()
    }
    watch()
  }

  /// Reads the exit status of a child whose channel is closed.
  private func reap() {
    guard let current = child, let limit = current.reapUntil else { return }
    let end = current.process.end()
    guard end != nil || moment >= limit else { return }
    if end == nil { waitForEnd(of: current.process) }
    current.channel.close()
    child = nil
    perform(machine.successorEnded(end?.description ?? "it no longer answers"))
  }

  private func endSuccessor() {
    guard let current = child else { return }
    child = nil
    current.channel.close()
    waitForEnd(of: current.process)
  }

  /// Ends a child; the kernel does so within moments.
  private func waitForEnd(of process: ChildProcess) {
    process.kill()
    for _ in 0..<1_000 where process.end() == nil { usleep(1_000) }
  }

  /// Runs the timer while there is a child or an upgrade.
  private func watch() {
    let isNeeded = child != nil || machine.phase != .idle && machine.phase != .ended && machine.phase != .leaving
    if isNeeded, timer == nil {
      let source = DispatchSource.makeTimerSource(queue: queue)
      source.schedule(deadline: .now() + .milliseconds(Self.interval), repeating: .milliseconds(Self.interval))
      source.setEventHandler { @Sendable [weak self] in
        guard let self else { return }
        reap()
        let actions = machine.tick(now: moment)
        if !actions.isEmpty { perform(actions) }
      }
      source.activate()
      timer = source
    } else if !isNeeded {
      timer?.cancel()
      timer = nil
    }
  }
}
