import Documents

/// The figures of alerts in Prometheus' text format.
enum AlertMetricsText {
  static func render(_ figures: AlertDesk.Figures) -> String {
    var out = ""
    func metric(_ name: String, _ type: String, _ help: String, _ value: String) {
      out += "# HELP tidegate_alerts_\(name) \(help)\n# TYPE tidegate_alerts_\(name) \(type)\n"
      out += "tidegate_alerts_\(name) \(value)\n"
    }
    metric("rules", "gauge", "Rules of all owners.", "\(figures.rules)")
    metric("owners", "gauge", "Owners that have, had or watch rules.", "\(figures.owners)")
    metric("firings_total", "counter", "Firings, reminders not counted.", "\(figures.firings)")
    metric("late_firings_total", "counter", "Firings after a gap in the data.", "\(figures.late)")
    metric("transactions_total", "counter", "Transactions of alerts.", "\(figures.commits)")
    metric(
      "overflows_total", "counter", "Times that the queue of prices was full; the lost prices count as a gap.",
      "\(figures.overflows)")
    metric("deliveries_total", "counter", "Requests that webhooks took.", "\(figures.delivered)")
    metric("delivery_failures_total", "counter", "Requests that webhooks did not take.", "\(figures.undelivered)")
    metric("failing", "gauge", "1 while nothing can be written.", figures.failure == nil ? "0" : "1")
    return out
  }
}
