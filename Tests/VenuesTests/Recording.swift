import Bytes
import Foundation
import MarketData
import TestSupport
import Testing

@testable import Venues

/// A recording and what it adds up to, read by Foundation and gzip: nothing of the house. Only where there are
/// recordings on this machine.
struct Recording {
  struct Record {
    /// Of its arrival.
    var time: Timestamp
    /// `text`, `http`, `sent`…
    var kind: String
    var text: String
    /// Of a `http` record.
    var url: String
    /// The name of the fixture that a single frame comes from, where it has one.
    var name: String
  }

  /// What a symbol of the recording adds up to.
  struct Expected: Decodable {
    var deltas: Int
    var snapshots: Int
    var bridged: Int?
    var dropped: Int?
    var sequence_ok: Int?
    var gaps: Int?
    var unknown_deletes: Int?
    var trades: Int
    var backlog_trades: Int?
    var last_trade_price: String?
    /// Price and size of the best levels, best first.
    var final_bids: [[String]]
    var final_asks: [[String]]
    /// Bids and asks in all.
    var levels: [Int]
  }

  let name: String
  let records: [Record]
  /// As the header names them.
  let symbols: [String]

  init(_ name: String) throws {
    var records: [Record] = []
    var symbols: [String] = []
    for line in try Self.lines(of: "\(try #require(recordingsFolder))/\(name).ndjson.gz") {
      guard let fields = try JSONSerialization.jsonObject(with: line) as? [String: Any] else { continue }
      symbols = fields["symbols"] as? [String] ?? symbols
      guard let kind = fields["k"] as? String else { continue }
      records.append(
        Record(
          time: Timestamp(microseconds: fields["t"] as? Int64 ?? 0), kind: kind, text: fields["m"] as? String ?? "",
          url: fields["url"] as? String ?? "", name: fields["n"] as? String ?? ""))
    }
    self.name = name
    self.records = records
    self.symbols = symbols
  }

  /// The text frames.
  var texts: [Record] { records.filter { $0.kind == "text" } }
  /// The answers of REST requests.
  var answers: [Record] { records.filter { $0.kind == "http" } }

  /// By the venue's own names.
  func expected() throws -> [String: Expected] {
    struct File: Decodable { var symbols: [String: Expected] }
    let path = "\(try #require(recordingsFolder))/\(name).expected.json"
    return try JSONDecoder().decode(File.self, from: Data(contentsOf: URL(fileURLWithPath: path))).symbols
  }

  /// Plays it all. `answer` gives the body for a GET's path, nil if there is none yet. Returns how many frames were
  /// refused.
  func play(to feed: EngineHarness, answer: (_ path: String, _ record: Int) -> String?) -> Int {
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

  /// The lines of a gzip file.
  private static func lines(of path: String) throws -> [Data] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-dc", path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(path)")
    return data.split(separator: 0x0A)
  }
}

extension Recording.Expected {
  /// The best levels that are told, best first, at the scales of a book: a text may have zeros at its end or not.
  static func levels(_ told: [[String]], priceScale: UInt8, sizeScale: UInt8) throws -> [PriceLevel] {
    try told.map { level in
      PriceLevel(
        price: try DecimalText.parse(Array(level[0].utf8).span.bytes, scale: priceScale),
        size: try DecimalText.parse(Array(level[1].utf8).span.bytes, scale: sizeScale))
    }
  }

  /// That a book ended with the levels that are told.
  func check(_ book: OrderBook, priceScale: UInt8, sizeScale: UInt8, _ symbol: String) throws {
    #expect([book.bids.count, book.asks.count] == levels, "\(symbol)")
    for (side, told) in [(book.bids, final_bids), (book.asks, final_asks)] {
      let wanted = try Self.levels(told, priceScale: priceScale, sizeScale: sizeScale)
      #expect(Array(side.suffix(told.count).reversed()) == wanted, "\(symbol)")
    }
  }

  /// That an instrument's book is live and ended with the levels that are told.
  func check(_ state: InstrumentState, _ symbol: String) throws {
    #expect(state.bookState == .live, "\(symbol)")
    let instrument = state.instrument
    try check(state.book, priceScale: instrument.priceScale, sizeScale: instrument.sizeScale, symbol)
  }
}
