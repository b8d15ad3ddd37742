import Foundation
import MarketData
import TestSupport

@testable import Venues

/// A recording played to a handler with a market behind it: what can be seen of it without the gateway.
struct RecordedFeed {
  struct Record {
    var time: Timestamp
    var kind: String
    var url: String
    var text: String
    /// The name of a single frame.
    var name: String
  }

  let records: [Record]
  let symbols: [String]

  init(_ name: String) throws {
    var records: [Record] = []
    var symbols: [String] = []
    for line in try Self.lines("\(recordingsFolder!)/\(name).ndjson.gz") {
      guard let fields = try JSONSerialization.jsonObject(with: line) as? [String: Any] else { continue }
      symbols = fields["symbols"] as? [String] ?? symbols
      guard let kind = fields["k"] as? String, let time = fields["t"] as? Int64 else { continue }
      records.append(
        Record(
          time: Timestamp(microseconds: time), kind: kind, url: fields["url"] as? String ?? "",
          text: fields["m"] as? String ?? "", name: fields["n"] as? String ?? ""))
    }
    self.records = records
    self.symbols = symbols
  }

  /// Plays it all. `answer` gives the body for a GET's path, nil if there is none yet.
  func play(to feed: HandlerHarness, answer: (_ path: String, _ record: Int) -> String?) -> Int {
    var isConnected = false
    var waiting: [(request: Int, path: String)] = []
    var refused = 0
    var ticked = records[0].time
    func carryOut(_ record: Int) {
      waiting += feed.gets
      var rest: [(request: Int, path: String)] = []
      for get in waiting {
        guard let body = answer(get.path, record) else {
          rest.append(get)
          continue
        }
        feed.respond(get.request, 200, body)
        // An answer may make room for the next request.
        rest += feed.gets
      }
      waiting = rest
    }
    for (index, record) in records.enumerated() {
      while isConnected, record.time - ticked >= 250_000 {
        ticked = ticked + 250_000
        feed.now = ticked
        feed.tick()
        carryOut(index)
      }
      feed.now = record.time
      guard record.kind == "text" else { continue }
      if !isConnected {
        isConnected = true
        ticked = record.time
        feed.prepare()
        carryOut(index)
        feed.connect()
      }
      feed.receive(record.text)
      if feed.error != nil { refused += 1 }
      carryOut(index)
    }
    return refused
  }

  /// What a symbol of the recording adds up to.
  struct Expected: Decodable {
    var deltas: Int
    var snapshots: Int
    var bridged: Int?
    var dropped: Int?
    var sequence_ok: Int
    var gaps: Int
    var unknown_deletes: Int?
    var trades: Int
    var backlog_trades: Int?
    var final_bids: [[String]]
    var final_asks: [[String]]
    var levels: [Int]
  }

  static func expected(_ name: String) throws -> [String: Expected] {
    struct File: Decodable { var symbols: [String: Expected] }
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(recordingsFolder!)/\(name).expected.json"))
    return try JSONDecoder().decode(File.self, from: data).symbols
  }

  /// The lines of a gzip file.
  private static func lines(_ path: String) throws -> [Data] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-dc", path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return data.split(separator: 0x0A)
  }
}
