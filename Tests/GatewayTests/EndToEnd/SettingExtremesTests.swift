import Access
import Foundation
import History
import MarketData
import PubSub
import TestSupport
import TestTraits
import Testing
import Transport

@testable import Gateway
@testable import Settings

/// Every number that an operator may set, at both ends of its range and beyond: each setting that there is, and each
/// field of a key and an issuer.
@Suite("Any number in any setting", .serialized, .realTime)
struct SettingExtremesTests {
  /// The ends that an error message names: `1` and `64` of `a whole number, 1…64`.
  private static func ends(_ allowed: String) -> [String] {
    let bytes = Array(allowed.utf8)
    return NumericExtremes.numbers(in: bytes).map { String(decoding: bytes[$0], as: UTF8.self) }
  }

  private static func loaded(_ key: String, _ value: String) throws(ConfigurationProblems) -> LoadedConfiguration {
    try ConfigurationLoader.load(
      file: nil, environment: [Setting.variable(key): value], needsData: false, isReadable: { _ in true })
  }

  @Test("is refused in words, or makes no later sum overflow")
  func settings() throws {
    var (accepted, refused) = (0, 0)
    for setting in Setting.all {
      for value in NumericExtremes.texts + Self.ends(setting.allowed) {
        do throws(ConfigurationProblems) {
          let loaded = try Self.loaded(setting.key, value)
          accepted += 1
          let configuration = loaded.configuration
          _ = (configuration.tls, configuration.limits.ofClients, configuration.limits.admission)
          let retention = configuration.data.retention
          #expect([retention.minute, retention.quarter, retention.hour, retention.day].allSatisfy { $0 ?? 1 > 0 })
          #expect(!loaded.description.isEmpty)
        } catch {
          refused += 1
          #expect(error.problems.allSatisfy { !$0.message.isEmpty }, "\(setting.key)=\(value)")
        }
      }
    }
    #expect(accepted > 200 && refused > 1_000)
  }

  @Test("of a file is the same, bare or in quotes", arguments: ["json", "yaml"])
  func files(format: String) {
    for setting in Setting.all where !setting.isList {
      let path = setting.key.split(separator: ".")
      for value in NumericExtremes.texts + Self.ends(setting.allowed) {
        for value in [value, "\"\(value)\""] {
          let text =
            format == "json"
            ? path.reversed().reduce(value) { "{\"\($1)\":\($0)}" } : path.joined(separator: ":\n  ") + ": \(value)\n"
          var loader = ConfigurationLoader(venues: [], isReadable: { _ in true }, tlsProblems: { _ in [] })
          loader.read(contents: Array(text.utf8), isJSON: format == "json", name: "a.\(format)")
          #expect(loader.problems.allSatisfy { !$0.message.isEmpty && !$0.location.isEmpty }, "\(text)")
        }
      }
    }
  }

  /// The settings that are numbers, each with the ends of its range.
  private static let numbers: [(key: String, ends: [String])] = Setting.all.compactMap { setting in
    guard Int(setting.show(GatewayConfiguration())) != nil else { return nil }
    let allowed = ends(setting.allowed)
    return allowed.isEmpty ? nil : (setting.key, allowed)
  }

  /// A gateway starts with these values, tells its state, and stops.
  private func run(_ values: [(key: String, value: String)]) async throws {
    let harness = try GatewayHarness(venues: ["kraken"], loops: 1) { configuration in
      for (key, value) in values {
        #expect(Setting.byKey[key]?.set(&configuration, [value]) == true, "\(key)=\(value)")
      }
    }
    for path in ["/livez", "/metrics"] {
      #expect(try await harness.get(path, internal: true).status == 200, "\(values)")
    }
    // A limit of one connection or request may refuse it.
    #expect([200, 429, 503].contains(try await harness.get("/v1/status").status), "\(values)")
    await harness.stop()
  }

  @Test("at both ends of its own range, a gateway runs with it", arguments: testSeeds(1))
  func gateways(seed: UInt64) async throws {
    #expect(Self.numbers.count > 40)
    try await run(Self.numbers.map { ($0.key, $0.ends.first!) })
    try await run(Self.numbers.map { ($0.key, $0.ends.last!) })
    var single = Self.numbers.flatMap { setting in setting.ends.map { (setting.key, $0) } }
    if environment("TIDEGATE_EXTREMES") != "all" {
      var random = SeededGenerator(seed: seed)
      single = Array(single.shuffled(using: &random).prefix(6))
    }
    for (key, value) in single { try await run([(key, value)]) }
  }

  @Test("is refused in words, or bounds what a key allows")
  func access() {
    var (accepted, refused) = (0, 0)
    let secret = String(repeating: "A", count: 64)
    let hash = Digest.sha256(Array("key".utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    for kind in AccessEntry.Kind.allCases {
      for field in AccessEntry(kind: kind, name: "a", style: .tree, location: "p").fields {
        let dates = ["0000-01-01", "1970-01-01", "9999-12-31T23:59:59Z", "9999-99-99"]
        for value in NumericExtremes.texts + dates + ["2", "300", "10000", "100000", "1000000"] {
          var entry = AccessEntry(kind: kind, name: "a", style: .tree, location: "p")
          if kind == .key, field != "sha256" { entry.set("sha256", hash) }
          if kind == .jwt, field != "alg" { entry.set("alg", "HS256") }
          if kind == .jwt, !["secret", "secret-file", "public-key"].contains(field) { entry.set("secret", secret) }
          entry.set(field, value)
          var reader = AccessReader(path: "a.yaml", read: { _ in nil })
          reader.add(entry)
          guard reader.problems.isEmpty else {
            refused += 1
            #expect(reader.problems.allSatisfy { !$0.message.isEmpty }, "\(kind) \(field)=\(value)")
            continue
          }
          accepted += 1
          check(reader.policy)
        }
      }
    }
    #expect(accepted > 20 && refused > 500, "\(accepted) accepted, \(refused) refused")
  }

  /// A token is judged at both ends of time, and what it allows is bounded.
  private func check(_ policy: AccessPolicy) {
    let authenticator = Authenticator(policy: policy)
    for now in [0, 1_795_348_800_000_000, 253_402_300_799_999_999] as [Int64] {
      _ = authenticator.authenticate("key", now: Timestamp(microseconds: now))
    }
    for rules in policy.keys.map(\.rules) + policy.issuers.map(\.rules) {
      let bounds = [rules.subscriptions, rules.requestsPerSecond, rules.connections]
      #expect(bounds.allSatisfy { (1...1_000_000).contains($0 ?? 1) })
    }
    if let grant = policy.anonymous { #expect((1...1_000_000).contains(grant.connections ?? 1)) }
  }
}
