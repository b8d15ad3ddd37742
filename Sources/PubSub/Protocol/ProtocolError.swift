import Bytes

/// The reason why a request, or an item of it, was refused: what is wrong, what that means, and what to do.
package struct ProtocolError: Error, Sendable, Equatable {
  package enum Code: String, Sendable {
    case badJSON = "bad_json"
    case badRequest = "bad_request"
    case unknownOp = "unknown_op"
    case unknownChannel = "unknown_channel"
    case unknownSymbol = "unknown_symbol"
    case unknownStream = "unknown_stream"
    case outOfRange = "out_of_range"
    case tooManySubscriptions = "too_many_subscriptions"
    case messageTooLarge = "message_too_large"
    case rateLimited = "rate_limited"
    case unauthorized = "unauthorized"
    case forbidden = "forbidden"
    /// The venue's list of markets has not arrived yet.
    case notReady = "not_ready"
    case unknownAlert = "unknown_alert"
    case invalidAlert = "invalid_alert"
    case unknownPortfolio = "unknown_portfolio"
    case invalidPortfolio = "invalid_portfolio"
    case tooManyPortfolios = "too_many_portfolios"
    case unknownDeck = "unknown_deck"
    case unknownWebhook = "unknown_webhook"
    case invalidWebhook = "invalid_webhook"
    case tooManyAlerts = "too_many_alerts"
    /// It does not have the revision that the request names.
    case changed
    /// The same `key` was used for another request.
    case keyReused = "key_reused"
    /// The store cannot be written.
    case unavailable
  }
  package var code: Code
  package var message: String
  package var hint: String?
  /// Whether the same request can succeed later.
  package var retry = false
  package var retryAfterMilliseconds: Int64?

  package init(_ code: Code, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  package static func wrongType(_ field: String, _ wanted: String) -> ProtocolError {
    ProtocolError(.badRequest, "`\(field)` must be \(wanted)", hint: "the protocol reference shows every request")
  }

  /// What a refusal with this code means for its request.
  package static func impact(of code: String) -> String {
    code == Code.unavailable.rawValue
      ? "it is not certain that this request was carried out" : "this request was not carried out"
  }

  /// Appends `"code":…,"message":…` and the other members that are set, without braces.
  package func append(to out: inout ByteBuffer, impact: String? = nil) {
    out.append("\"code\":\"")
    out.append(code.rawValue)
    out.append("\",\"message\":")
    out.append(json: message)
    if let impact {
      out.append(",\"impact\":")
      out.append(json: impact)
    }
    if let hint {
      out.append(",\"hint\":")
      out.append(json: hint)
    }
    if impact != nil { out.append(retry ? ",\"retry\":true" : ",\"retry\":false") }
    if let retryAfterMilliseconds {
      out.append(",\"retry_after_ms\":")
      out.append(integer: retryAfterMilliseconds)
    }
  }
}
