import Dispatch
import Foundation
import TestTraits
import Testing

@testable import Transport

@Suite("EventLoop", .realTime)
struct EventLoopTests {
  @Test("what many threads submit runs once each, in the order of its thread")
  func mailboxOrder() throws {
    try withLoops { loops in
      let loop = loops[0]
      let threads = 4
      let each = 5_000
      let seen = Box([[Int]](repeating: [], count: threads))
      let done = DispatchGroup()
      for thread in 0..<threads {
        done.enter()
        Thread.detachNewThread {
          for number in 0..<each { loop.execute { seen.update { $0[thread].append(number) } } }
          loop.execute { done.leave() }
        }
      }
      #expect(done.wait(timeout: .now() + patience) == .success)
      for thread in 0..<threads { #expect(seen.value[thread] == Array(0..<each)) }
    }
  }

  @Test("a task may submit another, which runs in a later turn")
  func nestedTasks() throws {
    try withLoops { loops in
      let loop = loops[0]
      let order = Box<[String]>([])
      waitFor("the inner task") { done in
        loop.execute {
          loop.execute {
            order.update { $0.append("inner") }
            done()
          }
          order.update { $0.append("outer") }
        }
      }
      #expect(order.value == ["outer", "inner"])
    }
  }

  @Test("timers run in the order of their time, and equal ones in the order they were set")
  func timerOrder() throws {
    try withLoops { loops in
      let loop = loops[0]
      let order = Box<[Int]>([])
      waitFor("the last timer") { done in
        loop.execute {
          loop.schedule(after: .milliseconds(30)) {
            order.update { $0.append(4) }
            done()
          }
          loop.schedule(after: .milliseconds(10)) { order.update { $0.append(1) } }
          loop.schedule(after: .milliseconds(20)) { order.update { $0.append(3) } }
          loop.schedule(after: .milliseconds(10)) { order.update { $0.append(2) } }
          loop.schedule(after: .zero) { order.update { $0.append(0) } }
        }
      }
      #expect(order.value == [0, 1, 2, 3, 4])
    }
  }

  @Test("a timer runs on a loop that has gone idle")
  func timerAfterIdle() throws {
    try withLoops { loops in
      let loop = loops[0]
      let start = on(loop) { loop.uptime }
      let end = Box<UInt64>(0)
      waitFor("the timer") { done in
        // Far beyond the time the loop lingers.
        loop.execute {
          loop.schedule(after: .milliseconds(60)) {
            end.set(loop.uptime)
            done()
          }
        }
      }
      #expect(end.value - start >= 60_000_000)
    }
  }

  @Test("a cancelled timer does not run, whoever cancels it")
  func timerCancel() throws {
    try withLoops { loops in
      let loop = loops[0]
      let ran = Box<[String]>([])
      waitFor("the last timer") { done in
        loop.execute {
          let before = loop.schedule(after: .milliseconds(5)) { ran.update { $0.append("before") } }
          before.cancel()
          before.cancel()
          // Due together: the first takes the second away.
          nonisolated(unsafe) var second: LoopTimer?
          loop.schedule(after: .milliseconds(5)) {
            ran.update { $0.append("first") }
            second?.cancel()
          }
          second = loop.schedule(after: .milliseconds(5)) { ran.update { $0.append("second") } }
          loop.schedule(after: .milliseconds(20), done)
        }
      }
      #expect(ran.value == ["first"])
      #expect(on(loop) { loop.timers.count } == 0)
    }
  }

  @Test("a repeating timer runs until it cancels itself")
  func timerRepeating() throws {
    try withLoops { loops in
      let loop = loops[0]
      let count = Box(0)
      waitFor("three rounds") { done in
        loop.execute {
          nonisolated(unsafe) var timer: LoopTimer?
          timer = loop.scheduleRepeating(every: .milliseconds(2)) {
            count.update { $0 += 1 }
            if count.value == 3 {
              timer?.cancel()
              loop.schedule(after: .milliseconds(20), done)
            }
          }
        }
      }
      #expect(count.value == 3)
    }
  }

  @Test("the timer heap gives timers in order, however they were added and removed", arguments: 0..<20)
  func timerHeap(seed: Int) throws {
    try withLoops { loops in
      let loop = loops[0]
      on(loop) {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(_ bound: UInt64) -> UInt64 {
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          return (state >> 33) % bound
        }
        var heap = TimerHeap()
        var members: [(LoopTimer, UInt64, UInt64)] = []
        nonisolated(unsafe) var fired: [UInt64] = []
        for sequence in 0..<300 as Range<UInt64> {
          let deadline = random(50)
          let timer = LoopTimer(loop: loop, deadline: deadline, interval: 0) {
            fired.append(sequence)
          }
          heap.insert(timer)
          members.append((timer, deadline, sequence))
          if random(3) == 0 {
            heap.remove(members.remove(at: Int(random(UInt64(members.count)))).0)
          }
        }
        while let body = heap.popDue(49) { body() }
        let expected = members.sorted { ($0.1, $0.2) < ($1.1, $1.2) }.map(\.2)
        #expect(fired == expected, "seed \(seed)")
        #expect(heap.count == 0)
      }
    }
  }

  @Test("what is asked for at the end of a turn runs after the turn's tasks")
  func turnEnd() throws {
    try withLoops { loops in
      let loop = loops[0]
      let order = Box<[String]>([])
      on(loop) { loop.onTurnEnd { order.update { $0.append("end") } } }
      waitFor("two turns") { done in
        loop.execute {
          order.update { $0 = ["task"] }
          loop.execute(done)
        }
      }
      #expect(Array(order.value.prefix(2)) == ["task", "end"])
    }
  }

  @Test("shutting down closes what is open, and a second call is answered too")
  func shutdown() throws {
    let loop = try EventLoop(index: 0, label: "test.shutdown")
    let probes = (0..<10).map { _ in Probe() }
    let listener = try echoListener([loop])
    for probe in probes { try connect(loop, to: listener.address, probe: probe).get() }
    waitFor("the first completion") { loop.shutdown($0) }
    waitFor("the second completion") { loop.shutdown($0) }
    for probe in probes {
      guard case .closedLocally? = probe.waitForClose() else {
        Issue.record("closed for another reason")
        return
      }
    }
    #expect(loop.table.count == 0)
  }

  /// A loop that takes a turn when the test says so, on real sockets.
  private func drivenLoop() throws -> EventLoop {
    EventLoop(index: 0, kernel: SystemKernel.shared, poller: try SystemPoller.make())
  }

  @Test("a listener that is announced anew in each turn accepts no more than its share of a turn")
  func acceptsPerTurn() throws {
    let loop = try drivenLoop()
    let count = Box(0)
    let listener = try Listener(address: SocketAddress(host: "127.0.0.1", port: 0), loops: [loop]) { _ in
      count.update { $0 += 1 }
      return nil
    }
    _ = loop.step()
    var waiting: [OpenSocket] = []
    for _ in 0..<400 { waiting.append(try OpenSocket(listener.address)) }
    for turn in 0..<12 {
      let before = count.value
      _ = loop.step()
      #expect(count.value - before <= 16, "turn \(turn)")
      // Its arrival is an event, whatever the loop has yet to accept.
      waiting.append(try OpenSocket(listener.address))
    }
    for _ in 0..<60 { _ = loop.step() }
    #expect(count.value == waiting.count)
    listener.close()
    end(loop)
  }

  @Test("a connection that is sent more in each turn takes no more than its share of a turn")
  func bytesPerTurn() throws {
    let loop = try drivenLoop()
    let count = Box(0)
    let limits = Connection.Limits(readBytes: 4 << 10)
    let listener = try Listener(address: SocketAddress(host: "127.0.0.1", port: 0), loops: [loop], limits: limits) {
      _ in
      let probe = Probe()
      probe.onReceive = { _, bytes in count.update { $0 += bytes.count } }
      return probe
    }
    _ = loop.step()
    let client = try RawSocket(connectedTo: listener.address)
    client.send([UInt8](repeating: 7, count: 64 << 10))
    var sent = 64 << 10
    for turn in 0..<12 {
      let before = count.value
      _ = loop.step()
      #expect(count.value - before <= 4 << 10, "turn \(turn)")
      client.send([7])
      sent += 1
    }
    for _ in 0..<60 where count.value < sent { _ = loop.step() }
    #expect(count.value == sent)
    listener.close()
    end(loop)
  }

  /// Has a driven loop end.
  private func end(_ loop: EventLoop) {
    let hasEnded = Box(false)
    loop.shutdown { hasEnded.update { $0 = true } }
    for _ in 0..<1_000 where !hasEnded.value { _ = loop.step() }
    #expect(hasEnded.value)
  }

  /// Something that an array can hold.
  private final class OpenSocket {
    let socket: RawSocket
    init(_ address: SocketAddress) throws { socket = try RawSocket(connectedTo: address) }
  }
}
