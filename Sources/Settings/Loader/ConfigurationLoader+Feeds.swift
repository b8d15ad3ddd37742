import Documents
import Foundation
import HTTP1
import MarketData
import Transport
import Venues

/// Reads feeds, whose keys contain the name of a venue, and checks settings against each other.
extension ConfigurationLoader {
  static let feedFields = ["symbols", "endpoint", "rest-endpoint"]
  static let symbolRule =
    "symbols like BTC-USD, BTC-USD-PERP or BTC-USD-20261225, or selections like *-USD or *-USD:top20, each once"

  /// Reads `feeds.VENUE` (a list of symbols) or `feeds.VENUE.FIELD` of a file.
  mutating func read(feedKey key: String, values: [String]?, location: String) {
    let path = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let field = path.count == 2 ? "symbols" : path[2...].joined(separator: ".")
    guard checkVenue(path[1], name: key, location: location) else { return }
    switch field {
    case "symbols":
      setSymbols(Self.items(values, separator: ","), of: path[1], name: key, location: location)
    case "endpoint", "rest-endpoint":
      setEndpoint(
        values?.joined(separator: ",") ?? "", of: path[1], isREST: field != "endpoint", name: key, location: location)
    default:
      report(
        key, at: location, "unknown key", allowed: Self.feedFields.joined(separator: ", "),
        suggestion: NearNames.of(field, among: Self.feedFields, limit: 1).first.map { "feeds.\(path[1]).\($0)" })
    }
  }

  /// Reads `VENUE=SYM,SYM` of a flag or the environment.
  mutating func read(feed text: String, name: String, location: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      report(name, at: location, "\"\(text)\" is not allowed", allowed: "VENUE=SYMBOL,SYMBOL like kraken=BTC-USD")
      return
    }
    let venue = parts[0].trimmingCharacters(in: .whitespaces)
    guard checkVenue(venue, name: name, location: location) else { return }
    setSymbols(Self.items([String(parts[1])], separator: ","), of: venue, name: name, location: location)
  }

  /// Reads `VENUE=URL` or `VENUE.rest=URL` of a flag or the environment.
  mutating func read(endpoint text: String, name: String, location: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      problems.append(
        ConfigurationProblem(
          name: name, location: location, message: "\"\(text)\" is not allowed",
          allowed: "VENUE=URL like kraken=ws://127.0.0.1:9001, or VENUE.rest=URL"))
      return
    }
    var venue = parts[0].trimmingCharacters(in: .whitespaces)
    let isREST = venue.hasSuffix(".rest")
    if isREST { venue.removeLast(5) }
    guard checkVenue(venue, name: name, location: location) else { return }
    setEndpoint(
      parts[1].trimmingCharacters(in: .whitespaces), of: venue, isREST: isREST, name: name, location: location)
  }

  private mutating func checkVenue(_ venue: String, name: String, location: String) -> Bool {
    guard !venues.contains(where: { $0.name == venue }) else { return true }
    report(
      name, at: location, "there is no venue \"\(venue)\"",
      allowed: venues.map(\.name).sorted().joined(separator: ", "),
      suggestion: NearNames.of(venue, among: venues.map(\.name), limit: 1).first)
    return false
  }

  private mutating func setSymbols(_ symbols: [String], of venue: String, name: String, location: String) {
    let rule = venues.first { $0.name == venue }
    let limit = rule?.symbolLimit ?? 0
    for text in symbols where MarketSelection.isMeant(by: text) {
      guard let message = Self.objection(to: text, limit: limit) else { continue }
      report(name, at: location, "\"\(text)\" is not allowed: \(message)")
      return
    }
    var bad = symbols.filter { !MarketSelection.isMeant(by: $0) && !Self.isSymbol($0) }
    bad += Dictionary(grouping: symbols) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
    guard bad.isEmpty, (1...max(limit, 1)).contains(symbols.count) else {
      let message =
        symbols.isEmpty
        ? "has no symbols"
        : bad.isEmpty ? "has \(symbols.count) symbols" : "\"\(bad.joined(separator: ","))\" is not allowed"
      let near = bad.first.flatMap { Self.isSymbol($0.uppercased()) && $0 != $0.uppercased() ? $0.uppercased() : nil }
      report(name, at: location, message, allowed: "1 to \(limit) \(Self.symbolRule)", suggestion: near)
      return
    }
    if let rule, let foreign = symbols.first(where: { !Self.mayTrade($0, at: rule) }) {
      report(
        name, at: location, "\"\(foreign)\" is of a kind of market that \(venue) does not have",
        allowed: Instrument.Kind.Family.allCases.filter { rule.kinds.contains($0) }.map(\.rawValue).joined(
          separator: ", "))
      return
    }
    if let objection = rule?.objection(symbols) {
      report(
        name, at: location, objection,
        allowed: "at most \(Venue.connectionLimit) connections of a kind; let another gateway follow the rest")
      return
    }
    feeds[venue, default: .init(venue: venue, symbols: [])].symbols = symbols
    origins["feeds.\(venue).symbols"] = location
  }

  private mutating func setEndpoint(_ text: String, of venue: String, isREST: Bool, name: String, location: String) {
    guard let url = EndpointURL(text), (url.scheme == .http || url.scheme == .https) == isREST else {
      problems.append(
        ConfigurationProblem(
          name: name, location: location, message: "\"\(text)\" is not allowed",
          allowed: isREST ? "a URL like https://host:port" : "a URL like wss://host:port/path"))
      return
    }
    if isREST {
      feeds[venue, default: .init(venue: venue, symbols: [])].restEndpoint = text
    } else {
      feeds[venue, default: .init(venue: venue, symbols: [])].endpoint = text
    }
    origins["feeds.\(venue).\(isREST ? "rest-endpoint" : "endpoint")"] = location
  }

  /// Whether a symbol or selection can name markets that a venue has.
  private static func mayTrade(_ text: String, at rule: VenueRule) -> Bool {
    guard MarketSelection.isMeant(by: text) else {
      return FeedSymbol(text).map { rule.kinds.contains($0.kind.family) } ?? false
    }
    guard let selection = try? MarketSelection(text) else { return false }
    return rule.kinds.contains { selection.mayHold($0) }
  }

  /// Why a text is not a valid selection; nil if it is one.
  static func objection(to text: String, limit: Int) -> String? {
    do throws(MarketSelectionError) {
      let selection = try MarketSelection(text)
      guard let rank = selection.rank, rank > limit else { return nil }
      return "a feed of this venue follows at most \(limit) symbols: write \(selection.narrowed(to: limit))"
    } catch {
      return error.description
    }
  }

  /// `BASE-QUOTE`, with `-PERP` or `-YYYYMMDD` for derivatives; parts of 1 to 20 upper-case letters and digits.
  static func isSymbol(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count) else { return false }
    let isPlain = parts.allSatisfy { part in
      (1...20).contains(part.utf8.count)
        && part.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
    }
    guard isPlain else { return false }
    return parts.count == 2 || parts[2] == "PERP"
      || (parts[2].utf8.count == 8 && parts[2].utf8.allSatisfy { (0x30...0x39).contains($0) })
  }

  /// Checks the admitted clients, if the configuration itself names them.
  private mutating func checkAccess() {
    guard !access.isEmpty else { return }
    if configuration.keysFile != nil {
      report(
        "access", at: "file \(accessPath)", "cannot be combined with keys-file (\(origins["keys-file"] ?? "default"))",
        allowed: "one of them")
    }
    if FileProblem.isWritableByAll(accessPath) {
      problems.append(FileProblem.writableByAll(accessPath, name: "access"))
    }
    do throws(ConfigurationProblems) {
      configuration.access = try access.policy(path: accessPath) { path in
        FileManager.default.contents(atPath: path).map { [UInt8]($0) }
      }
    } catch {
      problems += error.problems
    }
  }

  /// The internal port answers everybody: metrics, health, topics to publish. On an address that other networks reach,
  /// that needs a word of the operator, which `internal-hosts` is.
  private mutating func checkInternalAddress() {
    let address = configuration.internalListen
    let isOfEverything = ["0.0.0.0", "::"].contains(address.host)
    guard isOfEverything || WebhookAddresses(allowed: []).allows(address.address), configuration.internalHosts.isEmpty
    else { return }
    report(
      "internal-listen", at: origins["internal-listen"] ?? "default",
      "\(address.description) can be reached from "
        + (isOfEverything ? "every network of this machine" : "the Internet")
        + ", and the internal port asks nobody for a token before it publishes or shows metrics",
      allowed: "a loopback or private address; or name the hosts of its URLs in internal-hosts, if a firewall guards it"
    )
  }

  /// Makes the checks that need the whole configuration.
  mutating func check(needsData: Bool) {
    func location(_ key: String) -> String { origins[key] ?? "default" }
    configuration.feeds = feeds.values.sorted { $0.venue < $1.venue }
    for index in configuration.feeds.indices {
      let feed = configuration.feeds[index]
      if feed.symbols.isEmpty {
        let given = feed.endpoint == nil ? "rest-endpoint" : "endpoint"
        let at = location("feeds.\(feed.venue).\(given)")
        // A problem reported above may be that the symbols were given and rejected.
        if !problems.contains(where: { $0.name == "feeds.\(feed.venue).symbols" || $0.name == "feeds.\(feed.venue)" }) {
          report("feeds.\(feed.venue)", at: at, "has an \(given) but no symbols", allowed: Self.symbolRule)
        }
      }
      if feed.restEndpoint == nil, let endpoint = feed.endpoint, let url = EndpointURL(endpoint) {
        configuration.feeds[index].restEndpoint = url.restBase
        origins["feeds.\(feed.venue).rest-endpoint"] = "the host and port of endpoint"
      }
    }
    let count = configuration.demo ? GatewayConfiguration.demoFeeds : configuration.feeds.count
    if count > 0, configuration.readyFeeds > count {
      report(
        "ready-feeds", at: location("ready-feeds"),
        "\(configuration.readyFeeds) is more than the number of feeds: the gateway would never be ready",
        allowed: "0…\(count)")
    }
    var named: [(key: String, path: String)] = []
    if let path = configuration.caFile { named.append(("ca-file", path)) }
    named += tlsFiles
    if let path = configuration.keysFile { named.append(("keys-file", path)) }
    if let path = configuration.adminTokenFile { named.append(("admin.token-file", path)) }
    named += configuration.replay.map { ("replay", $0) }
    for file in named where !file.path.isEmpty && !isReadable(file.path) {
      let reason = files.reading(file.path).map { ": \($0)" } ?? ""
      report(file.key, at: location(file.key), "\"\(file.path)\" cannot be read\(reason)", allowed: "a readable file")
    }
    if let path = configuration.record, !path.isEmpty, let reason = files.recording(path) {
      report(
        "record", at: location("record"), "\"\(path)\" cannot be written: \(reason)",
        allowed: "a file in an existing folder, or a folder with / at its end")
    }
    checkAccess()
    checkTLS()
    configuration.decks.read(files.decks, &problems)
    configuration.topics.read(files.schemas, &problems)
    if configuration.demo, !configuration.replay.isEmpty {
      report(
        "replay", at: location("replay"), "cannot be combined with demo (\(location("demo")))", allowed: "one of them")
    }
    if configuration.demo, let feed = configuration.feeds.first {
      let at = location("feeds.\(feed.venue).symbols")
      report(
        "demo", at: location("demo"),
        "cannot be combined with feeds (feeds.\(feed.venue), \(at)): its simulated prices would replace theirs",
        allowed: "one of them")
    }
    if configuration.listen == configuration.internalListen, configuration.listen.port != 0 {
      report(
        "internal-listen", at: location("internal-listen"),
        "\(configuration.listen.description) is taken by listen (\(location("listen")))", allowed: "another port")
    }
    checkInternalAddress()
    if needsData, configuration.feeds.isEmpty, !configuration.demo, configuration.replay.isEmpty, problems.isEmpty {
      report(
        "feeds", at: "default", "there is nothing to serve",
        allowed: "feeds in the file, --feed VENUE=SYMBOL, --demo or --replay FILE")
    }
  }
}
