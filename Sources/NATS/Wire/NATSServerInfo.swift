import Bytes

/// A server's `INFO`. Unknown members are ignored.
package struct NATSServerInfo: Sendable, Equatable {
  /// The name of the server, for logs: at most 128 printable characters.
  package private(set) var name = ""
  /// The version of the server, for logs: at most 32 printable characters.
  package private(set) var version = ""
  /// The largest message in bytes, headers and payload together.
  package private(set) var maxPayload = 1 << 20
  package private(set) var supportsHeaders = false
  package private(set) var requiresTLS = false
  package private(set) var offersTLS = false
  /// Random text that a client with a key signs; at most 256 bytes.
  package private(set) var nonce: [UInt8] = []
  /// `host:port` of the servers of the cluster, at most `urlLimit`.
  package private(set) var connectURLs: [String] = []
  /// The server is about to shut down (lame duck mode): connect to another one.
  package private(set) var isLameDuck = false
  package private(set) var hasJetStream = false

  /// The most addresses that are kept of an `INFO`.
  package static let urlLimit = 64

  /// - Throws: `NATSError.protocolViolation` if it is not a JSON object with members of the right types.
  package init(json: UnsafeRawBufferPointer) throws(NATSError) {
    do throws(JSONError) {
      var scanner = JSONScanner(RawSpan(_unsafeBytes: json))
      try scanner.objectStart()
      while let key = try scanner.nextKey() { try read(key, &scanner) }
      try scanner.end()
    } catch {
      throw .protocolViolation("INFO is not readable at byte \(error.offset)")
    }
    guard maxPayload > 0 else { throw .protocolViolation("INFO has no useful max_payload") }
  }

  private mutating func read(_ key: JSONSlice, _ scanner: inout JSONScanner) throws(JSONError) {
    if scanner.equals(key, "server_name") {
      name = try Self.text(&scanner, limit: 128)
    } else if scanner.equals(key, "version") {
      version = try Self.text(&scanner, limit: 32)
    } else if scanner.equals(key, "max_payload") {
      maxPayload = Int(clamping: try scanner.wholeNumber() ?? 0)
    } else if scanner.equals(key, "headers") {
      supportsHeaders = try scanner.bool()
    } else if scanner.equals(key, "tls_required") {
      requiresTLS = try scanner.bool()
    } else if scanner.equals(key, "tls_available") {
      offersTLS = try scanner.bool()
    } else if scanner.equals(key, "nonce") {
      nonce = Array(try Self.text(&scanner, limit: 256).utf8)
    } else if scanner.equals(key, "ldm") {
      isLameDuck = try scanner.bool()
    } else if scanner.equals(key, "jetstream") {
      hasJetStream = try scanner.bool()
    } else if scanner.equals(key, "connect_urls"), scanner.peek() == .array {
      try scanner.arrayStart()
      while try scanner.nextElement() {
        let url = try Self.text(&scanner, limit: 256)
        if connectURLs.count < Self.urlLimit { connectURLs.append(url) }
      }
    } else {
      try scanner.skipValue()
    }
  }

  private static func text(_ scanner: inout JSONScanner, limit: Int) throws(JSONError) -> String {
    let slice = try scanner.string()
    let text = try scanner.decoded(slice)
    return String(decoding: text.utf8.prefix(limit).map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}
