import Feeds
import Recordings
import Settings
import Venues

/// The present configuration of a gateway, which a reload replaces, and the loops of its feeds.
struct RunningConfiguration: Sendable {
  var configuration: GatewayConfiguration
  var recorder: @Sendable (Venue, FeedConfiguration) -> RecordingSink? = { _, _ in nil }
  /// Reads the configuration as at the start; nil: it cannot change.
  var load: (@Sendable () throws(ConfigurationProblems) -> GatewayConfiguration)?
  /// The loop of every connection so far, by its label.
  private(set) var loops: [String: Int] = [:]
  /// By venue, since a venue counts all connections of an address together.
  private var schedules: [String: ConnectSchedule]
  private var feeds = 0

  /// - Parameter schedules: the schedules of venues that are connected already.
  init(_ configuration: GatewayConfiguration, schedules: [String: ConnectSchedule] = [:]) {
    self.configuration = configuration
    self.schedules = schedules
  }

  /// A new feed's number among all feeds of the gateway, which also selects its loop; with its venue's schedule.
  mutating func assign(
    _ venue: Venue, loops count: Int
  ) -> (number: Int, schedule: ConnectSchedule, recorder: @Sendable (Venue, FeedConfiguration) -> RecordingSink?) {
    let schedule = schedules[venue.name] ?? ConnectSchedule(venue.connectLimit)
    schedules[venue.name] = schedule
    defer { feeds += 1 }
    loops[venue.label] = feeds % count
    return (feeds, schedule, recorder)
  }
}
