import CLoad
import Glibc

/// Where, of what and beside what a result was measured: without it, figures of two days cannot be compared.
struct RunEnvironment {
  /// Of the checkout that the tool was started in; `unknown` outside of one.
  var commit: String
  var processor: String
  var cores: Int
  var memoryBytes: Int64
  var kernel: String
  /// UTC, `2026-08-21T10:15:00Z`.
  var startedAt: String
  /// Averages over 1, 5 and 15 minutes (`/proc/loadavg`), before.
  var loadBefore: String

  init(commit: String?) {
    self.commit = commit ?? Self.output(of: "git describe --always --dirty --abbrev=12 2>/dev/null") ?? "unknown"
    let processors = ProcessProbe.wholeText(of: "/proc/cpuinfo") ?? ""
    processor = Self.field("model name", in: processors) ?? Self.field("CPU part", in: processors) ?? "unknown"
    cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    memoryBytes = Int64(sysconf(Int32(_SC_PHYS_PAGES))) * Int64(sysconf(Int32(_SC_PAGESIZE)))
    kernel = (ProcessProbe.wholeText(of: "/proc/sys/kernel/osrelease") ?? "unknown").split(separator: "\n").joined()
    loadBefore = Self.loadAverages
    var now = time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 32)
    strftime(&text, text.count, "%Y-%m-%dT%H:%M:%SZ", &parts)
    startedAt = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  static var loadAverages: String {
    (ProcessProbe.wholeText(of: "/proc/loadavg") ?? "").split(separator: " ").prefix(3).joined(separator: " ")
  }

  /// - Parameter load: the averages at the end.
  func json(loadAfter load: String) -> JSONObject {
    var machine = JSONObject()
    machine["processor"] = .text(processor)
    machine["cores"] = .integer(Int64(cores))
    machine["memory_bytes"] = .integer(memoryBytes)
    machine["kernel"] = .text(kernel)
    var object = JSONObject()
    object["commit"] = .text(commit)
    object["started_at"] = .text(startedAt)
    object["machine"] = .object(machine)
    object["load_before"] = .text(loadBefore)
    object["load_after"] = .text(load)
    return object
  }

  private static func field(_ name: String, in text: String) -> String? {
    let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
    return line?.split(separator: ":", maxSplits: 1).dropFirst().first.map { String($0.drop { $0 == " " }) }
  }

  /// The first line that a command prints; nil where it fails.
  private static func output(of command: String) -> String? {
    guard let stream = popen(command, "r") else { return nil }
    var line = [CChar](repeating: 0, count: 256)
    let isRead = fgets(&line, Int32(line.count), stream) != nil
    guard pclose(stream) == 0, isRead else { return nil }
    let text = line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }
    return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
  }
}
