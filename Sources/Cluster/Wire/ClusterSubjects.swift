import NATS

/// What identifies a stream between nodes: a venue, and the tokens of the stream's key, such as symbol, channel,
/// parameters and class. Equal keys have equal subjects, on every node.
package struct ClusterKey: Hashable, Sendable, Comparable {
  package let venue: String
  package let tokens: [String]

  /// The most bytes of a key on the wire.
  package static let limit = 512

  package init(venue: String, tokens: [String]) {
    self.venue = venue
    self.tokens = tokens
  }

  package static func < (a: ClusterKey, b: ClusterKey) -> Bool {
    a.venue != b.venue ? a.venue < b.venue : a.tokens.lexicographicallyPrecedes(b.tokens)
  }

  /// The key as the tail of a subject: `kraken.BTC-USD.book.d25.100`, each token escaped.
  package var tail: [UInt8] {
    var bytes: [UInt8] = []
    NATSToken.append(venue.utf8, to: &bytes)
    for token in tokens {
      bytes.append(UInt8(ascii: "."))
      NATSToken.append(token.utf8, to: &bytes)
    }
    return bytes
  }

  /// Nil for anything that `tail` does not write.
  package init?(tail: some Collection<UInt8>) {
    guard tail.count <= Self.limit else { return nil }
    var texts: [String] = []
    for token in tail.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
      guard let bytes = NATSToken.text(token), let text = String(validating: bytes, as: UTF8.self) else { return nil }
      texts.append(text)
    }
    guard texts.count >= 2 else { return nil }
    self.init(venue: texts[0], tokens: Array(texts.dropFirst()))
  }
}

/// The subjects of a cluster, below `tg.<cluster>`.
package struct ClusterSubjects: Sendable {
  private let prefix: [UInt8]

  /// - Parameter cluster: its name, 1 to 64 bytes.
  package init(cluster: String) {
    precondition((1...64).contains(cluster.utf8.count))
    var bytes = Array("tg.".utf8)
    NATSToken.append(cluster.utf8, to: &bytes)
    bytes.append(UInt8(ascii: "."))
    prefix = bytes
  }

  /// Frames of a stream, from the active ingest to the edges.
  package func frames(_ key: ClusterKey) throws(NATSSubjectError) -> NATSSubject {
    try NATSSubject(prefix + Array("f.".utf8) + key.tail)
  }

  /// The key of a subject of frames.
  package func key(_ subject: UnsafeRawBufferPointer) -> ClusterKey? {
    let start = prefix + Array("f.".utf8)
    guard subject.count > start.count, subject.prefix(start.count).elementsEqual(start) else { return nil }
    return ClusterKey(tail: subject.dropFirst(start.count))
  }

  /// Sync requests of the edges. Only the active ingest of the venue subscribes to it.
  package func sync(_ venue: String) throws(NATSSubjectError) -> NATSSubject { try subject("j.", venue) }
  /// Beacons of the venue's ingests.
  package func beacon(_ venue: String) throws(NATSSubjectError) -> NATSSubject { try subject("b.", venue) }
  /// Digests of the active ingest.
  package func digest(_ venue: String) throws(NATSSubjectError) -> NATSSubject { try subject("q.", venue) }

  private func subject(_ kind: String, _ venue: String) throws(NATSSubjectError) -> NATSSubject {
    var bytes = prefix + Array(kind.utf8)
    NATSToken.append(venue.utf8, to: &bytes)
    return try NATSSubject(bytes)
  }
}
