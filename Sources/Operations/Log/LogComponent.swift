import Logging

/// A part of the gateway with its own log level (`log.levels`); its lines have it as `component`.
package enum LogComponent: String, CaseIterable, Sendable {
  case gateway, feeds, clients, access, tls, history, recording
}

extension Logger {
  /// The same log for lines of a part.
  package func of(_ component: LogComponent) -> Logger {
    var log = self
    log[metadataKey: LogLineHandler.componentKey] = "\(component.rawValue)"
    return log
  }
}

/// Levels of parts, as `log.levels` sets them: `feeds=debug`.
package struct LogLevels: Sendable, Equatable {
  /// The level of all parts without one of their own.
  package var standard = Logger.Level.info
  package var byComponent: [LogComponent: Logger.Level] = [:]

  package init(standard: Logger.Level = .info, byComponent: [LogComponent: Logger.Level] = [:]) {
    self.standard = standard
    self.byComponent = byComponent
  }

  package subscript(component: LogComponent) -> Logger.Level { byComponent[component] ?? standard }

  /// `feeds=debug`; nil if it is something else.
  package static func pair(_ text: String) -> (component: LogComponent, level: Logger.Level)? {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, let component = LogComponent(rawValue: parts[0]),
      let level = Logger.Level(rawValue: parts[1].lowercased())
    else { return nil }
    return (component, level)
  }

  /// `clients=warning,feeds=debug`
  package var pairs: [String] {
    byComponent.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key.rawValue)=\($0.value.rawValue)" }
  }
}
