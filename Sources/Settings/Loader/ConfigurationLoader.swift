import Access
import Configuration
import Decks
import Foundation
import MarketData
import PubSub
import Synchronization
import Transport
import Venues

/// A command-line flag that sets a setting.
package struct ConfigurationFlag: Sendable, Equatable {
  /// As it was typed: `--listen`.
  package let name: String
  /// The key that it sets: `listen`. Two name a venue: `feeds` and `endpoints`.
  package let key: String
  package let values: [String]

  package init(_ name: String, sets key: String, to values: [String]) {
    self.name = name
    self.key = key
    self.values = values
  }
}

/// A checked configuration, and where each of its values came from.
package struct LoadedConfiguration: Sendable {
  package struct Entry: Sendable, Equatable {
    package let key: String
    package let value: String
    /// `default`, `file tidegate.yaml, key listen`, `variable TIDEGATE_LISTEN`, `flag --listen`.
    package let origin: String
  }
  package var configuration: GatewayConfiguration
  /// Every setting in the order of the reference, then every feed.
  package var entries: [Entry]

  /// The entries as aligned lines: `listen  127.0.0.1:8080  (default)`.
  package var description: String {
    let width = entries.map(\.key.count).max() ?? 0
    return entries.map { entry in
      let padding = String(repeating: " ", count: width - entry.key.count)
      return "\(entry.key)\(padding)  \(entry.value.isEmpty ? "-" : entry.value)  (\(entry.origin))"
    }.joined(separator: "\n")
  }
}

/// Reads and checks a configuration: file, then environment, then flags; the later one wins. Checks every value of
/// every layer, even one that a later layer replaces, and reports all problems together.
package struct ConfigurationLoader: Sendable {
  /// What the loader knows of a venue: its name, and which symbols one feed of it can follow.
  package struct VenueRule: Sendable {
    package let name: String
    package let symbolLimit: Int
    /// The kinds of market that it has.
    package let kinds: Set<Instrument.Kind.Family>
    /// Why the venue cannot follow these symbols although they are within the limit; nil if it can.
    package let objection: @Sendable (_ symbols: [String]) -> String?
    package init(
      name: String, symbolLimit: Int, kinds: Set<Instrument.Kind.Family> = Set(Instrument.Kind.Family.allCases),
      objection: @escaping @Sendable (_ symbols: [String]) -> String? = { _ in nil }
    ) {
      self.kinds = kinds
      self.name = name
      self.symbolLimit = symbolLimit
      self.objection = objection
    }
    package init(_ venue: Venue) {
      self.init(
        name: venue.name, symbolLimit: venue.feedSymbolLimit, kinds: venue.kinds,
        objection: { venue.objection(to: $0) })
    }
  }

  /// The largest configuration file, bytes.
  package static let fileLimit = 1 << 20
  /// Variables with the prefix `TIDEGATE_` that other parts read.
  static let otherVariables: Set<String> = [
    "TIDEGATE_BENCHMARKS", "TIDEGATE_RECORDINGS", "TIDEGATE_CONFIG", "TIDEGATE_TOKEN",
  ]

  let venues: [VenueRule]
  let isReadable: @Sendable (String) -> Bool
  let tlsProblems: @Sendable (TLSServerConfiguration) -> [TransportError]
  let files: FileChecks
  var problems: [ConfigurationProblem] = []
  var configuration = GatewayConfiguration()
  var origins: [String: String] = [:]
  var feeds: [String: GatewayConfiguration.Feed] = [:]
  var access = AccessSection()
  /// The file that contains `access`.
  var accessPath = ""
  /// Whether the file is a key file, which may contain `access` and nothing else.
  var readsAccessAlone = false

  /// - Parameters:
  ///   - file: path of a `.yaml`, `.yml` or `.json` file; nil: none.
  ///   - environment: all variables; those with the prefix `TIDEGATE_` are read.
  ///   - needsData: whether a configuration without feeds, demo and replay is a problem.
  ///   - venues: what `feeds` may name.
  ///   - isReadable: whether a file named in the configuration can be read.
  ///   - tlsProblems: finds what is wrong with the named certificates, keys and roots.
  package static func load(
    file: String?, environment: [String: String] = [:], flags: [ConfigurationFlag] = [], needsData: Bool = true,
    venues: [VenueRule] = VenueRegistry.venues.map { VenueRule($0) },
    isReadable: @escaping @Sendable (String) -> Bool = { FileManager.default.isReadableFile(atPath: $0) },
    tlsProblems: @escaping @Sendable (TLSServerConfiguration) -> [TransportError] = TLSServerContext.problems
  ) throws(ConfigurationProblems) -> LoadedConfiguration {
    var loader = ConfigurationLoader(
      venues: venues, isReadable: isReadable, tlsProblems: tlsProblems, files: .system)
    loader.configuration.data.directory = GatewayConfiguration.DataSettings.usualDirectory(environment)
    if let file { loader.read(file: file) }
    loader.read(environment: environment)
    loader.read(flags: flags)
    loader.check(needsData: needsData)
    guard loader.problems.isEmpty else { throw ConfigurationProblems(problems: loader.problems) }
    return LoadedConfiguration(configuration: loader.configuration, entries: loader.entries())
  }

  /// Checks of paths and folders, whose answers are texts for people.
  struct FileChecks: Sendable {
    /// Why a file cannot be read; nil if the reason is unknown.
    var reading: @Sendable (String) -> String? = { _ in nil }
    /// Why nothing can be recorded at a path; nil if it can.
    var recording: @Sendable (String) -> String? = { _ in nil }

    /// The decks of a folder.
    var decks: @Sendable (String) throws(ConfigurationProblems) -> [Deck] = { _ in [] }

    /// The schemas of a folder, by topic.
    var schemas: @Sendable (String) throws(ConfigurationProblems) -> [String: TopicSchema] = { _ in [:] }

    static let system = FileChecks(
      reading: { FileProblem.reading($0) }, recording: { FileProblem.recording($0) }, decks: DeckFiles.load,
      schemas: TopicSchemaFiles.load)
  }

  init(
    venues: [VenueRule], isReadable: @escaping @Sendable (String) -> Bool,
    tlsProblems: @escaping @Sendable (TLSServerConfiguration) -> [TransportError], files: FileChecks = FileChecks()
  ) {
    self.files = files
    self.venues = venues
    self.isReadable = isReadable
    self.tlsProblems = tlsProblems
  }

  /// Adds a problem: with one, the configuration is refused.
  mutating func report(
    _ name: String, at location: String, _ message: String, allowed: String = "", suggestion: String? = nil
  ) {
    problems.append(
      ConfigurationProblem(name: name, location: location, message: message, allowed: allowed, suggestion: suggestion))
  }

  // MARK: Layers

  mutating func read(file path: String) {
    func problem(_ message: String, allowed: String = "") -> ConfigurationProblem {
      ConfigurationProblem(name: "config", location: "file \(path)", message: message, allowed: allowed)
    }
    let suffix = path.split(separator: ".").last.map { $0.lowercased() } ?? ""
    guard ["yaml", "yml", "json"].contains(suffix) else {
      problems.append(problem("its name does not say its format", allowed: "a file that ends in .yaml, .yml or .json"))
      return
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      let reason = files.reading(path).map { ": \($0)" } ?? ""
      problems.append(problem("cannot be read\(reason)", allowed: "a readable file"))
      return
    }
    guard data.count <= Self.fileLimit else {
      problems.append(problem("has \(data.count) bytes", allowed: "at most \(Self.fileLimit)"))
      return
    }
    read(contents: [UInt8](data), isJSON: suffix == "json", name: path)
  }

  /// Reads the text of a file. The parsers pass every key to their secrets specifier, which is how unknown keys are
  /// found.
  mutating func read(contents: [UInt8], isJSON: Bool, name: String) {
    if findMistakes(in: contents, isJSON: isJSON, name: name) { return }
    let seen = SeenKeys()
    let specifier = SecretsSpecifier<String, Void>.dynamic { key, _ in
      seen.insert(key)
      return false
    }
    let snapshot: any ConfigSnapshot
    do {
      if isJSON {
        let collecting = SecretsSpecifier<String, any Sendable>.dynamic { key, _ in
          seen.insert(key)
          return false
        }
        snapshot = try JSONSnapshot(
          data: contents.span.bytes, providerName: name, parsingOptions: .init(secretsSpecifier: collecting))
      } else {
        snapshot = try YAMLSnapshot(
          data: contents.span.bytes, providerName: name, parsingOptions: .init(secretsSpecifier: specifier))
      }
    } catch {
      report(
        "config", at: "file \(name)", "is not readable \(isJSON ? "JSON" : "YAML"): \(error)",
        allowed: "a map of keys; lists hold plain values")
      return
    }
    for key in seen.keys.sorted() {
      let location = "file \(name), key \(key)"
      let path = key.split(separator: ".").map(String.init)
      let values = Self.values(of: path, in: snapshot, isBool: Setting.byKey[key]?.isBool ?? false)
      if key.hasPrefix("access.") || key == "access" {
        access.read(key: key, values: values, location: "file \(name)")
        accessPath = name
      } else if readsAccessAlone {
        report(key, at: location, "does not belong in a key file", allowed: "the map access")
      } else if key.hasPrefix("feeds.") {
        read(feedKey: key, values: values, location: location)
      } else if let setting = Setting.byKey[key] {
        apply(setting, values: values, name: key, location: location)
      } else {
        report(
          key, at: location, "unknown key",
          suggestion: NearNames.of(key, among: Setting.all.map(\.key) + ["access", "feeds"], limit: 1).first)
      }
    }
  }

  /// Reports mistakes that a parser would accept or explain badly. True if there are any: then the parser is not asked.
  private mutating func findMistakes(in contents: [UInt8], isJSON: Bool, name: String) -> Bool {
    let mistakes =
      isJSON ? JSONMistakes(contents).found : YAMLMistakes(String(decoding: contents, as: UTF8.self)).found
    for mistake in mistakes {
      let lines = mistake.lines.map { "\($0)" }.joined(separator: " and ")
      report(
        mistake.name, at: "file \(name), line\(mistake.lines.count > 1 ? "s" : "") \(lines)", mistake.message,
        allowed: mistake.allowed)
    }
    return !mistakes.isEmpty
  }

  mutating func read(environment: [String: String]) {
    let ours = environment.filter { $0.key.hasPrefix("TIDEGATE_") && !Self.otherVariables.contains($0.key) }
    guard !ours.isEmpty else { return }
    let snapshot = EnvironmentVariablesProvider(environmentVariables: ours).snapshot()
    let settings = Dictionary(uniqueKeysWithValues: Setting.all.map { ($0.variable, $0) })
    for name in ours.keys.sorted() {
      let location = "variable \(name)"
      let values = Self.values(of: [name], in: snapshot)
      if name == "TIDEGATE_FEEDS" {
        for item in Self.items(values, separator: ";") { read(feed: item, name: name, location: location) }
      } else if name == "TIDEGATE_ENDPOINTS" {
        for item in Self.items(values, separator: ";") { read(endpoint: item, name: name, location: location) }
      } else if let setting = settings[name] {
        apply(setting, values: values, name: name, location: location)
      } else {
        report(
          name, at: location, "unknown variable",
          suggestion: NearNames.of(
            name, among: Array(settings.keys.sorted()) + ["TIDEGATE_FEEDS", "TIDEGATE_ENDPOINTS"], limit: 1
          ).first)
      }
    }
  }

  mutating func read(flags: [ConfigurationFlag]) {
    let provider = InMemoryProvider(
      name: "flags",
      values: Dictionary(
        flags.map { (AbsoluteConfigKey([$0.key]), ConfigValue(.stringArray($0.values), isSecret: false)) },
        uniquingKeysWith: { $1 }))
    let snapshot = provider.snapshot()
    for flag in flags {
      let location = "flag \(flag.name)"
      let values = Self.values(of: [flag.key], in: snapshot)
      switch flag.key {
      case "feeds": for item in values ?? [] { read(feed: item, name: flag.name, location: location) }
      case "endpoints": for item in values ?? [] { read(endpoint: item, name: flag.name, location: location) }
      default:
        guard let setting = Setting.byKey[flag.key] else { preconditionFailure("no setting \(flag.key)") }
        apply(setting, values: values, name: flag.name, location: location)
      }
    }
  }

  /// The value at a path as texts: one for a scalar, one for each element of a list. Nil for anything else.
  static func values(of path: [String], in snapshot: any ConfigSnapshot, isBool: Bool = false) -> [String]? {
    let key = AbsoluteConfigKey(path)
    let scalars: [ConfigType] = isBool ? [.string, .bool, .int, .double] : [.string, .int, .double, .bool]
    for type in scalars + [.stringArray, .intArray, .doubleArray, .boolArray] {
      guard let value = try? snapshot.value(forKey: key, type: type).value else { continue }
      switch value.content {
      case .string(let text): return [text]
      case .stringArray(let texts): return texts
      case .int(let number): return [String(number)]
      case .double(let number): return [String(number)]
      case .bool(let flag): return [String(flag)]
      case .intArray(let numbers): return numbers.map { String($0) }
      case .doubleArray(let numbers): return numbers.map { String($0) }
      case .boolArray(let flags): return flags.map { String($0) }
      case .bytes, .byteChunkArray: continue
      }
    }
    return nil
  }

  /// The texts between separators, trimmed, without empty ones.
  static func items(_ values: [String]?, separator: Character) -> [String] {
    (values ?? []).flatMap { $0.split(separator: separator) }.map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
  }

  mutating func apply(_ setting: Setting, values: [String]?, name: String, location: String) {
    let values = setting.isList ? values.map { Self.items($0, separator: ",") } : values
    guard let values, setting.isList || values.count == 1 else {
      report(
        name, at: location, "takes one value, not \(values.map { "a list of \($0.count)" } ?? "this")",
        allowed: setting.allowed)
      return
    }
    var changed = configuration
    if setting.set(&changed, values) {
      configuration = changed
      origins[setting.key] = location
    } else {
      report(name, at: location, "\"\(values.joined(separator: ","))\" is not allowed", allowed: setting.allowed)
    }
  }

  func entries() -> [LoadedConfiguration.Entry] {
    func entry(_ key: String, _ value: String) -> LoadedConfiguration.Entry {
      .init(key: key, value: value, origin: origins[key] ?? "default")
    }
    var entries = Setting.all.map { entry($0.key, $0.show(configuration)) }
    for feed in configuration.feeds {
      entries.append(entry("feeds.\(feed.venue).symbols", feed.symbols.joined(separator: ",")))
      if let endpoint = feed.endpoint { entries.append(entry("feeds.\(feed.venue).endpoint", endpoint)) }
      if let rest = feed.restEndpoint { entries.append(entry("feeds.\(feed.venue).rest-endpoint", rest)) }
    }
    if let access = configuration.access {
      entries.append(.init(key: "access", value: access.summary, origin: "file \(accessPath)"))
    }
    return entries
  }
}

/// The keys that a parser has found.
private final class SeenKeys: Sendable {
  private let names = Mutex<Set<String>>([])
  func insert(_ key: String) { names.withLock { _ = $0.insert(key) } }
  var keys: [String] { names.withLock { Array($0) } }
}
