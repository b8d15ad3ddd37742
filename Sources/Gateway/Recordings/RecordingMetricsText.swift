import Feeds
import Recordings

/// Recorders in Prometheus' text format.
enum RecordingMetricsText {
  static func render(_ recorders: [RecordingFigures]) -> String {
    guard !recorders.isEmpty else { return "" }
    var out = ""
    func metric(_ name: String, _ type: String, _ help: String, _ value: (RecordingFigures) -> Int) {
      out += "# HELP tidegate_recording_\(name) \(help)\n# TYPE tidegate_recording_\(name) \(type)\n"
      for figures in recorders { out += "tidegate_recording_\(name){set=\"\(figures.set)\"} \(value(figures))\n" }
    }
    metric("records_total", "counter", "Records written to files.") { $0.records }
    metric("bytes_total", "counter", "Compressed bytes written to files.") { $0.bytes }
    metric("files_total", "counter", "Files begun.") { $0.files }
    metric("files_deleted_total", "counter", "Files deleted to stay within the limits.") { $0.filesDeleted }
    metric("lost_records_total", "counter", "Records that are in no file.") { $0.lost }
    metric("failures_total", "counter", "Times that writing failed.") { $0.failures }
    metric("queued_bytes", "gauge", "Bytes that wait for the disk.") { $0.queuedBytes }
    metric("paused", "gauge", "1 while nothing can be written.") { $0.pausedBy == nil ? 0 : 1 }
    return out
  }
}
