import Alerts
import Foundation
import Synchronization

/// The time zones of the system, each read on its first use.
///
/// The names are listed in advance, so that an unknown name causes no disk access.
final class ZoneFiles: Sendable {
  /// Where the system keeps the IANA database.
  private static let folder = "/usr/share/zoneinfo/"
  /// Folders that contain the same zones again, with leap seconds counted differently.
  private static let copies = ["posix/", "right/"]
  /// The most names that are listed; the database of 2026 has 600.
  private static let limit = 5_000

  private struct State {
    var names: Set<String> = []
    var rules: [String: TimeZoneRules] = ["UTC": .utc]
  }
  private let state = Mutex(State())

  /// Lists the names again and forgets all rules: the database may have changed. Blocks on the disk.
  func refresh() {
    let paths = (try? FileManager.default.subpathsOfDirectory(atPath: Self.folder)) ?? []
    let names = paths.lazy.filter { path in
      Self.isName(path) && !Self.copies.contains { path.hasPrefix($0) } && path.contains { $0.isUppercase }
    }
    let fresh = State(names: Set(names.prefix(Self.limit)))
    state.withLock { $0 = fresh }
  }

  /// The rules of a zone; nil if no zone has that name. Reads a small file on the first use.
  func rules(_ name: String) -> TimeZoneRules? {
    state.withLock { state in
      if let rules = state.rules[name] { return rules }
      guard state.names.contains(name) else { return nil }
      guard let rules = Self.read(name) else {
        state.names.remove(name)
        return nil
      }
      state.rules[name] = rules
      return rules
    }
  }

  var names: [String] { state.withLock { $0.names.union(["UTC"]) }.sorted() }

  /// Reads a zone's file; nil if no zone has that name.
  static func read(_ name: String) -> TimeZoneRules? {
    guard isName(name), let data = FileManager.default.contents(atPath: folder + name),
      data.count <= TimeZoneRules.fileLimit
    else { return nil }
    return try? TimeZoneRules(tzif: [UInt8](data))
  }

  /// `Europe/Berlin`, and nothing that leads out of the folder.
  static func isName(_ name: String) -> Bool {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    return name.utf8.count <= 64 && parts.count <= 3
      && parts.allSatisfy { part in
        !part.isEmpty
          && part.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
              UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "+"):
              true
            default: false
            }
          }
      }
  }
}
