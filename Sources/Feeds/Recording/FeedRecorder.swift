import MarketData

/// Writes what a feed receives and sends to a recording. Called on the feed's loop; must not block it.
package protocol FeedRecorder: AnyObject {
  func opened(url: String, at now: Timestamp)
  func received(_ message: UnsafeRawBufferPointer, at now: Timestamp)
  func sent(_ message: String, at now: Timestamp)
  func answered(url: String, status: Int, body: [UInt8], at now: Timestamp)
  func closed(at now: Timestamp)
}
