import Foundation
import Testing

/// The client library is for every platform that Swift is on: what its core is made of knows none of them.
@Suite("The client library")
struct ClientLibraryTests {
  /// Modules that some platform does not have, or that reach a socket.
  private static let forbidden: Set<String> = [
    "Glibc", "Musl", "Darwin", "Dispatch", "FoundationNetworking", "Network", "CLinux", "COpenSSL", "CZlib",
  ]

  /// The house's targets that a target's files import, and those that these import.
  private static func closure(of target: String, _ files: [SourceTree.File]) -> Set<String> {
    let targets = Set(files.map(\.target)).union(["CZlib", "COpenSSL", "CLinux"])
    var found: Set<String> = []
    var left = [target]
    while let next = left.popLast() {
      guard found.insert(next).inserted else { continue }
      left += files.filter { $0.target == next }.flatMap(\.imports).filter { targets.contains($0) }
    }
    return found
  }

  @Test("its core, with all that it is made of, imports no system but Foundation and Synchronization")
  func core() {
    let files = SourceTree.files(in: "Sources")
    let closure = Self.closure(of: "TidegateClient", files)
    #expect(closure == ["TidegateClient", "HTTP1", "Bytes"])
    for file in files where closure.contains(file.target) {
      for module in file.imports { #expect(!Self.forbidden.contains(module), "\(file.path) imports \(module)") }
      let asks = file.lines.first { $0.contains("canImport") || $0.contains("os(") && $0.contains("#if") }
      #expect(asks == nil, "\(file.path) asks for its platform")
    }
    #expect(Self.closure(of: "TidegateURLSession", files) == closure.union(["TidegateURLSession"]))
    // The rule can be broken.
    let epoll = Self.closure(of: "TidegateEpoll", files)
    #expect(epoll.isSuperset(of: ["Transport", "COpenSSL", "CLinux", "CZlib"]))
  }

  @Test("no public type of it is named like the module, or begins with its name")
  func names() {
    for file in SourceTree.files(in: "Sources") where file.target.hasPrefix("Tidegate") {
      for line in file.lines {
        let isNamed = ["class", "struct", "enum", "protocol", "typealias"].contains {
          line.contains("public \($0) Tidegate") || line.contains("public final \($0) Tidegate")
        }
        #expect(!isNamed, "\(file.path): \(line)")
      }
    }
  }

  @Test("its products need no other package")
  func products() throws {
    let manifest = try String(contentsOf: SourceTree.root.appendingPathComponent("Package.swift"), encoding: .utf8)
    let products = manifest.matches(of: #/\.product\(\s*name: "[^"]+", package: "[^"]+"(, condition: gateway)?\)/#)
    #expect(products.count >= 4)
    for product in products {
      let text = String(product.output.0)
      // The benchmarks are added by a variable of the environment alone.
      if text.contains("\"benchmark\"") || text.contains("hdrhistogram") { continue }
      #expect(product.output.1 != nil, "\(text) is resolved by every app")
    }
  }
}
