import Transport

/// Checks that the certificate settings fit each other and that their files can be used.
extension ConfigurationLoader {
  /// The files of the `tls` settings, by key.
  var tlsFiles: [(key: String, path: String)] {
    let tls = configuration.tlsSettings
    var files = tls.certificates.map { (key: "tls.certificate", path: $0) } + tls.keys.map { ("tls.key", $0) }
    if let path = tls.clientCA { files.append(("tls.client-ca", path)) }
    return files
  }

  mutating func checkTLS() {
    let tls = configuration.tlsSettings
    let before = problems.count
    func location(_ key: String) -> String { origins[key] ?? "default" }
    func add(_ name: String, at key: String, _ message: String, allowed: String) {
      report(name, at: location(key), message, allowed: allowed)
    }
    if tls.keys.isEmpty, !tls.certificates.isEmpty {
      add("tls.key", at: "tls.certificate", "is missing beside tls.certificate", allowed: "both or neither")
    } else if tls.certificates.isEmpty, !tls.keys.isEmpty {
      add("tls.certificate", at: "tls.key", "is missing beside tls.key", allowed: "both or neither")
    } else if tls.certificates.count != tls.keys.count {
      add(
        "tls.key", at: "tls.key", "names \(tls.keys.count) files for \(tls.certificates.count) certificates",
        allowed: "a key for each of tls.certificate, in the same order")
    }
    if tls.clientAuthentication != .none, tls.clientCA == nil {
      add(
        "tls.client-ca", at: "tls.client-auth",
        "is missing beside tls.client-auth \(tls.clientAuthentication.rawValue)",
        allowed: "a PEM file of the roots that issue clients' certificates")
    }
    if tls.clientAuthentication == .none, tls.clientCA != nil {
      add(
        "tls.client-auth", at: "tls.client-ca", "is none, so tls.client-ca has no effect",
        allowed: "optional or required beside tls.client-ca")
    }
    if tls.certificates.isEmpty, tls.clientAuthentication != .none {
      add(
        "tls.certificate", at: "tls.client-auth", "is missing: clients show certificates under TLS only",
        allowed: "a PEM file, with tls.key")
    }
    let isNamed = tlsFiles.contains { file in problems.contains { $0.name == file.key } }
    guard problems.count == before, !isNamed, let server = configuration.tls else { return }
    for problem in tlsProblems(server) {
      var key = "tls.certificate"
      if case .certificateFile(let path, _) = problem {
        key = tlsFiles.first { $0.path == path }?.key ?? key
      }
      report(key, at: location(key), problem.description)
    }
  }
}
