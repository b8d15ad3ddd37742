import HTTP1

/// A request that was answered with a memo, by its octets: a poller sends the same octets again, which then need no
/// parsing.
struct RememberedRequest {
  /// Longer heads are parsed each time.
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

  /// The octets of a request that may be remembered; nil for any other. Its route is not known yet.
  static func octets(_ bytes: UnsafeRawBufferPointer, _ head: HTTPRequestHead, body: [UInt8]) -> [UInt8]? {
    guard bytes.count <= byteLimit, body.isEmpty, head.method == "GET" || head.method == "HEAD" else { return nil }
    return Array(bytes)
  }

  /// Takes the request from the front of `input`, if it is there. A head ends with its empty line, so input that begins
  /// with these octets begins with this head.
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
