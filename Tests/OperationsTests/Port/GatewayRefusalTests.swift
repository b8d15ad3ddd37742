import Testing

@testable import Operations

@Suite("A gateway's refusal in words")
struct GatewayRefusalTests {
  @Test(
    "it is the message and a hint that a terminal's user can follow, never JSON",
    arguments: [
      (#"{"type":"error","code":"bad_document","message":"it is empty","retry":false}"#, "it is empty"),
      (#"{"code":"too_big","message":"it is too large","hint":"send less"}"#, "it is too large; send less"),
      (
        #"{"code":"unauthorized","message":"the operators' token is needed","hint":"send Authorization: Bearer"}"#,
        "the operators' token is needed; give it with --token-file"
      ),
      (
        #"{"code":"unknown_feed","message":"no feed is called x","hint":"GET /admin/feeds lists them"}"#,
        "no feed is called x"
      ),
      (
        #"{"code":"not_found","message":"there is no /admin/state","hint":"there are /v1/stream /v1/events"}"#,
        "there is no /admin/state"
      ),
      ("<html>Bad Gateway</html>", "the gateway answers 502"), ("", "the gateway answers 502"),
      (#"{"message":7}"#, "the gateway answers 502"), (#"{"message""#, "the gateway answers 502"),
    ])
  func words(text: String, words: String) {
    #expect(GatewayRefusal(status: 502, text: text).words == words)
  }
}
