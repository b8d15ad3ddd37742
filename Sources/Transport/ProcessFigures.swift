import CLinux
import Glibc

/// The kernel's figures about this process (proc(5), clock_gettime(2)).
package struct ProcessFigures: Sendable, Equatable {
  /// The bytes of RAM and of address space; nil without `/proc`.
  package var residentBytes: Int?
  package var virtualBytes: Int?
  /// The CPU time of all threads since the start, user and kernel, s.
  package var cpuSeconds: Double
  package var openDescriptors: Int?
  /// `RLIMIT_NOFILE`, the soft limit.
  package var descriptorLimit: Int
  /// When the process was started, Unix time in s, to the kernel's tick of 10 ms.
  package var startTime: Double?

  /// The CPU time of all threads since the start, s. Takes less than 1 µs.
  package static var cpuSecondsNow: Double {
    var cpu = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu)
    return seconds(cpu)
  }

  /// The present figures. Takes about 20 µs: three small files, without a list of descriptors if the kernel counts
  /// them (Linux 6.2).
  package static var current: ProcessFigures {
    let fields = Self.statFields
    return ProcessFigures(
      residentBytes: Heap.resident, virtualBytes: fields?.virtualBytes,
      cpuSeconds: cpuSecondsNow, openDescriptors: openDescriptorCount,
      descriptorLimit: DescriptorLimit.current, startTime: started)
  }

  private static func seconds(_ time: timespec) -> Double { Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 }

  /// Computed once, because the wall clock may be set later.
  private static let started: Double? = {
    guard let ticks = statFields?.startTicks else { return nil }
    var wall = timespec()
    var boot = timespec()
    clock_gettime(CLOCK_REALTIME, &wall)
    clock_gettime(CLOCK_BOOTTIME, &boot)
    return seconds(wall) - seconds(boot) + Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }()

  private static var statFields: (startTicks: Int, virtualBytes: Int)? {
    let file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    return withUnsafeTemporaryAllocation(byteCount: 1_024, alignment: 1) { buffer in
      let count = read(file, buffer.baseAddress, buffer.count)
      return fields(of: buffer[..<max(0, count)])
    }
  }

  /// Fields 22 and 23 of `/proc/P/stat`. The second is the program's name in parentheses, which may contain anything.
  static func fields(of text: some BidirectionalCollection<UInt8>) -> (startTicks: Int, virtualBytes: Int)? {
    guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = text[end...].dropFirst().split(separator: UInt8(ascii: " "))
    guard fields.count > 20, let ticks = Int(String(decoding: fields[19], as: UTF8.self)),
      let bytes = Int(String(decoding: fields[20], as: UTF8.self))
    else { return nil }
    return (ticks, bytes)
  }

  private static var openDescriptorCount: Int? {
    var status = stat()
    guard stat("/proc/self/fd", &status) == 0 else { return nil }
    if status.st_size > 0 { return Int(status.st_size) }
    // Before Linux 6.2 the folder has no size, so its entries are counted.
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var count = -1  // The folder's own.
    while let entry = readdir(folder) {
      if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
    }
    return max(0, count)
  }
}
