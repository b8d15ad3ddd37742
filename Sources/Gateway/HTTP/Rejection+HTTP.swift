import Access

extension Rejection {
  /// The answer that the client gets: `rate_limited` for everything that one peer does too much of.
  var response: HTTPResponse {
    .error(
      refusal.status, code: refusal.status == 429 ? "rate_limited" : refusal.rawValue, message: refusal.message,
      hint: refusal.hint, retryAfterMilliseconds: max(1, (wait + 999) / 1_000))
  }
}
