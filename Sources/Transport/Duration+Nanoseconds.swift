extension Duration {
  /// The nanoseconds of it, as the monotonic clock counts them: 0 for a negative duration, the largest value for one
  /// longer than 584 years.
  package var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, isBeyond) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isOver) = product.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
    return isBeyond || isOver ? .max : sum
  }
}
