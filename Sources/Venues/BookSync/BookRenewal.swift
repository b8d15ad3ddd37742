import MarketData

/// A live book that is being renewed: what came since the request.
struct BookRenewal {
  let index: Int
  /// The newest update at the request: the snapshot must not be older.
  let floor: Int64
  var bridge: SnapshotBridge
  var kept = 0
}
