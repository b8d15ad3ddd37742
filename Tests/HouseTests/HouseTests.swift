import Testing

/// Rules of the house that the compiler does not know: which system modules a target may use, and what it must say.
@Suite("The house")
struct HouseTests {
  /// Modules of the system: what they offer can reach a clock, a file, a socket or a queue.
  private static let system: Set<String> = [
    "Glibc", "Dispatch", "Foundation", "FoundationNetworking", "Synchronization", "CLinux", "COpenSSL", "CZlib",
    "GRDB",
  ]

  /// The system modules that each target may import. A target that is not in the table may import none.
  private static let allowed: [String: Set<String>] = [
    // A lock that ThreadSanitizer can see, and nothing else.
    "Bytes": ["Synchronization"],
    "Transport": ["Glibc", "Dispatch", "Synchronization", "CLinux", "COpenSSL"],
    // Signatures with Ed25519.
    "NATS": ["COpenSSL"],
    "WebSocket": ["CZlib"],
    // Recordings are files: reading and writing them belongs to understanding them.
    "Recordings": ["Glibc", "Foundation", "CZlib"],
    // A number that says on every thread whether what was made of a market still stands.
    "MarketData": ["Synchronization"],
    "Access": ["Synchronization"],
    // A database is files. Its keeper writes and reads them on queues of its own.
    "History": ["GRDB", "Dispatch", "Foundation", "Synchronization"],
    // Recorders write on a queue of their own, and large answers are read on one.
    "Feeds": ["Dispatch", "Foundation", "Synchronization"],
    "Documents": ["Dispatch", "Foundation", "Synchronization"],
    // The log writes to a descriptor, on a queue of its own if that is slow, and memory is returned on one. The
    // operators' token is a file.
    "Operations": ["Glibc", "Dispatch", "Foundation", "Synchronization"],
    // It compresses answers, and counts what it remembers of them.
    "HTTPAPI": ["Synchronization", "CZlib"],
    // A configuration is files, and the host has a name.
    "Settings": ["Glibc", "Foundation", "Synchronization"],
    "Gateway": ["Glibc", "Dispatch", "Foundation", "Synchronization"],
    "VenueSimulator": ["Synchronization"],
    // `Date` and `Decimal`, which are what apps have.
    "TidegateClient": ["Foundation", "Synchronization"],
    "TidegateURLSession": ["Foundation", "FoundationNetworking", "Synchronization"],
    "TidegateEpoll": ["Synchronization"],
    "CLI": ["Glibc", "Dispatch", "Foundation", "Synchronization"],
  ]

  @Test("a target imports the system modules that the table allows it, and uses what it is allowed")
  func systemModules() throws {
    var used: [String: Set<String>] = [:]
    for source in SourceTree.files(in: "Sources") {
      for module in source.imports where Self.system.contains(module) {
        used[source.target, default: []].insert(module)
        #expect(Self.allowed[source.target]?.contains(module) == true, "\(source.path) imports \(module)")
      }
    }
    for (target, modules) in Self.allowed.sorted(by: { $0.key < $1.key }) {
      guard let used = used[target] else { continue }
      for module in modules.sorted() where !used.contains(module) {
        Issue.record("\(target) is allowed \(module) and does not import it: take it out of the table")
      }
    }
  }

  @Test("no queue has a priority of its own: threads that one with a lower priority makes keep that")
  func queuePriorities() throws {
    // On Linux a worker begins with the nice value of the thread that made it, and one without privileges cannot take
    // a lower one back (libdispatch, `_dispatch_worker_thread`): a loop could be slow for life.
    for source in SourceTree.files(in: "Sources") {
      for (index, line) in source.lines.enumerated() where line.contains("qos: .") || line.contains("qos = .") {
        #expect(line.hasSuffix("qos = .default"), "\(source.path):\(index + 1)")
      }
    }
  }

  @Test("nothing runs on the global queue: it takes any number of bodies, and a thread for each that waits")
  func globalQueue() {
    for source in SourceTree.files(in: "Sources") {
      for (index, line) in source.lines.enumerated() {
        #expect(!line.contains("Queue.global("), "\(source.path):\(index + 1)")
      }
    }
  }

  @Test("every @unchecked Sendable has its proof in the next line")
  func uncheckedSendable() throws {
    for source in SourceTree.files(in: "Sources") {
      for (index, line) in source.lines.enumerated() where line.contains("@unchecked Sendable") && line.hasSuffix("{") {
        let next = index + 1 < source.lines.count ? source.lines[index + 1].drop { $0 == " " } : ""
        #expect(next.hasPrefix("// `@unchecked`"), "\(source.path):\(index + 1)")
      }
    }
  }

  @Test("nothing depends on SwiftNIO")
  func noNIO() throws {
    for folder in ["Sources", "Tests", "Benchmarks"] {
      for source in SourceTree.files(in: folder) {
        for module in source.imports { #expect(!module.hasPrefix("NIO"), "\(source.path) imports \(module)") }
      }
    }
  }
}
