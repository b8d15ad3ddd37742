import Bytes
import Dispatch
import Testing

@testable import Transport

@Suite("Connection")
struct ConnectionTests {
  @Test("what is sent to an echo comes back, through two loops")
  func echo() throws {
    try withLoops(2) { loops in
      let listener = try echoListener(loops)
      for round in 0..<4 {
        let probe = Probe()
        try connect(loops[round % 2], to: listener.address, probe: probe).get()
        let text = Array("hello \(round)".utf8)
        on(loops[round % 2]) { probe.connection?.write(SharedBytes(text)) }
        probe.waitForBytes(text.count)
        #expect(probe.received.value == text)
        on(loops[round % 2]) { probe.connection?.close() }
        guard case .closedLocally? = probe.waitForClose() else {
          Issue.record("closed for another reason: \(String(describing: probe.closeReason.value))")
          continue
        }
      }
      listener.close()
    }
  }
}
