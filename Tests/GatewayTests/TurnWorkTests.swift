import Bytes
import PubSub
import Testing

@testable import Gateway

@Suite("The work of a turn")
struct TurnWorkTests {
  private static func frame(_ stream: UInt32, seq: UInt64, for loops: [Int]) -> Delivery {
    let frame = StreamFrame(
      stream: StreamID(rawValue: stream), kind: .update, prev: seq - 1, seq: seq, events: 1,
      bytes: SharedBytes([1, 2, 3]))
    return .frame(frame, loops: loops.reduce(0) { $0 | 1 << UInt64($1) })
  }

  private static func seq(_ delivery: Delivery) -> UInt64? {
    switch delivery {
    case .frame(let frame, _): frame.seq
    case .missed(let missed, _): missed.last
    default: nil
    }
  }

  @Test("each loop gets what is for it, in order, and this one keeps its own")
  func distribute() {
    var work = TurnWork(loops: 3)
    work.outgoing = [
      Self.frame(1, seq: 1, for: [0, 2]), Self.frame(1, seq: 2, for: [2]), Self.frame(1, seq: 3, for: [0]),
      Self.frame(1, seq: 4, for: []),
    ]
    #expect(work.distribute(from: 0).map(Self.seq) == [1, 3])
    #expect(work.outgoing.isEmpty)
    var offered: [Int: [UInt64?]] = [:]
    let isHeld = work.sendOutboxes { loop, deliveries, bytes in
      offered[loop] = deliveries.map(Self.seq)
      #expect(bytes == 6)
      return true
    }
    #expect(!isHeld && offered == [2: [1, 2]])
    #expect(!work.sendOutboxes { _, _, _ in true })
  }

  @Test("what a loop refuses is merged and offered again, and the other loops do not wait for it")
  func refused() {
    var work = TurnWork(loops: 3)
    work.outgoing = [Self.frame(1, seq: 1, for: [1, 2]), Self.frame(1, seq: 2, for: [1, 2])]
    #expect(work.distribute(from: 0).isEmpty)
    #expect(work.sendOutboxes { loop, _, _ in loop == 2 })
    work.outgoing = [Self.frame(1, seq: 3, for: [1])]
    #expect(work.distribute(from: 0).isEmpty)
    var offered: [[UInt64?]] = []
    let isHeld = work.sendOutboxes { loop, deliveries, _ in
      #expect(loop == 1)
      offered.append(deliveries.map(Self.seq))
      return true
    }
    // The two frames that were refused are one notice now.
    #expect(!isHeld && offered == [[2, 3]])
  }

  @Test("a turn serves its share of commands, and the next one the rest")
  func commands() {
    var work = TurnWork(loops: 1)
    #expect(!work.canAct)
    work.actions = [.close(ClientID(slot: 0, generation: 0), code: 4_000, reason: "")]
    #expect(work.canAct)
    #expect((0..<1_000).filter { _ in work.takeCommand() }.count == TurnWork.commandLimit)
    #expect(!work.canAct)
    work.beginCommands()
    #expect(work.canAct && work.takeCommand())
  }
}
