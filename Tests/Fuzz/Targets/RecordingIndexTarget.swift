import Bytes
import CZlib
import Foundation
import Gateway
import MarketData
import Recordings
import Venues

extension FuzzTarget {
  /// An index whose checksums fit and whose content does not, and books of a recording that was cut. The first byte
  /// decides: 0, the rest stands in place of an index; even, the rest changes the directory of a good one, three bytes
  /// each (two for the place, one for the value); odd, the rest are the books that a recording begins with.
  static let recordingIndex = FuzzTarget("recording-index", words: ["TGINDEX\u{1}", "TGINDEND", "BTC-USD"]) {
    (bytes) throws(FuzzFailure) in
    guard let first = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    if first & 1 == 1 { return try IndexedRecording.beginning(with: rest) }
    let file = try ScratchFile(suffix: ".ndjson")
    try file.write(text: IndexedRecording.text)
    defer { unlink(file.path + ".index") }
    if first != 0 {
      do throws(RecordingError) {
        _ = try RecordingIndexer(paths: [file.path], recordSpacing: 10).run()
      } catch {
        throw FuzzFailure("a good recording was not indexed: \(error)")
      }
    }
    let url = URL(fileURLWithPath: file.path + ".index")
    let good = first == 0 ? [] : [UInt8]((try? Data(contentsOf: url)) ?? Data())
    let changed = first == 0 ? rest : IndexedRecording.changed(good, by: rest)
    try? Data(changed).write(to: url)
    let window = IndexedRecording.instant..<IndexedRecording.instant
    let played = IndexedRecording.books(file.path, window)
    unlink(url.path)
    let whole = IndexedRecording.books(file.path, window)
    try requireSame(played, whole, "an index makes other books")
  }
}

/// A small recording, and what becomes of it.
private enum IndexedRecording {
  private static let start = 1_700_000_000_000_000
  static let instant = Timestamp(microseconds: Int64(start + 38_500_000))

  private static func line(_ message: String, _ second: Int) -> String {
    let text = message.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
    return #"{"t":\#(start + second * 1_000_000),"c":0,"k":"text","m":"\#(text)"}"# + "\n"
  }

  private static let header =
    #"{"recording":1,"venue":"coinbase","market":"spot","symbols":["BTC-USD"],"channels":[],"started":\#(start)}"#
    + "\n"

  static let text: String = {
    var text = header
    text += line(
      #"{"type":"snapshot","product_id":"BTC-USD","bids":[["20.00","1"]],"asks":[["90.50","1"]]}"#, 0)
    for second in 1...40 {
      text += line(
        #"{"type":"l2update","product_id":"BTC-USD","changes":[["buy","\#(20 + second).00","0.\#(second)"]]}"#, second)
    }
    return text
  }()

  static func books(_ path: String, _ window: Range<Timestamp>) -> [String] {
    do throws(RecordingError) {
      let run = try ReplayRun(try ReplayPlan([path]), window: window)
      return try run.run().flatMap(\.symbols).map { "\($0.name) \($0.finalBids) \($0.finalAsks) \($0.isLiveAtEnd)" }
    } catch {
      return ["error \(error.reason)"]
    }
  }

  /// A recording that begins with these books.
  static func beginning(with books: [UInt8]) throws(FuzzFailure) {
    let packed = pack(books)
    var record: [UInt8] = []
    append(UInt64(books.count) << 1, to: &record)
    append(UInt64(checksum(packed)), to: &record)
    append(UInt64(packed.count), to: &record)
    let base64 = Data(record + packed).base64EncodedString()
    let file = try ScratchFile(suffix: ".ndjson")
    try file.write(
      text: header + #"{"t":\#(start),"c":0,"k":"open","url":"wss://h"}"# + "\n"
        + #"{"t":\#(start),"c":0,"k":"state","m":"\#(base64)"}"# + "\n"
        + line(#"{"type":"l2update","product_id":"BTC-USD","changes":[["buy","20.00","0.5"]]}"#, 1))
    let replayer: Replayer
    do throws(RecordingError) {
      replayer = try Replayer(path: file.path)
      _ = try replayer.run()
    } catch {
      throw FuzzFailure("a recording whose books are damaged was not replayed: \(error)")
    }
    for state in replayer.pipeline.market.instruments {
      try require(state.book.invariantsHold, "a restored book is out of order")
    }
  }

  /// An index with another directory.
  static func changed(_ index: [UInt8], by changes: [UInt8]) -> [UInt8] {
    func number(_ position: Int) -> Int {
      index[position..<(position + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    let trailer = index.count - 40
    guard trailer > 8 else { return index }
    let (offset, count, rawCount) = (number(trailer), number(trailer + 8), number(trailer + 16))
    var raw = [UInt8](repeating: 0, count: rawCount)
    var length = UInt(rawCount)
    _ = raw.withUnsafeMutableBufferPointer { out in
      Array(index[offset..<(offset + count)]).withUnsafeBufferPointer {
        uncompress(out.baseAddress, &length, $0.baseAddress, UInt($0.count))
      }
    }
    for start in stride(from: 0, to: changes.count - 2, by: 3) where !raw.isEmpty {
      raw[(Int(changes[start]) << 8 | Int(changes[start + 1])) % raw.count] = changes[start + 2]
    }
    let packed = pack(raw)
    var out = Array(index[..<offset]) + packed
    for value in [offset, packed.count, raw.count, Int(checksum(packed))] {
      out += (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    return out + Array("TGINDEND".utf8)
  }

  private static func append(_ value: UInt64, to out: inout [UInt8]) {
    var rest = value
    while rest >= 0x80 {
      out.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    out.append(UInt8(rest))
  }

  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32($0.count))) }
  }

  private static func pack(_ raw: [UInt8]) -> [UInt8] {
    var count = compressBound(UInt(raw.count))
    var packed = [UInt8](repeating: 0, count: Int(count))
    _ = packed.withUnsafeMutableBufferPointer { out in
      raw.withUnsafeBufferPointer { compress2(out.baseAddress, &count, $0.baseAddress, UInt($0.count), 1) }
    }
    return Array(packed[..<Int(count)])
  }
}

extension ScratchFile {
  fileprivate func write(text: String) throws(FuzzFailure) {
    let failure: FuzzFailure? = Array(text.utf8).withUnsafeBytes {
      do throws(FuzzFailure) {
        try write($0)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }
}
