import PubSub
import Testing

@testable import Operations

@Suite("Clients by kind and ending")
struct ClientCountsTests {
  @Test("each way to be connected is counted apart, and one who goes is counted by who ended it")
  func counts() {
    var counts = ClientCounts()
    for (isTLS, encoding) in [(false, .plain), (false, .deflate), (true, .plain), (true, .deflate), (true, .deflate)]
      as [(Bool, ClientCounts.Encoding)]
    {
      counts.came(isTLS: isTLS, encoding)
    }
    counts.came(isTLS: true, .events)
    counts.came(isTLS: false, .binary)
    counts.came(isTLS: true, .binaryDeflate)
    // Of ws, and of wss: plain, deflate, binary, binary-deflate, events.
    #expect(counts.present == [1, 1, 1, 0, 0, 1, 2, 0, 1, 1])
    counts.left(isTLS: true, .deflate, code: nil)
    counts.left(isTLS: false, .plain, code: CloseCode.slow)
    #expect(counts.present == [0, 1, 1, 0, 0, 1, 1, 0, 1, 1])
    var sum = ClientCounts()
    sum.add(counts)
    sum.add(counts)
    #expect(sum.present == [0, 2, 2, 0, 0, 2, 2, 0, 2, 2])
    #expect(zip(ClientCounts.Ending.allCases, sum.ended).filter { $1 > 0 }.map(\.0) == [.client, .slow])
  }

  @Test("every code of the protocol has a reason of its own")
  func codes() {
    let codes = [
      CloseCode.unauthorized, CloseCode.forbidden, CloseCode.protocolErrors, CloseCode.slow, CloseCode.noPong,
      CloseCode.rateLimited, CloseCode.draining, CloseCode.takenOver, CloseCode.disconnected,
    ]
    let reasons = Set(codes.map { ClientCounts.Ending(code: $0) })
    #expect(reasons.count == codes.count && !reasons.contains(.other) && !reasons.contains(.client))
    #expect(ClientCounts.Ending(code: 1002) == .protocolErrors)
    #expect(ClientCounts.Ending(code: 4999) == .other)
  }
}
