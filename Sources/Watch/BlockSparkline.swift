/// A line chart of one row: `▁▂▃▄▅▆▇█`.
package enum BlockSparkline {
  private static let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

  /// One character per point for the last `width` points: the lowest is `▁`, the highest `█`, an unknown one a
  /// space. A line of equal points is drawn in the middle. O(points).
  package static func text(_ points: [Double?], width: Int) -> String {
    let shown = points.suffix(max(0, width))
    let known = shown.compactMap { $0 }.filter(\.isFinite)
    guard let low = known.min(), let high = known.max() else { return String(repeating: " ", count: shown.count) }
    return String(
      shown.map { point -> Character in
        guard let point, point.isFinite else { return " " }
        // By halves, since the difference of two finite numbers may be infinite.
        let span = high / 2 - low / 2
        guard span > 0 else { return blocks[3] }
        return blocks[min(7, Int((point / 2 - low / 2) / span * 8))]
      })
  }
}
