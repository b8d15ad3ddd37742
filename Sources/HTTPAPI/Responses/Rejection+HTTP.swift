import Access

extension Rejection {
  /// The answer that the client gets; its code is `rate_limited` for every 429.
  package var response: HTTPResponse {
    .error(
      refusal.status, code: refusal.status == 429 ? "rate_limited" : refusal.rawValue, message: refusal.message,
      hint: refusal.hint, retryAfterMilliseconds: max(1, (wait + 999) / 1_000))
  }
}
