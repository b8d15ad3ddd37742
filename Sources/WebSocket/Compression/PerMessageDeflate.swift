import HTTP1

/// The negotiated parameters of permessage-deflate (RFC 7692): a value that a handshake makes, for
/// `WebSocketConnection` and the code that compresses.
package struct PerMessageDeflate: Sendable, Equatable {
  /// The server compresses each message on its own, without reference to earlier ones (section 7.1.1.1).
  package var serverNoContextTakeover: Bool
  /// The same for the client (section 7.1.1.2).
  package var clientNoContextTakeover: Bool
  /// The window of the server's messages, as a power of two: 8…15 (section 7.1.2.1).
  package var serverMaxWindowBits: Int
  /// The window of the client's messages: 8…15 (section 7.1.2.2).
  package var clientMaxWindowBits: Int

  /// The defaults are those of the RFC: contexts are kept and windows have 15 bits.
  package init(
    serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int = 15,
    clientMaxWindowBits: Int = 15
  ) {
    self.serverNoContextTakeover = serverNoContextTakeover
    self.clientNoContextTakeover = clientNoContextTakeover
    self.serverMaxWindowBits = serverMaxWindowBits
    self.clientMaxWindowBits = clientMaxWindowBits
  }

  static let name = "permessage-deflate"

  /// A client's offer; it may make several, the preferred one first.
  package struct Offer: Sendable, Equatable {
    /// Whether and how the server may limit the window of the client's messages.
    package enum ClientWindow: Sendable, Equatable {
      /// The server may not.
      case notOffered
      /// `client_max_window_bits` without a value: it may.
      case any
      /// It may, and the client uses at most this number of bits in any case: 8…15.
      case bits(Int)
    }
    /// Requests that the server uses no context takeover.
    package var serverNoContextTakeover: Bool
    /// Says that the client will use no context takeover, regardless of the server's answer.
    package var clientNoContextTakeover: Bool
    /// The largest window that the client has room for: 8…15; nil: no request.
    package var serverMaxWindowBits: Int?
    package var clientMaxWindowBits: ClientWindow

    /// The offer of browsers: the server decides everything.
    package init(
      serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int? = nil,
      clientMaxWindowBits: ClientWindow = .any
    ) {
      self.serverNoContextTakeover = serverNoContextTakeover
      self.clientNoContextTakeover = clientNoContextTakeover
      self.serverMaxWindowBits = serverMaxWindowBits
      self.clientMaxWindowBits = clientMaxWindowBits
    }

    /// The offer as an element of `Sec-WebSocket-Extensions`.
    package var element: String {
      var text = PerMessageDeflate.name
      if serverNoContextTakeover { text += "; server_no_context_takeover" }
      if clientNoContextTakeover { text += "; client_no_context_takeover" }
      if let serverMaxWindowBits { text += "; server_max_window_bits=\(serverMaxWindowBits)" }
      switch clientMaxWindowBits {
      case .notOffered: break
      case .any: text += "; client_max_window_bits"
      case .bits(let bits): text += "; client_max_window_bits=\(bits)"
      }
      return text
    }
  }

  /// The parameters that a server accepts.
  package struct Policy: Sendable, Equatable {
    /// Whether the server keeps its context between messages if the client allows it: about 2^(bits + 3) bytes for each
    /// connection. Otherwise one context serves all connections, and a compressed message can be shared.
    package var serverTakesOver: Bool
    /// Whether a client may keep its context: about 2^bits + 8 KB at this end for each connection. Otherwise an idle
    /// connection has none.
    package var clientTakesOver: Bool
    /// The windows that the server can compress with, within 9…15: zlib has no raw deflate with 8 bits. Offers below
    /// the lower bound are declined; the upper bound is used if a client requests nothing. If both are equal, every
    /// client gets the same bytes.
    package var serverWindowBits: ClosedRange<Int>
    /// The largest window that the server wants to inflate with, 8…15; requested only if the client's offer allows
    /// it.
    package var clientWindowBits: Int

    /// The defaults suit a server with many clients that are mostly idle. Twelve bits are the window of the smallest
    /// usual clients.
    package init(
      serverTakesOver: Bool = false, clientTakesOver: Bool = false, serverWindowBits: ClosedRange<Int> = 12...12,
      clientWindowBits: Int = 12
    ) {
      precondition(
        serverWindowBits.lowerBound >= 9 && serverWindowBits.upperBound <= 15, "zlib deflates with 9 to 15 bits")
      precondition((8...15).contains(clientWindowBits), "a window has 8 to 15 bits (RFC 7692 section 7.1.2)")
      self.serverTakesOver = serverTakesOver
      self.clientTakesOver = clientTakesOver
      self.serverWindowBits = serverWindowBits
      self.clientWindowBits = clientWindowBits
    }
  }

  // MARK: Server

  /// Accepts the first offer that the server can meet; nil if there is none. Declines an offer with an unknown or
  /// repeated parameter, or with a value that the RFC does not allow (section 7). The answer never contains a
  /// `server_max_window_bits` or `client_max_window_bits` that the client did not name.
  static func accept(
    _ elements: [ExtensionElement], policy: Policy
  ) -> (agreed: PerMessageDeflate, answer: String)? {
    for element in elements where element.name == name {
      guard let offer = Offer(element), let agreed = accept(offer, policy: policy) else { continue }
      return agreed
    }
    return nil
  }

  private static func accept(_ offer: Offer, policy: Policy) -> (PerMessageDeflate, String)? {
    var agreed = PerMessageDeflate(
      serverNoContextTakeover: offer.serverNoContextTakeover || !policy.serverTakesOver,
      clientNoContextTakeover: offer.clientNoContextTakeover || !policy.clientTakesOver,
      serverMaxWindowBits: policy.serverWindowBits.upperBound)
    var answer = name
    if agreed.serverNoContextTakeover { answer += "; server_no_context_takeover" }
    if agreed.clientNoContextTakeover { answer += "; client_no_context_takeover" }
    if let asked = offer.serverMaxWindowBits {
      guard asked >= policy.serverWindowBits.lowerBound else { return nil }
      agreed.serverMaxWindowBits = min(asked, policy.serverWindowBits.upperBound)
      answer += "; server_max_window_bits=\(agreed.serverMaxWindowBits)"
    }
    switch offer.clientMaxWindowBits {
    case .notOffered: break
    case .any: agreed.clientMaxWindowBits = policy.clientWindowBits
    case .bits(let bits): agreed.clientMaxWindowBits = min(bits, policy.clientWindowBits)
    }
    if agreed.clientMaxWindowBits < 15 { answer += "; client_max_window_bits=\(agreed.clientMaxWindowBits)" }
    return (agreed, answer)
  }

  // MARK: Client

  /// Checks a server's answer against the offers; nil if it declined them.
  /// - Throws: the reason to fail the connection (section 7).
  static func check(_ elements: [ExtensionElement], offers: [Offer]) throws(HTTPError) -> PerMessageDeflate? {
    guard let element = elements.first else { return nil }
    guard elements.count == 1, element.name == name, !offers.isEmpty else {
      throw HTTPError(status: 502, reason: "the server uses an extension that was not offered")
    }
    guard let answer = Answer(element) else {
      throw HTTPError(
        status: 502, reason: "the server's answer about permessage-deflate has a parameter that is not allowed")
    }
    for offer in offers {
      if let agreed = answer.fits(offer) { return agreed }
    }
    throw HTTPError(status: 502, reason: "the server's answer about permessage-deflate fits no offer that was made")
  }

  private struct Answer {
    var serverNoContextTakeover = false
    var clientNoContextTakeover = false
    var serverMaxWindowBits: Int?
    var clientMaxWindowBits: Int?

    init?(_ element: ExtensionElement) {
      guard PerMessageDeflate.areDifferent(element.parameters) else { return nil }
      for parameter in element.parameters {
        switch (parameter.name, parameter.value) {
        case ("server_no_context_takeover", nil): serverNoContextTakeover = true
        case ("client_no_context_takeover", nil): clientNoContextTakeover = true
        case ("server_max_window_bits", let value?):
          guard let bits = PerMessageDeflate.bits(value) else { return nil }
          serverMaxWindowBits = bits
        case ("client_max_window_bits", let value?):
          guard let bits = PerMessageDeflate.bits(value) else { return nil }
          clientMaxWindowBits = bits
        default: return nil
        }
      }
    }

    func fits(_ offer: Offer) -> PerMessageDeflate? {
      if offer.serverNoContextTakeover, !serverNoContextTakeover { return nil }
      if let asked = offer.serverMaxWindowBits {
        guard let serverMaxWindowBits, serverMaxWindowBits <= asked else { return nil }
      }
      var clientBits = clientMaxWindowBits ?? 15
      switch offer.clientMaxWindowBits {
      case .notOffered: if clientMaxWindowBits != nil { return nil }
      case .any: break
      case .bits(let own): clientBits = min(clientBits, own)
      }
      return PerMessageDeflate(
        serverNoContextTakeover: serverNoContextTakeover,
        clientNoContextTakeover: clientNoContextTakeover || offer.clientNoContextTakeover,
        serverMaxWindowBits: serverMaxWindowBits ?? 15, clientMaxWindowBits: clientBits)
    }
  }

  // MARK: Parameters

  /// A decimal number from 8 to 15 without leading zeros (section 7.1.2).
  fileprivate static func bits(_ text: String) -> Int? {
    guard let first = text.utf8.first, first != UInt8(ascii: "0"), let bits = Int(text), (8...15).contains(bits),
      text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return bits
  }

  fileprivate static func areDifferent(_ parameters: [ExtensionElement.Parameter]) -> Bool {
    Set(parameters.map(\.name)).count == parameters.count
  }
}

extension PerMessageDeflate.Offer {
  /// Nil for an offer that must be declined.
  init?(_ element: ExtensionElement) {
    self.init(clientMaxWindowBits: .notOffered)
    guard PerMessageDeflate.areDifferent(element.parameters) else { return nil }
    for parameter in element.parameters {
      switch (parameter.name, parameter.value) {
      case ("server_no_context_takeover", nil): serverNoContextTakeover = true
      case ("client_no_context_takeover", nil): clientNoContextTakeover = true
      case ("server_max_window_bits", let value?):
        guard let bits = PerMessageDeflate.bits(value) else { return nil }
        serverMaxWindowBits = bits
      case ("client_max_window_bits", nil): clientMaxWindowBits = .any
      case ("client_max_window_bits", let value?):
        guard let bits = PerMessageDeflate.bits(value) else { return nil }
        clientMaxWindowBits = .bits(bits)
      default: return nil
      }
    }
  }
}
