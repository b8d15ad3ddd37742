import Feeds

/// The figures of history in Prometheus' text format.
enum HistoryMetricsText {
  static func render(_ figures: HistoryKeeper.Figures?, _ backfill: CandleBackfill.Figures) -> String {
    guard let figures else { return "" }
    var out = ""
    func metric(_ name: String, _ type: String, _ help: String, _ value: String) {
      out += "# HELP tidegate_history_\(name) \(help)\n# TYPE tidegate_history_\(name) \(type)\n"
      out += "tidegate_history_\(name) \(value)\n"
    }
    func seconds(_ microseconds: Int64) -> String { "\(Double(microseconds) / 1e6)" }
    metric("failing", "gauge", "1 while nothing can be written.", figures.failure == nil ? "0" : "1")
    metric("items_written_total", "counter", "Closed candles and other items written.", "\(figures.written)")
    metric("items_waiting", "gauge", "Items that wait to be written.", "\(figures.queued)")
    metric(
      "items_lost_total", "counter", "Items that were lost because the queue was full; they are gaps.",
      "\(figures.lost)")
    metric("transactions_total", "counter", "Transactions.", "\(figures.transactions)")
    metric("write_seconds_total", "counter", "Time that transactions took.", seconds(figures.spent))
    metric("slowest_write_seconds", "gauge", "The longest transaction.", seconds(figures.slowest))
    metric("file_bytes", "gauge", "Size of the data file and its log.", "\(figures.fileBytes)")
    metric("files_set_aside_total", "counter", "Damaged data files that were set aside.", "\(figures.setAside)")
    metric("instruments_restored_total", "counter", "Instruments whose past was restored.", "\(figures.restored)")
    metric("backfill_requests_total", "counter", "Requests to venues for candles.", "\(backfill.requests)")
    metric("backfill_candles_total", "counter", "Candles that venues answered with.", "\(backfill.candles)")
    metric("backfill_failures_total", "counter", "Requests for candles that failed.", "\(backfill.failures)")
    metric("backfill_waiting", "gauge", "Requests for candles that wait for their turn.", "\(backfill.waiting)")
    return out
  }
}
