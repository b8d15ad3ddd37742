import Transport

/// The process in Prometheus' text format, with the names that all client libraries use, so that ready-made dashboards
/// and alerts find them.
enum ProcessMetricsText {
  static func render(_ figures: ProcessFigures) -> String {
    var out = ""
    func metric(_ name: String, _ type: String, _ help: String, _ value: String?) {
      guard let value else { return }
      out += "# HELP process_\(name) \(help)\n# TYPE process_\(name) \(type)\nprocess_\(name) \(value)\n"
    }
    metric("resident_memory_bytes", "gauge", "Resident memory size in bytes.", figures.residentBytes.map { "\($0)" })
    metric("virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", figures.virtualBytes.map { "\($0)" })
    metric(
      "cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.", "\(figures.cpuSeconds)")
    metric("open_fds", "gauge", "Number of open file descriptors.", figures.openDescriptors.map { "\($0)" })
    metric("max_fds", "gauge", "Maximum number of open file descriptors.", "\(figures.descriptorLimit)")
    metric(
      "start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.",
      figures.startTime.map { "\($0)" })
    return out
  }
}
