import Foundation
import MarketData
import Synchronization

/// The process that has a data file.
package struct DataFileOwner: Sendable, Equatable, CustomStringConvertible {
  /// The id of the process; nil if the lock does not name it.
  package var process: Int32?
  /// Since when it has the file; nil if the lock does not say.
  package var since: Timestamp?

  /// `process 4711, since 2026-11-24T00:00:00Z`.
  package var description: String {
    (process.map { "process \($0)" } ?? "another process") + (since.map { ", since \(HistoryText.time($0))" } ?? "")
  }
}

/// The right to be the one gateway of a data file: a lock (flock(2)) on a file beside it, which the kernel releases
/// when
/// the process ends, however it ends. The file names the owner for the messages of others. It is never deleted, because
/// two processes could then lock two files of one name.
final class DataFileLock: Sendable {
  /// How often a lock that another process has is tried again, s.
  private static let interval = 0.05

  private let descriptor: Mutex<Int32>

  private init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

  deinit { release() }

  /// The lock's file of a data file.
  static func path(of file: String) -> String { file + ".lock" }

  /// Takes the lock. Nil if the file system has no locks: then nothing can be said about other processes.
  /// - Parameters:
  ///   - file: the data file.
  ///   - creates: whether to create the lock's file. Otherwise nil if it does not exist, because no gateway has had the
  ///     data file: a command of another user must not own the lock of a gateway.
  ///   - seconds: how long to wait for a process that is ending.
  /// - Throws: `.owned` with the process that has the lock, `.inaccessible`.
  static func take(_ file: String, creates: Bool, seconds: Double) throws(DataFileError) -> DataFileLock? {
    let path = path(of: file)
    // A child process does not inherit it, or it would have the lock as well.
    let descriptor = open(path, O_RDWR | O_CLOEXEC | (creates ? O_CREAT : 0), 0o600)
    if descriptor < 0, errno == ENOENT, !creates { return nil }
    guard descriptor >= 0 else { throw .inaccessible(path: path, reason: String(cString: strerror(errno))) }
    let deadline = Date(timeIntervalSinceNow: seconds)
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let reason = errno
      if reason == EINTR { continue }
      guard reason == EWOULDBLOCK else {
        close(descriptor)
        return nil
      }
      guard Date() < deadline else {
        let owner = owner(in: descriptor)
        close(descriptor)
        throw .owned(path: file, by: owner)
      }
      Thread.sleep(forTimeInterval: interval)
    }
    note(Date(), in: descriptor)
    return DataFileLock(descriptor)
  }

  /// Gives the lock back; call it when the process no longer uses the data file.
  func release() {
    let open = descriptor.withLock { descriptor in
      defer { descriptor = -1 }
      return descriptor
    }
    guard open >= 0 else { return }
    ftruncate(open, 0)
    close(open)
  }

  /// Writes `4711 1795478400`: the process, and the seconds since 1970.
  private static func note(_ now: Date, in descriptor: Int32) {
    let text = Array("\(getpid()) \(Int64(now.timeIntervalSince1970))\n".utf8)
    // Only messages depend on it.
    guard ftruncate(descriptor, 0) == 0 else { return }
    _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  private static func owner(in descriptor: Int32) -> DataFileOwner {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    let words = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      .split(whereSeparator: \.isWhitespace)
    guard words.count == 2 else { return DataFileOwner() }
    let seconds = Int64(words[1]).flatMap { (0...253_402_300_799).contains($0) ? $0 : nil }
    return DataFileOwner(
      process: Int32(words[0]).flatMap { $0 > 0 ? $0 : nil },
      since: seconds.map { Timestamp(microseconds: $0 * Microseconds.second) })
  }
}
