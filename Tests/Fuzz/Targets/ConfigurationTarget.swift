import Gateway
import Settings

extension FuzzTarget {
  /// A configuration file, YAML or (if it begins with a brace) JSON, and its lines as the values of flags.
  static let configuration = FuzzTarget(
    "configuration", maxLength: 2048,
    words: [
      "listen: ", "internal-listen: ", "feeds:\n  kraken: [BTC-USD]\n", "  endpoint: ", "rest-endpoint: ",
      "tls:\n  certificate: ", "  key: ", "log-level: ", "demo: true\n", "replay: [a.gz]\n", "127.0.0.1:8080",
      "[::1]:1",
      "wss://host:1/p", "\"",
      "- ", ": ", "&a ", "*a", "|\n", "{", "}", "[", "]",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let isJSON = bytes.first == UInt8(ascii: "{")
    let file = try ScratchFile(suffix: isJSON ? ".json" : ".yaml")
    try file.write(bytes)
    try load(file: file.path)
    let lines = bytes.lines.prefix(8).map { String(decoding: $0, as: UTF8.self) }
    guard !lines.isEmpty else { return }
    let keys = ["feeds", "endpoints", "listen", "internal-listen", "log-level", "replay"]
    try load(flags: keys.map { ConfigurationFlag("--\($0)", sets: $0, to: lines) })
    var variables: [String: String] = [:]
    for line in lines {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      let name = parts[0].uppercased().map { $0.isLetter || $0.isNumber ? $0 : "_" }
      variables["TIDEGATE_" + String(name)] = String(parts[1].drop { $0 == " " })
    }
    try load(environment: variables)
  }

  private static func load(
    file: String? = nil, environment: [String: String] = [:], flags: [ConfigurationFlag] = []
  ) throws(FuzzFailure) {
    let loaded: LoadedConfiguration
    do throws(ConfigurationProblems) {
      loaded = try ConfigurationLoader.load(
        file: file, environment: environment, flags: flags, needsData: false, isReadable: { _ in true })
    } catch {
      try require(!error.problems.isEmpty, "refused without a problem")
      for problem in error.problems {
        try require(!problem.message.isEmpty && !problem.location.isEmpty, "a problem without words: \(problem)")
      }
      return
    }
    try require(!loaded.entries.isEmpty && !loaded.description.isEmpty, "what is accepted has no entries")
  }
}
