import Testing

@testable import NATS

@Suite("What a NATS server says of itself")
struct NATSServerInfoTests {
  private func info(_ json: String) throws -> NATSServerInfo {
    try Array(json.utf8).withUnsafeBytes { try NATSServerInfo(json: $0) }
  }

  @Test("the members of a server 2.9 are read; unknown ones are ignored")
  func members() throws {
    let read = try info(
      """
      {"server_id":"NA","server_name":"n1","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576,\
      "tls_required":true,"tls_available":true,"nonce":"abc","client_id":5,"ldm":true,"jetstream":true,\
      "connect_urls":["10.0.0.1:4222","[::1]:4222"],"x":{"y":[1,null]}}
      """)
    #expect(read.name == "n1" && read.version == "2.9.10" && read.maxPayload == 1 << 20)
    #expect(read.supportsHeaders && read.requiresTLS && read.offersTLS && read.isLameDuck && read.hasJetStream)
    #expect(read.nonce == Array("abc".utf8) && read.connectURLs == ["10.0.0.1:4222", "[::1]:4222"])
  }

  @Test("an absent or null list of addresses is empty, and a long one is cut")
  func addresses() throws {
    #expect(try info("{}").connectURLs == [])
    #expect(try info(#"{"connect_urls":null}"#).connectURLs == [])
    let urls = (0..<1_000).map { "\"h\($0):1\"" }.joined(separator: ",")
    #expect(try info("{\"connect_urls\":[\(urls)]}").connectURLs.count == NATSServerInfo.urlLimit)
  }

  @Test("texts for logs are short and printable")
  func texts() throws {
    let name = try info("{\"server_name\":\"\\u001b[31m\(String(repeating: "ü", count: 200))\"}").name
    #expect(name.utf8.count == 128 && name.hasPrefix("?[31m?") && name.utf8.allSatisfy { 0x20...0x7E ~= $0 })
  }

  @Test(
    "an INFO that is no JSON object, or has members of other types, is refused",
    arguments: [
      "", "[]", "{", "{} x", #"{"max_payload":"x"}"#, #"{"max_payload":0}"#, #"{"max_payload":-5}"#,
      #"{"headers":1}"#, #"{"nonce":5}"#, #"{"connect_urls":[1]}"#,
    ])
  func malformed(_ json: String) { #expect(throws: NATSError.self) { try info(json) } }
}
