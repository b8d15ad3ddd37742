import PubSub

extension ProtocolError.Code {
  /// The HTTP status of an answer with this code, on every route.
  var status: Int {
    switch self {
    case .badJSON, .badRequest, .unknownOp, .unknownChannel, .outOfRange: 400
    case .unauthorized: 401
    case .forbidden: 403
    case .unknownSymbol, .unknownStream, .unknownAlert, .unknownPortfolio, .unknownDeck, .unknownWebhook: 404
    case .tooManySubscriptions, .tooManyAlerts, .tooManyPortfolios, .keyReused: 409
    case .changed: 412
    case .messageTooLarge: 413
    case .invalidAlert, .invalidPortfolio, .invalidWebhook: 422
    case .rateLimited: 429
    case .notReady, .unavailable: 503
    }
  }
}
