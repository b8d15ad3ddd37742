/// permessage-deflate (RFC 7692): where it is negotiated, and where its contexts will live.
///
/// At present every offer is declined, which section 5 of that RFC allows: a server that does not want the extension
/// leaves it out of its answer, and the connection goes on without. Frames with RSV1 are therefore refused (RFC 6455
/// section 5.2).
///
/// What a negotiation has to settle, when there is one: `server_no_context_takeover`, so that a frame is compressed
/// once and shared by all who subscribe to it; `client_no_context_takeover` and a window of 12 bits at most, so that an
/// idle client costs no memory; and `WebSocketLimits.messageBytes` as the bound of what a message may inflate to,
/// checked while inflating.
package enum PerMessageDeflate {
  /// The answer to the elements of `Sec-WebSocket-Extensions`, as the value of the response's field; nil declines them
  /// all.
  package static func negotiate(offers: [Substring]) -> String? { nil }
}
