import Feeds
import History

/// The metrics of history.
package enum HistoryMetrics {
  private static let kept: [Metric<HistoryKeeper.Figures>] = [
    .gauge("failing", "1 while nothing can be written.") { $0.failure == nil ? 0 : 1 },
    .counter("items_written_total", "Closed candles and other items written.", \.written),
    .gauge("items_waiting", "Items that wait to be written.", \.queued),
    .counter("items_lost_total", "Items that were lost because the queue was full; they are gaps.", \.lost),
    .counter("transactions_total", "Transactions.", \.transactions),
    .counter("write_seconds_total", "Time that transactions took.") { Double($0.spent) / 1e6 },
    .gauge("slowest_write_seconds", "The longest transaction.") { Double($0.slowest) / 1e6 },
    .gauge("file_bytes", "Size of the data file and its log.", \.fileBytes),
    .counter("files_set_aside_total", "Damaged data files that were set aside.", \.setAside),
    .counter("instruments_restored_total", "Instruments whose past was restored.", \.restored),
  ]

  private static let backfill: [Metric<CandleBackfill.Figures>] = [
    .counter("backfill_requests_total", "Requests to venues for candles.", \.requests),
    .counter("backfill_candles_total", "Candles that venues answered with.", \.candles),
    .counter("backfill_failures_total", "Requests for candles that failed.", \.failures),
    .gauge("backfill_waiting", "Requests for candles that wait for their turn.", \.waiting),
  ]

  /// - Parameter figures: nil: nothing is stored.
  package static func text(_ figures: HistoryKeeper.Figures?, _ requests: CandleBackfill.Figures) -> String {
    guard let figures else { return "" }
    var writer = MetricsWriter(prefix: "tidegate_history_")
    writer.append(kept, of: figures)
    writer.append(backfill, of: requests)
    return writer.text
  }
}
