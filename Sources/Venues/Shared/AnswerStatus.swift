/// What a REST answer says beside its body.
struct AnswerStatus {
  /// That no answer came.
  static let none = AnswerStatus(code: 0)

  /// The status of HTTP; 0 if there is no answer.
  var code: Int
  /// How long the venue asks to wait before the next request, µs.
  var retryAfter: Int64?

  var isOK: Bool { code == 200 }

  /// - Throws: `refused` unless the answer is what was asked for.
  func check() throws(FeedError) {
    guard isOK else { throw FeedError(.refused, "status \(code)") }
  }
}
