import Foundation
import Testing

/// Rules of the house that the compiler does not know. They read the sources beside this file.
@Suite("The house")
struct HouseTests {
  private struct Source {
    let target: String
    let path: String
    let lines: [Substring]

    /// The modules that it imports.
    var imports: [String] {
      lines.compactMap { line in
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "import"), index + 1 < words.count else { return nil }
        let isImport = words[..<index].allSatisfy { $0.hasPrefix("@") || $0 == "package" || $0 == "public" }
        return isImport ? String(words[words.count - 1].split(separator: ".")[0]) : nil
      }
    }
  }

  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private static func sources(in folder: String) throws -> [Source] {
    let base = root.appendingPathComponent(folder)
    let files = try #require(FileManager.default.enumerator(at: base, includingPropertiesForKeys: nil))
    return try files.compactMap { item in
      guard let file = item as? URL, file.pathExtension == "swift" else { return nil }
      let path = String(file.path.dropFirst(base.path.count + 1))
      let text = try String(contentsOf: file, encoding: .utf8)
      return Source(
        target: String(path.split(separator: "/")[0]), path: "\(folder)/\(path)",
        lines: text.split(separator: "\n", omittingEmptySubsequences: false))
    }
  }

  @Test("protocol and market code has no clock, socket, queue or Foundation: it imports only what lies below it")
  func sansIO() throws {
    let allowed: [String: Set<String>] = [
      "Bytes": ["Synchronization"], "HTTP1": ["Bytes"], "WebSocket": ["HTTP1", "Bytes", "CZlib"],
      "MarketData": ["Bytes"],
      // Files and SQLite, but no clock, and no queue of its own.
      "History": ["Alerts", "MarketData", "Bytes", "GRDB", "Foundation", "Synchronization"],
      "Venues": ["MarketData", "Bytes"], "Alerts": ["MarketData", "Bytes"], "Portfolio": ["MarketData", "Bytes"],
      "PubSub": ["MarketData", "WebSocket", "Bytes"],
      // The files of recordings are read and written where they are understood.
      "Recordings": ["PubSub", "Venues", "MarketData", "Bytes", "CZlib", "Foundation", "Glibc"],
      "Access": ["PubSub", "MarketData", "HTTP1", "Transport", "Bytes", "Synchronization"],
    ]
    var seen: Set<String> = []
    for source in try Self.sources(in: "Sources") {
      guard let below = allowed[source.target] else { continue }
      seen.insert(source.target)
      for module in source.imports {
        #expect(below.contains(module), "\(source.path) imports \(module)")
      }
    }
    #expect(seen == Set(allowed.keys))
  }

  @Test("libdispatch and OpenSSL stop at the transport, the gateway and what stands on them")
  func kernel() throws {
    let kernel: Set<String> = ["COpenSSL", "CLinux"]
    for source in try Self.sources(in: "Sources") where source.target != "Transport" {
      for module in source.imports { #expect(!kernel.contains(module), "\(source.path) imports \(module)") }
    }
  }

  @Test("every @unchecked Sendable has its proof in the next line")
  func uncheckedSendable() throws {
    for source in try Self.sources(in: "Sources") {
      for (index, line) in source.lines.enumerated() where line.contains("@unchecked Sendable") && line.hasSuffix("{") {
        let next = index + 1 < source.lines.count ? source.lines[index + 1].drop { $0 == " " } : ""
        #expect(next.hasPrefix("// `@unchecked`"), "\(source.path):\(index + 1)")
      }
    }
  }

  @Test("nothing depends on SwiftNIO")
  func noNIO() throws {
    for source in try Self.sources(in: "Sources") + Self.sources(in: "Tests") + Self.sources(in: "Benchmarks") {
      for module in source.imports { #expect(!module.hasPrefix("NIO"), "\(source.path) imports \(module)") }
    }
  }
}
