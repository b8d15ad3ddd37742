import COpenSSL
import Glibc
import Synchronization

/// Whether clients send certificates.
package enum TLSClientAuthentication: String, Sendable, CaseIterable {
  case none
  /// Requested; a sent certificate must be valid.
  case optional
  case required
}

/// The settings of a TLS server.
package struct TLSServerConfiguration: Sendable, Equatable {
  /// Selected by the name that a client requests (SNI): an exact name before a wildcard, the first for all other names.
  /// Certificates for the same names with keys of different types stand side by side; the client's algorithms decide.
  package var certificates: [TLSCertificateFiles]
  /// PEM file of the roots that issue clients' certificates.
  package var clientCA: String?
  package var clientAuthentication = TLSClientAuthentication.none
  /// A handshake that is not complete after this time is closed, even if bytes still arrive.
  package var handshakeTimeout: Duration = .seconds(10)
  /// Handshakes under way at a time over all listeners; about 60 KB each. At the limit nothing is accepted, so that
  /// many simultaneous clients wait in the kernel's queue.
  package var handshakeLimit = 1_000
  /// While a connection waits there, the oldest handshake that has taken longer than this loses its slot. A thousand
  /// handshakes take half a second of one core.
  package var crowdedHandshakeTime: Duration = .seconds(2)
  /// The same for one listener.
  package var handshakeLimitPerListener = 1_000
  /// The most bytes that a client may send before its handshake is complete. The default has room for the largest
  /// ClientHello that OpenSSL accepts (131,396 bytes) and some certificates.
  package var handshakeBytes: UInt64 = 160 << 10
  /// The tickets for a client after a full handshake, 0…2; with 0, sessions are not resumed. One is enough for one
  /// connection at a time, because a resumed session brings the next.
  package var ticketCount = 1
  /// How long a key seals tickets, s; it opens them for the same time again.
  package var ticketKeyPeriod = 43_200

  package init(certificates: [TLSCertificateFiles]) { self.certificates = certificates }
}

/// The counts of a TLS server.
package struct TLSStatistics: Sendable, Equatable {
  /// Handshakes completed with a signature.
  package var full = 0
  /// Handshakes completed from a ticket.
  package var resumed = 0
  package var failures: [TLSFailure.Kind: Int] = [:]
  package var underWay = 0
  /// How often `reload` succeeded, and failed.
  package var reloads = 0
  package var reloadFailures = 0
  package init() {}
}

/// TLS 1.2 and 1.3 as a server: certificates by name, session tickets, ALPN `http/1.1`, client certificates. No early
/// data (RFC 8446 §8: it could be replayed), no renegotiation, no compression. Callable from anywhere.
package final class TLSServerContext: Sendable {
  /// Called for each failed handshake, on the connection's loop.
  package typealias FailureReport = @Sendable (SocketAddress, _ serverName: String?, TLSFailure) -> Void

  package let configuration: TLSServerConfiguration
  let handshakes: HandshakeLimit
  let ticketKeys: TLSTicketKeys
  private let current: Mutex<ServerGeneration>
  private let statisticsState = Mutex(TLSStatistics())
  private let report: FailureReport?

  /// - Throws: `.certificateFile`, naming the file, what is wrong with it and what to do.
  package convenience init(_ configuration: TLSServerConfiguration, report: FailureReport? = nil) throws(TransportError)
  {
    try self.init(configuration, report: report, uptime: SystemKernel.shared.uptime)
  }

  /// - Parameter uptime: monotonic nanoseconds, for the age of ticket keys.
  init(
    _ configuration: TLSServerConfiguration, report: FailureReport? = nil, uptime: @escaping @Sendable () -> UInt64
  ) throws(TransportError) {
    self.configuration = configuration
    self.report = report
    handshakes = HandshakeLimit(configuration.handshakeLimit)
    ticketKeys = TLSTicketKeys(period: configuration.ticketKeyPeriod, uptime: uptime)
    current = Mutex(try ServerGeneration(Self.load(configuration), configuration))
  }

  /// - Parameters: PEM files, as in `TLSCertificateFiles`.
  package convenience init(certificateFile: String, keyFile: String) throws(TransportError) {
    try self.init(.init(certificates: [.init(certificate: certificateFile, key: keyFile)]))
  }

  /// With a certificate that is not from a file and is not checked.
  package convenience init(certificate: SelfSignedCertificate) throws(TransportError) {
    try self.init(loaded: [LoadedCertificate(certificate)])
  }

  init(
    loaded: [LoadedCertificate], configuration: TLSServerConfiguration = .init(certificates: []),
    report: FailureReport? = nil, uptime: @escaping @Sendable () -> UInt64 = SystemKernel.shared.uptime
  ) throws(TransportError) {
    self.configuration = configuration
    self.report = report
    handshakes = HandshakeLimit(configuration.handshakeLimit)
    ticketKeys = TLSTicketKeys(period: configuration.ticketKeyPeriod, uptime: uptime)
    current = Mutex(try ServerGeneration(loaded, configuration))
  }

  /// Reads all files again. New handshakes use them; present connections are not affected. Blocks on the disk: do not
  /// call it on a loop.
  /// - Throws: `.certificateFile` for the first file that cannot be used; the old files stay in use.
  package func reload() throws(TransportError) {
    guard !configuration.certificates.isEmpty else { return }
    do {
      let made = try ServerGeneration(Self.load(configuration), configuration)
      current.withLock { $0 = made }
      statisticsState.withLock { $0.reloads += 1 }
    } catch {
      statisticsState.withLock { $0.reloadFailures += 1 }
      throw error
    }
  }

  /// The problems of the files of `configuration`; empty if they are usable.
  package static func problems(of configuration: TLSServerConfiguration) -> [TransportError] {
    var problems: [TransportError] = []
    for files in configuration.certificates {
      do throws(TransportError) { _ = try LoadedCertificate(files: files) } catch { problems.append(error) }
    }
    guard problems.isEmpty else { return problems }
    do throws(TransportError) { _ = try ServerGeneration(load(configuration), configuration) } catch {
      problems.append(error)
    }
    return problems
  }

  private static func load(_ configuration: TLSServerConfiguration) throws(TransportError) -> [LoadedCertificate] {
    var loaded: [LoadedCertificate] = []
    for files in configuration.certificates { loaded.append(try LoadedCertificate(files: files)) }
    return loaded
  }

  /// The certificates in use, in the order of the configuration.
  package var certificates: [TLSCertificateInfo] { current.withLock { $0.certificates } }

  package var statistics: TLSStatistics {
    var statistics = statisticsState.withLock { $0 }
    statistics.underWay = handshakes.underWay
    return statistics
  }

  func makeSession(descriptor: Int32, slot: HandshakeSlot? = nil) throws(TransportError) -> TLSSession {
    let generation = current.withLock { $0 }
    let session = try TLSSession(
      context: generation.defaultContext, descriptor: descriptor, role: .server(self, generation))
    session.slot = slot
    return session
  }

  /// Counts the end of a handshake and reports a failure.
  func ended(_ result: Result<Bool, TLSFailure>, peer: SocketAddress, serverName: String?) {
    switch result {
    case .success(let isResumed):
      statisticsState.withLock { statistics in
        if isResumed { statistics.resumed += 1 } else { statistics.full += 1 }
      }
    case .failure(let failure):
      statisticsState.withLock { $0.failures[failure.kind, default: 0] += 1 }
      report?(peer, serverName, failure)
    }
  }
}

/// The certificates of a server from one reading of the files. A handshake keeps those that it began with.
final class ServerGeneration: Sendable {
  let certificates: [TLSCertificateInfo]
  /// A context for each set of names, in the order of the configuration; the first is the default.
  private let contexts: [ContextReference]
  /// Indices in `contexts`.
  private let exact: [String: Int]
  /// By the part after `*.` of a wildcard.
  private let wildcards: [String: Int]

  var defaultContext: ContextReference { contexts[0] }

  init(_ loaded: [LoadedCertificate], _ configuration: TLSServerConfiguration) throws(TransportError) {
    guard !loaded.isEmpty else { throw .tls(reason: "a server needs a certificate") }
    var contexts: [ContextReference] = []
    var groups: [(names: [String], keyTypes: [Int32])] = []
    var exact: [String: Int] = [:]
    var wildcards: [String: Int] = [:]
    for certificate in loaded {
      let names = certificate.info.names.sorted()
      let group = groups.firstIndex { $0.names == names && !$0.keyTypes.contains(certificate.keyType) }
      let index = group ?? groups.count
      if group == nil {
        groups.append((names, []))
        contexts.append(try Self.makeContext(configuration))
      }
      groups[index].keyTypes.append(certificate.keyType)
      try certificate.use(in: contexts[index].pointer)
      for name in names {
        if name.hasPrefix("*.") {
          let parent = String(name.dropFirst(2))
          if wildcards[parent] == nil { wildcards[parent] = index }
        } else if exact[name] == nil {
          exact[name] = index
        }
      }
    }
    self.contexts = contexts
    self.exact = exact
    self.wildcards = wildcards
    self.certificates = loaded.map(\.info)
  }

  /// The context for a name that a client requests; nil if no certificate has it. A wildcard matches one label (RFC
  /// 6125 §6.4.3). O(length).
  func context(for name: String) -> ContextReference? {
    let name = name.lowercased()
    if let index = exact[name] { return contexts[index] }
    guard let dot = name.firstIndex(of: "."), dot != name.startIndex,
      let index = wildcards[String(name[name.index(after: dot)...])]
    else { return nil }
    return contexts[index]
  }

  private static func makeContext(_ configuration: TLSServerConfiguration) throws(TransportError) -> ContextReference {
    let reference = try ContextReference(TLS_server_method())
    let context = reference.pointer
    // Tickets contain the session (RFC 5077, RFC 8446 §2.2), so the server stores nothing for returning clients.
    _ = copenssl_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
    // Early data that a client nevertheless sends is skipped, up to the default bound of 16 KiB (RFC 8446 §4.2.10).
    _ = SSL_CTX_set_max_early_data(context, 0)
    if configuration.ticketCount == 0 { copenssl_no_tickets(context) }
    _ = SSL_CTX_set_num_tickets(context, configuration.ticketCount)
    _ = SSL_CTX_set_timeout(context, configuration.ticketKeyPeriod)
    _ = SSL_CTX_set_tlsext_ticket_key_evp_cb(context) { session, name, vector, cipher, mac, isSealing in
      guard let name, let vector, let keys = TLSSession.of(session)?.ticketKeys else { return 0 }
      return keys.seal(session, name: name, vector: vector, cipher: cipher, mac: mac, isSealing: isSealing == 1)
    }
    copenssl_set_server_name_callback(
      context,
      { session, _, _ in TLSSession.of(session)?.chooseCertificate() ?? SSL_TLSEXT_ERR_NOACK }, nil)
    setProtocols(context)
    copenssl_set_certificate_list_limit(context, 32 << 10)
    try setClientAuthentication(context, configuration)
    return reference
  }

  /// The only protocol: a client that offers only others gets an alert (RFC 7301 §3.2); one that offers none is
  /// accepted.
  private static func setProtocols(_ context: OpaquePointer) {
    SSL_CTX_set_alpn_select_cb(
      context,
      { _, selected, selectedLength, offered, offeredLength, _ in
        var offset = 0
        while let offered, offset < Int(offeredLength) {
          let length = Int(offered[offset])
          guard offset + 1 + length <= Int(offeredLength) else { break }
          let name = UnsafeBufferPointer(start: offered + offset + 1, count: length)
          if name.elementsEqual("http/1.1".utf8) {
            selected?.pointee = offered + offset + 1
            selectedLength?.pointee = UInt8(length)
            return SSL_TLSEXT_ERR_OK
          }
          offset += 1 + length
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL
      }, nil)
  }

  private static func setClientAuthentication(
    _ context: OpaquePointer, _ configuration: TLSServerConfiguration
  ) throws(TransportError) {
    var identity = Array("\(configuration.clientAuthentication.rawValue):".utf8)
    switch configuration.clientAuthentication {
    case .none: SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
    case .optional: SSL_CTX_set_verify(context, SSL_VERIFY_PEER, TLSSession.verify)
    case .required:
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, TLSSession.verify)
    }
    if configuration.clientAuthentication != .none {
      guard let file = configuration.clientCA else {
        throw .tls(reason: "clients' certificates cannot be checked without the roots that issue them")
      }
      try loadRoots(file, into: context)
      SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(file))
      identity += Array(try LoadedCertificate.read(file).utf8)
    }
    // A session is resumed only if clients are checked in the same way as at its beginning
    // (SSL_CTX_set_session_id_context(3)).
    var digest = [UInt8](repeating: 0, count: 32)
    SHA256(identity, identity.count, &digest)
    guard SSL_CTX_set_session_id_context(context, digest, UInt32(digest.count)) == 1 else {
      throw .tls(reason: OpenSSLErrors.drain() ?? "the session context was refused")
    }
  }
}
