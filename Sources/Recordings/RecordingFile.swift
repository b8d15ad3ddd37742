import Glibc

/// A file that grows, and that can be cut back after a failed write. Used by one thread at a time.
package final class RecordingFile {
  /// Like write(2): returns the number of written bytes, or -1 with `errno`.
  package typealias Write = (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int

  package enum Mode: Equatable {
    /// Creates the file, or empties an existing one.
    case replace
    /// Creates the file; fails if it exists.
    case new
    /// Continues after the file's first bytes, which must exist; cuts off the rest.
    case append(at: Int)
  }

  package let path: String
  private var descriptor: Int32
  private let writeSome: Write

  /// - Parameter write: the function that writes; tests pass a disk that fills up.
  package init(
    path: String, mode: Mode = .replace, write: @escaping Write = { Glibc.write($0, $1.baseAddress, $1.count) }
  ) throws(RecordingError) {
    self.path = path
    self.writeSome = write
    let flags: Int32 =
      switch mode {
      case .replace: O_CREAT | O_TRUNC
      case .new: O_CREAT | O_EXCL
      case .append: 0
      }
    descriptor = open(path, O_WRONLY | O_CLOEXEC | flags, 0o644)
    guard descriptor >= 0 else {
      throw RecordingError(
        path: path,
        "cannot be written: \(Self.reason(errno)); check that its folder exists and that you may write there")
    }
    if case .append(let length) = mode {
      let end = lseek(descriptor, 0, SEEK_END)
      guard end >= length || end == 0 && length == 0 else {
        Glibc.close(descriptor)
        descriptor = -1
        throw RecordingError(path: path, "has become shorter: another program has changed it")
      }
      truncate(to: length)
    }
  }

  deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

  package static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }

  /// Appends all of `bytes`.
  package func append(_ bytes: UnsafeRawBufferPointer) throws(RecordingError) {
    var rest = bytes
    while rest.count > 0 {
      let count = writeSome(descriptor, rest)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw RecordingError(path: path, "cannot be written: \(Self.reason(errno))") }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
  }

  /// Waits until the written data is on the disk (fsync). A device that does not support this counts as done.
  func synchronize() throws(RecordingError) {
    guard descriptor >= 0 else { return }
    while fsync(descriptor) != 0 {
      if errno == EINTR { continue }
      if errno == EINVAL || errno == EROFS { return }
      throw RecordingError(path: path, "cannot be synced to the disk: \(Self.reason(errno))")
    }
  }

  /// Cuts the file back to its first `length` bytes. A device that cannot be cut stays as it is.
  package func truncate(to length: Int) {
    _ = ftruncate(descriptor, off_t(length))
    _ = lseek(descriptor, off_t(length), SEEK_SET)
  }

  /// Closes the file; throws if the disk reports an error only now.
  package func close() throws(RecordingError) {
    guard descriptor >= 0 else { return }
    let result = Glibc.close(descriptor)
    descriptor = -1
    if result != 0 { throw RecordingError(path: path, "cannot be closed: \(Self.reason(errno))") }
  }

  /// Makes the creation or deletion of a file in this folder durable.
  static func synchronize(folder: String) {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = fsync(descriptor)
    Glibc.close(descriptor)
  }
}
