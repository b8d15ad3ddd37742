import Access
import Documents
import HTTP1
import PubSub
import Transport
import WebSocket

/// What the client port needs of the gateway, beside markets: settings, clients, counters and logs. Each loop has one;
/// used on that loop only.
package protocol APIGateway: AnswerLoops {
  /// As they are now: a reload replaces them.
  var api: APISettings { get }
  /// Admits connections and requests; one for all loops.
  var admission: Admission { get }
  /// The accepted tokens; nil: no token is required.
  var access: Authenticator? { get }
  /// The date for `Date` fields, renewed once a second.
  var httpDate: String { get }

  // MARK: Connections

  /// The parameters of permessage-deflate that clients are offered; nil: none.
  var offeredCompression: PerMessageDeflate.Policy? { get }
  /// Whether a new request for a stream is refused.
  var isShut: Bool { get }
  /// Whether a connection that was accepted before the gateway was shut gets an answer to its first request.
  var answersLatecomers: Bool { get }

  /// A connection speaks HTTP.
  func began(_ session: HTTPSession, on connection: Connection)
  /// A connection that spoke HTTP is gone.
  func ended(_ connection: Connection)
  /// A client spoke TLS to a port without TLS.
  func sawTLS(from peer: SocketAddress)

  /// Whether an address may open another stream on this loop.
  func admits(_ address: IPAddress) -> Bool
  /// Takes a connection over that has become a stream.
  /// - Parameter rest: the bytes after its request.
  func admit(_ stream: NewStream, on connection: Connection, rest: UnsafeMutableRawBufferPointer)

  // MARK: Counting and logging

  /// Counts an answered request, and logs it if the access log is on.
  /// - Parameter caller: called only if it is logged, because it checks the token.
  func answered(_ request: AnsweredRequest, by caller: () -> RequestCaller)

  // MARK: Documents

  var documents: DocumentDesks { get }

  /// Announces a topic's new document to streams.
  func announce(_ topic: String, _ news: PublishedTopics.News)
}

/// The settings of the client port that a reload may change.
package struct APISettings: Sendable {
  /// The time limits of connections.
  package var connections = HTTPConnectionLimits()
  /// The origins whose pages may connect; nil: all.
  package var origins: Set<String>?
  /// Host names that the port accepts for owners' documents and the console while it asks for no tokens, beside
  /// addresses and localhost.
  package var hosts: [String] = []
  /// Whether the port serves the console's pages.
  package var servesConsole = true
  /// Serves other people's protocols; nil: none is on.
  package var dialects: (any DialectPort)?

  package init() {}
}

/// A request for a stream that was accepted.
package struct NewStream {
  /// The route's path.
  package let path: String
  /// The streams that are sent as server-sent events; nil: the client speaks WebSocket.
  package let events: EventsRequest?
  /// The client's side of another protocol; nil: it speaks ours.
  package let dialect: (any DialectSession)?
  /// The compression that was negotiated; nil: none.
  package let deflate: PerMessageDeflate?
  /// Whether the client takes data as binary records.
  package let isBinary: Bool
  /// The token that the request brought; nil: none.
  package let credential: AccessPolicy.Credential?
  /// The caller's permissions; nil: its first message brings a token.
  package let grant: Grant?
  /// The client's address: the peer's, or the one that a trusted proxy reports.
  package let address: IPAddress
}

/// A request that was answered.
package struct AnsweredRequest {
  /// Nil: the request could not be read, or none arrived in time.
  package let head: HTTPRequestHead?
  package let status: Int
  /// Of the answer's body.
  package let bytes: Int
  /// From the request's head to its answer.
  package let nanoseconds: UInt64
}

/// The sender of a request.
package struct RequestCaller {
  /// Nil: the peer has no address of the Internet.
  package let address: IPAddress?
  /// The name of the caller's key; nil: it has no key, or none is required.
  package let subject: String?
}
