import HTTP1
import Testing

@testable import WebSocket

@Suite("The negotiation of permessage-deflate")
struct PerMessageDeflateTests {
  private static let key = Array("the sample nonce".utf8)

  private func answer(
    _ offers: String..., policy: PerMessageDeflate.Policy?
  ) throws -> (
    field: String?, agreed: PerMessageDeflate?
  ) {
    var head = WebSocketHandshake.request(host: "a", target: "/", key: Self.key)
    for line in offers { head.fields.append("Sec-WebSocket-Extensions", line) }
    let answer = try WebSocketHandshake.accept(head, subprotocols: [], compression: policy)
    return (answer.response.fields["Sec-WebSocket-Extensions"], answer.deflate)
  }

  private static let generous = PerMessageDeflate.Policy(
    serverTakesOver: true, clientTakesOver: true, serverWindowBits: 9...15, clientWindowBits: 15)

  /// Offer, and the answer of a server that does anything; nil: declined.
  static let generousTable: [(String, String?)] = [
    ("permessage-deflate", ""),
    ("permessage-deflate; client_max_window_bits", ""),
    ("permessage-deflate; client_max_window_bits=15", ""),
    ("permessage-deflate; client_max_window_bits=10", "; client_max_window_bits=10"),
    ("permessage-deflate;client_max_window_bits=\"10\"", "; client_max_window_bits=10"),
    ("permessage-deflate; client_max_window_bits=8", "; client_max_window_bits=8"),
    ("permessage-deflate; server_max_window_bits=15", "; server_max_window_bits=15"),
    ("permessage-deflate; server_max_window_bits=9", "; server_max_window_bits=9"),
    ("permessage-deflate; server_no_context_takeover", "; server_no_context_takeover"),
    ("permessage-deflate; client_no_context_takeover", "; client_no_context_takeover"),
    (
      "permessage-deflate; client_max_window_bits=9 ;server_no_context_takeover;\tserver_max_window_bits = 12",
      "; server_no_context_takeover; server_max_window_bits=12; client_max_window_bits=9"
    ),
    // zlib has no raw deflate with a window of 256 bytes.
    ("permessage-deflate; server_max_window_bits=8", nil),
    ("permessage-deflate; server_max_window_bits=8, permessage-deflate", ""),
    ("permessage-deflate; server_max_window_bits", nil),
    ("permessage-deflate; server_max_window_bits=7", nil),
    ("permessage-deflate; server_max_window_bits=16", nil),
    ("permessage-deflate; server_max_window_bits=010", nil),
    ("permessage-deflate; server_max_window_bits=+9", nil),
    ("permessage-deflate; server_max_window_bits=9.0", nil),
    ("permessage-deflate; client_max_window_bits=0", nil),
    ("permessage-deflate; client_max_window_bits=16", nil),
    ("permessage-deflate; client_max_window_bits=1e1", nil),
    ("permessage-deflate; client_no_context_takeover=true", nil),
    ("permessage-deflate; server_no_context_takeover=1", nil),
    ("permessage-deflate; client_no_context_takeover; client_no_context_takeover", nil),
    ("permessage-deflate; client_max_window_bits; client_max_window_bits=10", nil),
    ("permessage-deflate; mux", nil),
    ("permessage-deflate; unknown, permessage-deflate; client_max_window_bits=11", "; client_max_window_bits=11"),
    ("x-webkit-deflate-frame, permessage-deflate", ""),
    ("x-webkit-deflate-frame", nil),
    ("permessage-bzip2; client_max_window_bits", nil),
    ("Permessage-Deflate", nil),
    (" , permessage-deflate ,, ", ""),
    ("", nil),
  ]

  @Test("a server that does anything answers each offer with what was asked and nothing else", arguments: generousTable)
  func generous(_ offer: String, _ expected: String?) throws {
    let (field, agreed) = try answer(offer, policy: Self.generous)
    #expect(field == expected.map { "permessage-deflate" + $0 }, "\(offer)")
    #expect((agreed == nil) == (expected == nil))
  }

  @Test("the server of many idle clients: contexts are not kept, windows are small where the client lets it")
  func standard() throws {
    let policy = PerMessageDeflate.Policy()
    let none = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
    // An answer with a server_max_window_bits that was not asked for makes clients hang up.
    var result = try answer("permessage-deflate", policy: policy)
    #expect(result.field == none)
    #expect(
      result.agreed
        == PerMessageDeflate(
          serverNoContextTakeover: true, clientNoContextTakeover: true, serverMaxWindowBits: 12, clientMaxWindowBits: 15
        ))
    result = try answer("permessage-deflate; client_max_window_bits", policy: policy)
    #expect(result.field == none + "; client_max_window_bits=12")
    #expect(result.agreed?.clientMaxWindowBits == 12)
    result = try answer("permessage-deflate; server_max_window_bits=15; client_max_window_bits=9", policy: policy)
    #expect(result.field == none + "; server_max_window_bits=12; client_max_window_bits=9")
    // Eleven bits are less than the window that all share.
    #expect(try answer("permessage-deflate; server_max_window_bits=11", policy: policy).field == nil)
    result = try answer(
      "permessage-deflate; server_max_window_bits=11", "permessage-deflate; server_max_window_bits=12", policy: policy)
    #expect(result.field == none + "; server_max_window_bits=12")
  }

  @Test("without a policy every offer is declined by silence")
  func declined() throws {
    let (field, agreed) = try answer("permessage-deflate; client_max_window_bits", policy: nil)
    #expect(field == nil && agreed == nil)
  }

  static let malformed = [
    ";", "permessage-deflate;", "permessage-deflate; ", "permessage-deflate; =1", "permessage-deflate; a=",
    "permessage-deflate; a=\"", "permessage-deflate; a=\"\"", "permessage-deflate; a=\"b c\"", "permessage-deflate a",
    "permessage-deflate; a=b c", "a@b", "permessage-deflate; a=\"b\\", "permessage-deflate, ;",
    "\"permessage-deflate\"",
    "permessage-deflate; a==b",
  ]

  @Test("a field that is no list of extensions is refused with 400, policy or not", arguments: malformed)
  func malformedField(_ value: String) {
    for policy in [nil, Self.generous] {
      #expect(throws: HTTPError(status: 400, reason: "Sec-WebSocket-Extensions must be a list of extensions")) {
        try answer(value, policy: policy)
      }
    }
  }

  private func check(_ answer: String?, _ offers: [PerMessageDeflate.Offer]) throws -> PerMessageDeflate? {
    var fields = HTTPFields([
      HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade"),
      HTTPField("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
    ])
    if let answer { fields.append("Sec-WebSocket-Extensions", answer) }
    return try WebSocketHandshake.check(
      HTTPResponseHead(status: 101, fields: fields), key: Self.key, subprotocols: [], compression: offers
    ).deflate
  }

  @Test("a client takes answers that fit one of its offers")
  func answers() throws {
    let browser = [PerMessageDeflate.Offer()]
    #expect(try check(nil, browser) == nil)
    #expect(try check("permessage-deflate", browser) == PerMessageDeflate())
    #expect(
      try check("permessage-deflate; client_max_window_bits=8", browser) == PerMessageDeflate(clientMaxWindowBits: 8))
    // The RFC lets a server limit itself without being asked.
    #expect(
      try check("permessage-deflate; server_max_window_bits=10; server_no_context_takeover", browser)
        == PerMessageDeflate(serverNoContextTakeover: true, serverMaxWindowBits: 10))
    #expect(
      try check("permessage-deflate; client_no_context_takeover", browser)
        == PerMessageDeflate(clientNoContextTakeover: true))
    let picky = [
      PerMessageDeflate.Offer(serverNoContextTakeover: true, serverMaxWindowBits: 10, clientMaxWindowBits: .bits(12)),
      PerMessageDeflate.Offer(clientNoContextTakeover: true, clientMaxWindowBits: .notOffered),
    ]
    #expect(
      try check("permessage-deflate; server_no_context_takeover; server_max_window_bits=9", picky)
        == PerMessageDeflate(serverNoContextTakeover: true, serverMaxWindowBits: 9, clientMaxWindowBits: 12))
    #expect(try check("permessage-deflate", picky) == PerMessageDeflate(clientNoContextTakeover: true))
    #expect(
      picky.map(\.element) == [
        "permessage-deflate; server_no_context_takeover; server_max_window_bits=10; client_max_window_bits=12",
        "permessage-deflate; client_no_context_takeover",
      ])
  }

  static let badAnswers = [
    "permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits=16",
    "permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=08",
    "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; x",
    "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
    "permessage-deflate, permessage-deflate", "permessage-bzip2", "permessage-deflate;",
  ]

  @Test("a client fails the connection for any other answer", arguments: badAnswers)
  func refused(_ answer: String) {
    #expect(throws: HTTPError.self, "\(answer)") { try check(answer, [PerMessageDeflate.Offer()]) }
  }

  @Test("an answer must fit an offer")
  func unfit() {
    let plain = [PerMessageDeflate.Offer(clientMaxWindowBits: .notOffered)]
    #expect(throws: HTTPError.self) { try check("permessage-deflate; client_max_window_bits=10", plain) }
    #expect(throws: HTTPError.self) { try check("permessage-deflate", []) }
    let small = [PerMessageDeflate.Offer(serverMaxWindowBits: 10)]
    #expect(throws: HTTPError.self) { try check("permessage-deflate", small) }
    #expect(throws: HTTPError.self) { try check("permessage-deflate; server_max_window_bits=11", small) }
    let fresh = [PerMessageDeflate.Offer(serverNoContextTakeover: true)]
    #expect(throws: HTTPError.self) { try check("permessage-deflate", fresh) }
  }

  @Test("what a client offers, this server's answers to it, and what both then hold fit together")
  func bothEnds() throws {
    let windows: [PerMessageDeflate.Offer.ClientWindow] = [.notOffered, .any, .bits(8), .bits(11), .bits(15)]
    let policies = [PerMessageDeflate.Policy(), Self.generous]
    for policy in policies {
      for window in windows {
        for bits in [nil, 8, 9, 12, 15] {
          for flags in 0..<4 {
            let offer = PerMessageDeflate.Offer(
              serverNoContextTakeover: flags & 1 != 0, clientNoContextTakeover: flags & 2 != 0,
              serverMaxWindowBits: bits, clientMaxWindowBits: window)
            let (field, agreed) = try answer(offer.element, policy: policy)
            let seen = try check(field, [offer])
            // Who is not asked for a window uses what it likes and the other end provides for the largest.
            #expect(seen?.serverNoContextTakeover == agreed?.serverNoContextTakeover)
            #expect(seen?.clientNoContextTakeover == agreed?.clientNoContextTakeover)
            guard let seen, let agreed else { continue }
            #expect(seen.serverMaxWindowBits >= agreed.serverMaxWindowBits)
            #expect(seen.clientMaxWindowBits <= agreed.clientMaxWindowBits)
          }
        }
      }
    }
  }
}
