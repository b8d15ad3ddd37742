import MarketData
import PubSub
import Venues

/// Where market data comes from: a venue's connection or a recording. Owned by one loop.
protocol Feed: AnyObject {
  var pipeline: FeedPipeline { get }
  /// The slot of its market in the loop's publisher.
  var slot: Int { get }
  var status: FeedStatus { get }
  /// Bytes taken so far.
  var bytesReceived: UInt64 { get }
  /// Connections made so far.
  var connects: Int { get }
  /// When `advance` next has something to do.
  var nextDeadline: Timestamp { get }
  func start()
  /// Ends it for good.
  func stop()
  /// The instruments that appeared or changed, or whose book left or entered sync, since the last call; each once.
  func takeChangedInstruments() -> Set<InstrumentID>
  /// Called about four times a second.
  func tick(_ now: Timestamp)
  /// The clock that `now` comes from has jumped forward by `jump` µs: nothing has been waited for that long.
  func timeJumped(by jump: Int64)
  /// Moves trailing pulses and windows on; called when `nextDeadline` has come.
  func advance(_ now: Timestamp)
}

/// What a feed tells its node.
protocol FeedOwner: AnyObject {
  var clock: GatewayClock { get set }
  /// The pipeline's changes, to be published now.
  func feed(_ feed: any Feed, changed changes: borrowing MarketChanges, at now: Timestamp)
  /// These symbols are followed no more.
  func feed(_ feed: any Feed, leftOut symbols: [String])
  /// The feed's state, a symbol's state or the instruments changed.
  func feedStatusChanged(_ feed: any Feed)
}
