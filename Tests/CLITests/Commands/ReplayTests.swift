import Foundation
import TestTraits
import Testing

@Suite("tidegate replay", .realTime)
struct ReplayTests {
  private static let header =
    #"{"recording":1,"venue":"coinbase","market":"spot","symbols":["BTC-USD"],"channels":[],"started":1}"#

  private static func line(_ message: String, at time: Int) -> String {
    let text = message.replacing("\"", with: "\\\"")
    return #"{"t":\#(time),"c":0,"k":"text","m":"\#(text)"}"#
  }

  private static let snapshot =
    #"{"type":"snapshot","product_id":"BTC-USD","bids":[["20.0","1"]],"asks":[["20.5","1"]]}"#
  private static let trade =
    #"{"type":"match","trade_id":7,"side":"sell","size":"0.1","price":"20","product_id":"BTC-USD","time":"2026-08-25T03:35:57Z"}"#

  @Test("ends with 0 if a book is in sync at the end, and with 2 if none is, as its help says")
  func exitCodes() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let recordings = [
      ("book", [Self.line(Self.snapshot, at: 5), Self.line(Self.trade, at: 9)], 0),
      ("trades", [Self.line(Self.trade, at: 5)], 2),
      ("broken", [Self.line(Self.snapshot, at: 5), "garbage"], 2),
      ("empty", [#"{"t":5,"c":0,"k":"open","url":"wss://h"}"#], 2),
    ]
    for (name, lines, status) in recordings {
      let file = folder.appendingPathComponent("\(name).ndjson")
      try Data(([Self.header] + lines).joined(separator: "\n").appending("\n").utf8).write(to: file)
      let replay = try TidegateProcess(["replay", file.path])
      let result = try await replay.status()
      #expect(result == Int32(status), "\(name): \(replay.printed)\(replay.logged)")
      #expect(replay.printed.contains("NO BOOK IS IN SYNC") == (status == 2), "\(replay.printed)")
    }
    let trades = folder.appendingPathComponent("trades.ndjson").path
    // One of several is enough.
    let both = try TidegateProcess(["replay", trades, folder.appendingPathComponent("book.ndjson").path])
    #expect(try await both.status() == 0)
  }
}
