import Testing
import Venues

@testable import VenueSimulator

/// What the tests of all simulated venues need of one venue. Each venue's is in its own folder here.
protocol VenueTrials: VenueSimulation {
  /// Of each connection.
  static var setups: [BookPropertyTests.Setup] { get }
  /// Of each connection that needs more than one go of requests for its symbols.
  static var crowds: [CrowdTests.Crowd] { get }
  /// Of each kind of market whose candles differ.
  static var candleSheets: [CandleSheet] { get }
}

extension VenueTrials {
  static var crowds: [CrowdTests.Crowd] { [] }
}

extension SimulationRegistry {
  static let trials: [any VenueTrials.Type] = simulations.compactMap { $0 as? any VenueTrials.Type }
}

@Suite("Trials of venues")
struct VenueTrialsTests {
  @Test("every venue of the registry is simulated", arguments: VenueRegistry.venues.map(\.name))
  func simulated(_ name: String) {
    #expect(SimulatedVenue.names.contains(name), "no line of SimulationRegistry.simulations is of \(name)")
  }

  @Test(
    "every connection of a simulated venue has a setup, and its candles have a sheet", arguments: SimulatedVenue.names)
  func complete(_ name: String) {
    let type = SimulationRegistry.simulations.first { $0.kind.name == name }.map { "\($0)" } ?? ""
    let file =
      "Tests/VenueSimulatorTests/\(type.replacing("Protocol", with: "/"))\(type.replacing("Protocol", with: "Trials")).swift"
    guard let trials = SimulationRegistry.trials.first(where: { $0.kind.name == name }) else {
      Issue.record("no `extension \(type): VenueTrials`: it belongs into \(file)")
      return
    }
    for connection in VenueRegistry.connections where connection.name == name {
      #expect(
        trials.setups.contains { $0.venue.label == connection.label }, "\(file) has no setup of \(connection.label)")
    }
    #expect(!trials.candleSheets.isEmpty, "\(file) has no sheet of candles")
  }
}
