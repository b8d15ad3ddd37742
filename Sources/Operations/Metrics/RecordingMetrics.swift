import Recordings

/// The metrics of recorders.
package enum RecordingMetrics {
  private static let table: [Metric<RecordingFigures>] = [
    .counter("records_total", "Records written to files.", \.records),
    .counter("bytes_total", "Compressed bytes written to files.", \.bytes),
    .counter("files_total", "Files begun.", \.files),
    .counter("files_deleted_total", "Files deleted to stay within the limits.", \.filesDeleted),
    .counter("lost_records_total", "Records that are in no file.", \.lost),
    .counter("failures_total", "Times that writing failed.", \.failures),
    .gauge("queued_bytes", "Bytes that wait for the disk.", \.queuedBytes),
    .gauge("paused", "1 while nothing can be written.") { $0.pausedBy == nil ? 0 : 1 },
  ]

  package static func text(_ recorders: [RecordingFigures]) -> String {
    var writer = MetricsWriter(prefix: "tidegate_recording_")
    writer.append(table, of: recorders) { ["set": $0.set] }
    return writer.text
  }
}
