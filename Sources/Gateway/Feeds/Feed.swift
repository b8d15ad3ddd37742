import MarketData
import PubSub
import Venues

/// A source of market data: a connection to a venue, or a recording. Owned by one loop.
protocol Feed: AnyObject {
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
  func start()
  /// Ends the feed for good.
  func stop()
  /// The instruments that appeared or changed, or whose book left or entered sync, since the last call; each once.
  func takeChangedInstruments() -> Set<InstrumentID>
  /// Called about four times a second.
  func tick(_ now: Timestamp)
  /// Call when the clock of `now` jumped forward by `jump` µs: moves running time-outs by as much.
  func timeJumped(by jump: Int64)
  /// Advances trailing pulses and windows; called when `nextDeadline` has come.
  func advance(_ now: Timestamp)
}

/// What a feed reports to its node.
protocol FeedOwner: AnyObject {
  var clock: GatewayClock { get set }
  /// The pipeline's changes, to be published now.
  func feed(_ feed: any Feed, changed changes: borrowing MarketChanges, at now: Timestamp)
  /// The feed no longer follows these symbols.
  func feed(_ feed: any Feed, leftOut symbols: [String])
  /// The feed's state, a symbol's state or the instruments changed.
  func feedStatusChanged(_ feed: any Feed)
}
