import Logging
import PubSub
import Transport

/// The parts that a feed is made with.
package struct FeedParts {
  var tls: TLSClientContext?
  /// When the gateway may connect to the venue; nil: at any time.
  var schedule: ConnectSchedule?
  var recorder: (any FeedRecorder)?
  /// The last ceiling of the back-off, s.
  var reconnectLimitSeconds: Int
  /// Where prices come from, unless the exchange says that it is simulated.
  var source: DataSource
  var log: Logger

  package init(
    tls: TLSClientContext?, schedule: ConnectSchedule? = nil, recorder: (any FeedRecorder)? = nil,
    reconnectLimitSeconds: Int = 30, source: DataSource = .live, log: Logger
  ) {
    self.tls = tls
    self.schedule = schedule
    self.recorder = recorder
    self.reconnectLimitSeconds = reconnectLimitSeconds
    self.source = source
    self.log = log
  }
}
