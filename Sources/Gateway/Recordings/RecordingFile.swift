import Glibc

/// A file that grows, and can be cut back to what was whole when a write fails. Used by one thread at a time.
final class RecordingFile {
  /// As write(2): how many bytes were taken, or -1 and `errno`.
  typealias Write = (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int

  let path: String
  private var descriptor: Int32
  private let writeSome: Write

  /// Makes or empties the file at `path`.
  /// - Parameter write: what writes; tests pass a disk that fills up.
  init(
    path: String, write: @escaping Write = { Glibc.write($0, $1.baseAddress, $1.count) }
  ) throws(RecordingError) {
    self.path = path
    self.writeSome = write
    descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw RecordingError(
        path: path, "cannot be written: \(Self.reason(errno)); is its folder there, and may it be written?")
    }
  }

  deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

  static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }

  /// Appends all of `bytes`.
  func append(_ bytes: UnsafeRawBufferPointer) throws(RecordingError) {
    var rest = bytes
    while rest.count > 0 {
      let count = writeSome(descriptor, rest)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw RecordingError(path: path, "cannot be written: \(Self.reason(errno))") }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
  }

  /// Cuts the file back to its first `length` bytes. A device that cannot be cut stays as it is.
  func truncate(to length: Int) {
    _ = ftruncate(descriptor, off_t(length))
    _ = lseek(descriptor, off_t(length), SEEK_SET)
  }

  /// Ends writing; an error that the disk kept to itself until now is told.
  func close() throws(RecordingError) {
    guard descriptor >= 0 else { return }
    let result = Glibc.close(descriptor)
    descriptor = -1
    if result != 0 { throw RecordingError(path: path, "cannot be closed: \(Self.reason(errno))") }
  }
}
