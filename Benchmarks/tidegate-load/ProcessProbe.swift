import Glibc

/// What the kernel says of another process.
struct ProcessProbe {
  let pid: Int32

  /// - Throws: `LoadError` if there is no such process or its figures may not be read.
  init(pid: Int32) throws {
    self.pid = pid
    guard residentBytes != nil else { throw LoadError("process \(pid) has no /proc/\(pid)/status: is it running?") }
  }

  /// CPU time of all its living threads, ns: the first field of each `/proc/P/task/T/schedstat`.
  var cpuNanoseconds: Int64 {
    guard let folder = opendir("/proc/\(pid)/task") else { return 0 }
    defer { closedir(folder) }
    var total: Int64 = 0
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard let first = name.utf8.first, first >= UInt8(ascii: "0"), first <= UInt8(ascii: "9"),
        let text = Self.text(of: "/proc/\(pid)/task/\(name)/schedstat"), let field = text.split(separator: " ").first,
        let value = Int64(field)
      else { continue }
      total += value
    }
    return total
  }

  /// `VmRSS`, bytes; nil when the process is gone.
  var residentBytes: Int64? {
    guard let text = Self.text(of: "/proc/\(pid)/status") else { return nil }
    for line in text.split(separator: "\n") where line.hasPrefix("VmRSS:") {
      let fields = line.split { $0 == " " || $0 == "\t" }
      if fields.count >= 2, let kilobytes = Int64(fields[1]) { return kilobytes * 1024 }
    }
    return nil
  }

  /// When it was started, Unix time, s: field 22 of `/proc/P/stat`, in ticks since the machine's start.
  var startTime: Double? {
    guard let text = Self.text(of: "/proc/\(pid)/stat"), let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[end...].dropFirst().split(separator: " ")
    guard fields.count > 19, let ticks = Double(fields[19]) else { return nil }
    let uptime = Double(Clock.read(CLOCK_BOOTTIME)) / 1e9
    return Double(Clock.utc) / 1e6 - uptime + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// All of a file of `/proc`, 16 MiB at most.
  static func wholeText(of path: String) -> String? {
    let fd = open(path, O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else { return nil }
    defer { close(fd) }
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while all.count < 16 << 20 {
      let n = read(fd, &chunk, chunk.count)
      guard n > 0 else { break }
      all += chunk[..<n]
    }
    return String(decoding: all, as: UTF8.self)
  }

  /// At most 16 KiB of a file of `/proc`.
  private static func text(of path: String) -> String? {
    let fd = open(path, O_RDONLY | O_CLOEXEC)
    guard fd >= 0 else { return nil }
    defer { close(fd) }
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    let n = read(fd, &bytes, bytes.count)
    return n > 0 ? String(decoding: bytes[..<n], as: UTF8.self) : nil
  }
}
