import Bytes
import Testing

@testable import NATS

@Suite("Headers of NATS messages")
struct NATSHeadersTests {
  private func read<Result>(_ block: String, _ body: (NATSHeaders) -> Result) throws -> Result {
    try Array(block.utf8).withUnsafeBytes { body(try NATSHeaders($0)) }
  }

  @Test("a status line says what kind of answer it is")
  func statuses() throws {
    #expect(try read("NATS/1.0\r\n\r\n") { $0.status } == nil)
    #expect(try read("NATS/1.0 503\r\n\r\n") { $0.status } == NATSHeaders.noResponders)
    #expect(try read("NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Stream: 7\r\n\r\n") { $0.status } == 100)
  }

  @Test("values are found by their exact name, without the spaces around them")
  func values() throws {
    let block = "NATS/1.0\r\nA-B:1\r\nA:  two words \r\nA: second\r\nempty:\r\nN: 123\r\n\r\n"
    func value(_ name: StaticString) throws -> String? { try read(block) { $0.value(name).map(text) } }
    #expect(try value("A") == "two words")
    #expect(try value("A-B") == "1")
    #expect(try value("a") == nil)
    #expect(try value("empty") == "")
    #expect(try value("B") == nil)
    #expect(try read(block) { $0.number("N") } == 123)
    #expect(try read(block) { $0.number("A") } == nil)
  }

  @Test(
    "a malformed block is refused",
    arguments: [
      "", "NATS/1.0", "NATS/1.0\r\n", "NATS/1.1\r\n\r\n", "NATS/1.0 x\r\n\r\n", "NATS/1.0 5030\r\n\r\n",
      "NATS/1.0\r\nA\r\n\r\n", "NATS/1.0\r\n: x\r\n\r\n", "NATS/1.0\r\nA: 1\n\r\n", "NATS/1.0\r\n\r\nA: 1\r\n\r\n",
    ])
  func malformed(_ block: String) { #expect(throws: NATSError.self) { try read(block) { $0.status } } }

  @Test("what is written is read; a value cannot add a header")
  func writing() throws {
    let block = written { NATSHeaders.append([("A", "1\r\nB: 2"), ("C", "ü")], to: &$0) }
    #expect(block == "NATS/1.0\r\nA: 1  B: 2\r\nC: ü\r\n\r\n")
    #expect(try read(block) { $0.value("B") } == nil)
    #expect(try read(block) { $0.value("C").map(text) } == "ü")
  }
}
