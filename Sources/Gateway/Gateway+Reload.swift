import Access
import Documents
import Foundation
import Logging
import Operations
import PubSub
import Settings
import Synchronization
import Transport
import Venues

/// The outcome of reading files of one kind again.
private struct FileReload {
  /// Whether there are such files.
  var isConfigured = true
  /// A text for each change.
  var changed: [String] = []
  /// Why the old files stay in use; empty: they do not.
  var problems: [String] = []

  mutating func add(_ other: FileReload) {
    isConfigured = isConfigured || other.isConfigured
    changed += other.changed
    problems += other.problems
  }
}

/// Changes while the gateway runs: feeds and their symbols, limits, origins, the log, certificates, roots, keys, decks
/// and schemas.
extension Gateway {
  /// The gateway warns of a certificate that expires within this time, at each reading, s.
  private static let expiryWarning = 14 * 86_400

  /// Reads the gateway's files again: the configuration, certificates and keys of the client port, the roots of
  /// clients' certificates and of venues, the key file, decks and schemas. Present clients and connections stay. If the
  /// configuration cannot be used, nothing changes, and the log has the reason. If a file cannot be used, the old one
  /// stays in use. For keys, decks and schemas the old settings stay, too. Blocks on the disk: do not call it on a
  /// loop. Callable at any time, even while the gateway drains.
  ///
  /// - Parameter load: reads the configuration, as at the start; nil: there is no configuration to read.
  @discardableResult
  package func reload(
    _ load: (() throws(ConfigurationProblems) -> GatewayConfiguration)? = nil
  ) -> ReloadOutcome {
    reloads.sync { read(load) }
  }

  /// Reloads off the caller's queue, with the function that `onReload` was given.
  func reload(then completion: @escaping @Sendable (ReloadOutcome) -> Void) {
    let load = running.withLock { $0.load }
    reloads.async { [self] in completion(read(load)) }
  }

  /// Sets the function that reads the configuration again when an operator requests it over HTTP.
  package func onReload(_ load: (@Sendable () throws(ConfigurationProblems) -> GatewayConfiguration)?) {
    running.withLock { $0.load = load }
  }

  private func read(_ load: (() throws(ConfigurationProblems) -> GatewayConfiguration)?) -> ReloadOutcome {
    var change: ConfigurationChange?
    var next: GatewayConfiguration?
    if let load {
      do throws(ConfigurationProblems) {
        let loaded = try load()
        next = loaded
        change = ConfigurationChange(from: running.withLock { $0.configuration }, to: loaded)
      } catch {
        return refuse(error.problems.map(\.description))
      }
    }
    // Each of these files is replaced or kept on its own.
    var outcome = reloadKeys(next)
    if readAdminToken() { outcome.isConfigured = true }
    if reloadCertificates() { outcome.isConfigured = true }
    if reloadRoots() { outcome.isConfigured = true }
    outcome.add(reloadDecks(next))
    outcome.add(reloadSchemas(next))
    guard outcome.problems.isEmpty else { return refuse(outcome.problems) }
    let (hasFiles, files) = (outcome.isConfigured, outcome.changed)
    guard let change, let next else {
      if !hasFiles { sayNothingToRead() }
      return .done(changed: files, needsRestart: [])
    }
    if change.isEmpty {
      if !hasFiles {
        sayNothingToRead()
      } else if files.isEmpty {
        log.notice("the configuration is unchanged")
      }
      return .done(changed: files, needsRestart: [])
    }
    return apply(change, next, files)
  }

  private func sayNothingToRead() {
    log.notice(
      "nothing to reload",
      metadata: [
        "hint":
          "the configuration is unchanged, and no tls.certificate, ca-file, keys-file, decks or schemas are configured"
      ])
  }

  private func refuse(_ problems: [String]) -> ReloadOutcome {
    log.error(
      "nothing was changed: the old settings stay in use, because the new ones or their files are not usable",
      metadata: ["reason": "\(problems.joined(separator: "; "))", "problems": "\(problems.count)"])
    return .refused(problems)
  }

  // MARK: The configuration

  /// - Parameter files: the changes of decks and schemas.
  private func apply(
    _ change: ConfigurationChange, _ next: GatewayConfiguration, _ files: [String]
  ) -> ReloadOutcome {
    running.withLock { $0.configuration = next }
    if !change.applied.isEmpty { applySettings(next) }
    var changed: [String] = []
    for item in change.applied {
      changed.append("\(item.key): \(item.new)")
      log.notice(
        "a setting was changed", metadata: ["key": "\(item.key)", "from": "\(item.old)", "to": "\(item.new)"])
    }
    let connections = next.feedConnections
    for step in change.feeds {
      switch step {
      case .begin(let label):
        guard let (venue, settings) = connections.first(where: { $0.venue.label == label }) else { continue }
        begin(again: label, settings) { [self] in begin(venue, settings, among: connections) }
        changed.append("feeds: \(label) was added")
        log.notice(
          "a feed was added",
          metadata: ["connection": "\(label)", "symbols": "\(settings.symbols.joined(separator: ","))"])
      case .end(let label):
        onLoop(of: label) { $0.feeds.end(label) }
        changed.append("feeds: \(label) was removed")
        log.notice("a feed was removed", metadata: ["connection": "\(label)"])
      case .change(let label, let added, let removed):
        guard let settings = connections.first(where: { $0.venue.label == label })?.configuration else { continue }
        onLoop(of: label) { $0.feeds.change(label, to: settings) }
        changed.append("feeds: \(label) follows \(added.count) more symbols and \(removed.count) no more")
        log.notice(
          "a feed was changed",
          metadata: [
            "connection": "\(label)", "added": "\(added.joined(separator: ","))",
            "removed": "\(removed.joined(separator: ","))",
          ])
      }
    }
    for item in change.needsRestart {
      log.warning(
        "a setting takes effect with the next start",
        metadata: ["key": "\(item.key)", "from": "\(item.old)", "to": "\(item.new)"])
    }
    return .done(changed: changed + files, needsRestart: change.needsRestart.map { "\($0.key): \($0.new)" })
  }

  private func applySettings(_ next: GatewayConfiguration) {
    logs?.apply(next.logLevels, next.logs.format)
    settings.accessLog?.apply(next.logs.access)
    settings.refusalLog?.apply(next.limits.admission)
    settings.admission.apply(
      next.limits.admission, proxies: TrustedProxies(networks: next.trustedProxies, header: next.proxyHeader))
    settings.admission.budget.limit = next.limits.totalQueuedBytes
    var fresh = settings
    fresh.clientLimits = next.limits.ofClients
    // The connections' own bound was made for this one.
    fresh.clientLimits.hardQueuedBytes = settings.clientLimits.hardQueuedBytes
    fresh.clientLimits.softQueuedBytes = settings.clientLimits.softQueuedBytes
    fresh.take(next)
    for node in nodes { node.loop.execute { [fresh] in node.apply(fresh) } }
  }

  private func onLoop(of connection: String, _ body: @escaping @Sendable (LoopNode) -> Void) {
    guard let index = running.withLock({ $0.loops[connection] }) else { return }
    let node = nodes[index]
    node.loop.execute { body(node) }
  }

  /// Starts a feed again that was ended before, or else calls `new`.
  private func begin(again label: String, _ configuration: FeedConfiguration, new: @escaping @Sendable () -> Void) {
    guard let index = running.withLock({ $0.loops[label] }) else { return new() }
    let node = nodes[index]
    node.loop.execute { if !node.feeds.begin(again: label, configuration) { new() } }
  }

  /// Starts a feed that an operator had stopped, as it is configured now; false if it is not configured.
  func beginStopped(_ label: String) -> Bool {
    let connections = current.feedConnections
    guard let settings = connections.first(where: { $0.venue.label == label })?.configuration,
      running.withLock({ $0.loops[label] }) != nil
    else { return false }
    onLoop(of: label) { node in
      if node.feeds.slot(of: label) == nil { _ = node.feeds.begin(again: label, settings) }
    }
    return true
  }

  /// The newest configuration. Some of its settings may wait for a restart.
  package var current: GatewayConfiguration { running.withLock { $0.configuration } }

  // MARK: Files

  /// Reads the certificates again; false if none are configured.
  private func reloadCertificates() -> Bool {
    guard let serverTLS else { return false }
    do throws(TransportError) {
      try serverTLS.reload()
      log.notice(
        "certificates read again", metadata: ["files": "\(serverTLS.certificates.map(\.file).joined(separator: ", "))"])
      warnOfExpiry()
    } catch {
      log.error(
        "certificates not reloaded: the new ones cannot be used", metadata: ["reason": "\(error.description)"])
    }
    return true
  }

  /// Reads the roots for venues again, the system's too; true if `ca-file` is configured or they cannot be used. A
  /// simulated market has its own roots, which do not change.
  private func reloadRoots() -> Bool {
    guard !configuration.demo, !configuration.feeds.isEmpty else { return false }
    do throws(TransportError) {
      try feedTLS.reload()
      if let file = configuration.caFile { log.notice("roots for venues read again", metadata: ["file": "\(file)"]) }
    } catch {
      log.error(
        "venue roots not reloaded: the new ones cannot be used", metadata: ["reason": "\(error.description)"])
      return true
    }
    return configuration.caFile != nil
  }

  /// - Parameter next: the new configuration, if one was read: it may contain the keys itself.
  private func reloadKeys(_ next: GatewayConfiguration?) -> FileReload {
    guard let access else { return FileReload(isConfigured: false) }
    do throws(ConfigurationProblems) {
      guard let policy = try access.file.map(KeyFile.load) ?? next?.access else {
        return FileReload(isConfigured: false)
      }
      let changed = policy == access.policy ? [] : ["access: \(policy.summary)"]
      access.replace(policy)
      log.notice("keys read again", metadata: ["holds": "\(access.description)"])
      for node in nodes { node.loop.execute { node.clients.accessChanged() } }
      return FileReload(changed: changed)
    } catch {
      let problems = error.problems.map(\.description)
      for problem in problems {
        log.error("keys not reloaded; the old ones stay in use", metadata: ["reason": "\(problem)"])
      }
      return FileReload(problems: problems)
    }
  }

  /// Replaces the gateway's decks by those of `next`. If no configuration was read again, it reads the folder anew. If
  /// a deck cannot be used, all old decks stay.
  private func reloadDecks(_ next: GatewayConfiguration?) -> FileReload {
    var decks = (next ?? current).decks
    var problems: [ConfigurationProblem] = []
    if next == nil { decks.read(DeckFiles.load, &problems) }
    guard problems.isEmpty else { return FileReload(problems: problems.map(\.description)) }
    let changed = settings.decks.replace(decks.shown(isDemo: configuration.demo))
    if decks.directory != nil {
      log.notice("decks read again", metadata: ["changes": "\(changed.joined(separator: "; "))"])
    }
    if !changed.isEmpty {
      let node = nodes[0]
      node.loop.execute { node.decks.changed() }
    }
    return FileReload(isConfigured: decks.directory != nil, changed: changed)
  }

  /// The same for the schemas of topics.
  private func reloadSchemas(_ next: GatewayConfiguration?) -> FileReload {
    var topics = (next ?? current).topics
    var problems: [ConfigurationProblem] = []
    if next == nil { topics.read(TopicSchemaFiles.load, &problems) }
    guard problems.isEmpty else { return FileReload(problems: problems.map(\.description)) }
    let changed = settings.topics.setSchemas(topics.schemas)
    if topics.folder != nil {
      log.notice("schemas of topics read again", metadata: ["changes": "\(changed.joined(separator: "; "))"])
    }
    return FileReload(isConfigured: topics.folder != nil, changed: changed)
  }

  /// Reads the operators' token again; false if none is configured.
  @discardableResult
  func readAdminToken() -> Bool {
    if let problem = adminToken.read() {
      log.error("operators' token not reloaded; the old one stays in use", metadata: ["reason": "\(problem)"])
    }
    return configuration.adminTokenFile != nil
  }

  /// Logs which certificates expire soon.
  func warnOfExpiry() {
    let now = Int(Date().timeIntervalSince1970)
    for certificate in serverTLS?.certificates ?? [] where certificate.expiry - now < Self.expiryWarning {
      log.warning(
        "a certificate expires soon: renew it and send SIGHUP",
        metadata: [
          "file": "\(certificate.file)", "names": "\(certificate.names.prefix(5).joined(separator: ", "))",
          "in_hours": "\((certificate.expiry - now) / 3600)",
        ])
    }
  }
}
