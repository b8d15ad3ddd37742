import HTTP1

/// A request that was answered from a memo, by its octets: a poller sends the same ones again, and need not have them
/// read again.
struct RememberedRequest {
  /// Longer heads are read each time.
  static let byteLimit = 1_024

  private let octets: [UInt8]
  let head: HTTPRequestHead
  let memo: AnswerMemo

  init(_ octets: [UInt8], _ head: HTTPRequestHead, _ memo: AnswerMemo) {
    self.octets = octets
    self.head = head
    self.memo = memo
  }

  /// The same with another memo.
  func with(_ memo: AnswerMemo) -> RememberedRequest { RememberedRequest(octets, head, memo) }

  /// The octets of a request that may be remembered, nil of any other. It is not known yet what it asks for.
  static func octets(_ bytes: UnsafeRawBufferPointer, _ head: HTTPRequestHead, body: [UInt8]) -> [UInt8]? {
    guard bytes.count <= byteLimit, body.isEmpty, head.method == "GET" || head.method == "HEAD" else { return nil }
    return Array(bytes)
  }

  /// Takes the request from the front of `input`, if it stands there. A head ends where its empty line does, so that
  /// what begins with a whole head has no other there.
  func take(_ input: inout UnsafeRawBufferPointer) -> Bool {
    guard input.count >= octets.count,
      octets.withUnsafeBytes({ known in
        known.elementsEqual(UnsafeRawBufferPointer(rebasing: input[..<known.count]))
      })
    else { return false }
    input = UnsafeRawBufferPointer(rebasing: input[octets.count...])
    return true
  }
}
