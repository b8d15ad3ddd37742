import Bytes
import Foundation
import Gateway
import MarketData
import Recordings
import Venues

extension FuzzTarget {
  /// A recording, plain or gzip: read, read again compressed, and replayed.
  static let recording = FuzzTarget(
    "recording",
    words: [
      "\"recording\":1", "\"venue\":\"coinbase\"", "\"market\":\"spot\"", "\"symbols\":[\"BTC-USD\"]", "\"started\":1",
      "\"t\":", "\"c\":0", "\"k\":\"text\"", "\"k\":\"open\"", "\"k\":\"http\"", "\"k\":\"close\"", "\"k\":\"gap\"",
      "\"lost\":3",
      "\"again\":1", "\"part\":2", "\"set\":\"x\"", "\"m\":\"",
      "\"url\":\"", "\"status\":200", "\n", "\\u00e9",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let file = try ScratchFile(suffix: ".ndjson")
    try file.write(bytes)
    let plain = read(file.path)
    let isCompressed = bytes.count >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B
    if !isCompressed {
      let compressed = Array(gzip(bytes))
      let failure: FuzzFailure? = compressed.withUnsafeBytes {
        do throws(FuzzFailure) {
          try file.write($0)
          return nil
        } catch {
          return error
        }
      }
      if let failure { throw failure }
      try requireSame(read(file.path), plain, "compressed it reads differently")
    }
    let replayer: Replayer
    do throws(RecordingError) {
      replayer = try Replayer(path: file.path)
      _ = try replayer.run()
    } catch {
      return try require(!error.reason.isEmpty && error.path == file.path, "an error without words: \(error)")
    }
    for state in replayer.pipeline.market.instruments {
      try require(state.book.invariantsHold, "a replayed book is out of order")
    }
  }

  private static func read(_ path: String) -> [String] {
    var said: [String] = []
    do throws(RecordingError) {
      let reader = try RecordingReader(path: path)
      said.append("\(reader.header)")
      while let record = try reader.next() {
        said.append("\(record) \(Array(reader.payload.unsafeBytes))")
      }
    } catch {
      said.append("error \(error)")
    }
    return said
  }

  /// Two gzip members, cut in the middle.
  private static func gzip(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let middle = bytes.count / 2
    return Deflated.gzip(Array(bytes[..<middle])) + Deflated.gzip(Array(bytes[middle...]))
  }
}

/// A file in memory where there is such a folder, removed with the object.
final class ScratchFile {
  let path: String
  private let descriptor: Int32

  init(suffix: String) throws(FuzzFailure) {
    let folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    var template = Array("\(folder)/tidegate-fuzz-XXXXXX\(suffix)".utf8CString)
    descriptor = mkstemps(&template, Int32(suffix.utf8.count))
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if descriptor < 0 { throw FuzzFailure("no scratch file: \(path)") }
  }

  /// Replaces what the file holds.
  func write(_ bytes: UnsafeRawBufferPointer) throws(FuzzFailure) {
    guard ftruncate(descriptor, 0) == 0,
      bytes.isEmpty || pwrite(descriptor, bytes.baseAddress!, bytes.count, 0) == bytes.count
    else { throw FuzzFailure("the scratch file cannot be written") }
  }

  deinit {
    close(descriptor)
    unlink(path)
  }
}
