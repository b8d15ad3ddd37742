import Recordings
import Venues

/// What a gateway runs with at present: its configuration, which a reload replaces, and where its feeds are.
struct RunningConfiguration: Sendable {
  var configuration: GatewayConfiguration
  var recorder: @Sendable (Venue, FeedConfiguration) -> RecordingSink? = { _, _ in nil }
  /// Reads the configuration as at the start; nil: it cannot change.
  var load: (@Sendable () throws(ConfigurationProblems) -> GatewayConfiguration)?
  /// The loop of every connection that there was, by its label.
  private(set) var loops: [String: Int] = [:]
  /// Venues count connections by address, whatever they are for.
  private var schedules: [String: ConnectSchedule]
  private var feeds = 0

  /// - Parameter schedules: of venues to which there are connections already.
  init(_ configuration: GatewayConfiguration, schedules: [String: ConnectSchedule] = [:]) {
    self.configuration = configuration
    self.schedules = schedules
  }

  /// A new feed's number among all of the gateway's, which also says its loop; with its venue's schedule.
  mutating func place(
    _ venue: Venue, loops count: Int
  ) -> (number: Int, schedule: ConnectSchedule, recorder: @Sendable (Venue, FeedConfiguration) -> RecordingSink?) {
    let schedule = schedules[venue.name] ?? ConnectSchedule(venue.connectLimit)
    schedules[venue.name] = schedule
    defer { feeds += 1 }
    loops[venue.label] = feeds % count
    return (feeds, schedule, recorder)
  }
}
