import MarketData
import PubSub
import Transport
import Venues

/// A source of market data: a connection to a venue, or a recording. Owned by one loop.
///
/// A feed knows no owner. The owner calls it with bytes, times and orders. After every call it publishes
/// `pipeline.changes`, calls `settled`, and does so again while that returns true. Then it takes the feed's `news`.
package protocol Feed: AnyObject {
  var pipeline: FeedPipeline { get }
  /// The slot of its market in the loop's publisher.
  var slot: Int { get }
  var status: FeedStatus { get }
  /// Bytes received so far.
  var bytesReceived: UInt64 { get }
  /// Connections opened so far.
  var connects: Int { get }
  /// When `advance` next has something to do.
  var nextDeadline: Timestamp { get }
  /// What the loop calls for this feed; set it before `start`.
  var handler: (any FeedHandler)? { get set }
  func start(_ now: Timestamp)
  /// Ends the feed for good.
  func stop(_ now: Timestamp)
  /// The owner has published `pipeline.changes`: clears them, and does what the pipeline asks for. True if that changed
  /// something again.
  func settled(_ now: Timestamp) -> Bool
  /// Whether the owner has news to take.
  var hasNews: Bool { get }
  func takeNews() -> FeedNews
  /// Takes one thing that has come beside bytes; false if there is none. Call when the handler's `feedArrived` is
  /// called.
  func takeArrival(_ now: Timestamp) -> Bool
  /// The instruments that appeared or changed, or whose book left or entered sync, since the last call; each once.
  func takeChangedInstruments() -> Set<InstrumentID>
  /// Called about four times a second.
  func tick(_ now: Timestamp)
  /// Called after each `tick`, when the feed has settled: gives up what is silent, and plans.
  func check(_ now: Timestamp)
  /// Call when the clock of `now` jumped forward by `jump` µs: moves running time-outs by as much.
  func timeJumped(by jump: Int64)
  /// Advances trailing pulses and windows; called when `nextDeadline` has come.
  func advance(_ now: Timestamp)
}

/// What happened to a feed beside the changes of its market.
package struct FeedNews: Equatable {
  /// The feed's state, a symbol's state or the instruments changed.
  package var isStatusChanged = false
  /// Symbols that the feed no longer follows.
  package var leftOut: [String] = []

  package var isEmpty: Bool { !isStatusChanged && leftOut.isEmpty }
}

/// What the loop calls for a feed: bytes go to the feed's owner, who hands them to the feed.
package protocol FeedHandler: ConnectionHandler {
  /// Something has come that is neither bytes nor the end of a connection: an answer, the failure of an attempt to
  /// connect, or the end of a wait. Call `takeArrival` until it returns false.
  func feedArrived()
}
