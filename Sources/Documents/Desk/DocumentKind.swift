import PubSub

/// The kinds of documents that owners keep, and what refusals say about them.
package enum DocumentKind: String, Sendable {
  case alert, portfolio, webhook

  /// The most letters of a document's name.
  static let nameLimit = 100

  private var withArticle: String { self == .alert ? "an alert" : "a \(rawValue)" }

  /// The owner has no document that `text` names.
  package func unknown(_ text: some StringProtocol) -> ProtocolError {
    let code: ProtocolError.Code =
      switch self {
      case .alert: .unknownAlert
      case .portfolio: .unknownPortfolio
      case .webhook: .unknownWebhook
      }
    return ProtocolError(
      code, "you have no \(rawValue) `\(text.prefix(40))`", hint: "GET /v1/\(rawValue)s lists yours")
  }

  /// The kind's code for a field that cannot be used.
  private var invalid: ProtocolError.Code {
    switch self {
    case .alert: .invalidAlert
    case .portfolio: .invalidPortfolio
    case .webhook: .invalidWebhook
    }
  }

  /// Checks the name that an owner gives a document.
  func check(name: String?) throws(ProtocolError) {
    guard let name, !(1...Self.nameLimit).contains(name.count) || name.utf8.count > 4 * Self.nameLimit else { return }
    throw ProtocolError(invalid, "`name` must have 1 to \(Self.nameLimit) letters")
  }

  /// The revision that an `If-Match` demands; nil: any (RFC 9110 section 13.1.1).
  /// - Parameter field: one entity tag as `RevisionTag` writes it, or `*`.
  package func revision(ifMatch field: String?) throws(ProtocolError) -> Int64? {
    guard let field, field != "*" else { return nil }
    guard let revision = RevisionTag.revision(in: field) else {
      throw ProtocolError(.changed, "If-Match is not the entity tag of \(withArticle)", hint: "send its ETag")
    }
    return revision
  }

  /// Checks that a document is at the revision that a request demands.
  /// - Parameter demanded: nil: any.
  func check(_ demanded: Int64?, isAt revision: Int64) throws(ProtocolError) {
    guard let demanded, demanded != revision else { return }
    throw ProtocolError(
      .changed, "the \(rawValue) is at revision \(revision) and not \(demanded)",
      hint: "read it again, and change what is there now")
  }
}

extension ProtocolError {
  /// The store did not take a change. It may be in the file all the same: an error can come after the write.
  package static var unwritten: ProtocolError {
    temporary(
      "the store could not be written, so it is not certain that this was done",
      hint: "ask again, with the same key if the request has one")
  }

  /// The store could not be read, or too many reads of it wait.
  static var unreadable: ProtocolError {
    temporary("the store cannot be read at present", hint: "ask again in a second")
  }

  private static func temporary(_ message: String, hint: String) -> ProtocolError {
    var error = ProtocolError(.unavailable, message, hint: hint)
    error.retry = true
    error.retryAfterMilliseconds = 1_000
    return error
  }
}
