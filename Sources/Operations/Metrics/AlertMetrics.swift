import Documents

/// The metrics of alerts.
package enum AlertMetrics {
  private static let table: [Metric<AlertDesk.Figures>] = [
    .gauge("rules", "Rules of all owners.", \.rules),
    .gauge("owners", "Owners that have, had or watch rules.", \.owners),
    .counter("firings_total", "Firings, reminders not counted.", \.firings),
    .counter("late_firings_total", "Firings after a gap in the data.", \.late),
    .counter("transactions_total", "Transactions of alerts.", \.commits),
    .counter(
      "overflows_total", "Times that the queue of prices was full; the lost prices count as a gap.", \.overflows),
    .counter("deliveries_total", "Requests that webhooks took.", \.delivered),
    .counter("delivery_failures_total", "Requests that webhooks did not take.", \.undelivered),
    .gauge("failing", "1 while nothing can be written.") { $0.failure == nil ? 0 : 1 },
  ]

  package static func text(_ figures: AlertDesk.Figures) -> String {
    var writer = MetricsWriter(prefix: "tidegate_alerts_")
    writer.append(table, of: figures)
    return writer.text
  }
}
