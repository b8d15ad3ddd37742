import HTTP1

/// Reads the token of a request (RFC 6750). Only `Authorization: Bearer …` may contain it, because URLs end up in
/// logs, histories and `Referer` fields. A browser, which cannot set headers on a WebSocket, sends its token in
/// `hello`.
package enum BearerToken {
  package enum Problem: Error, Equatable {
    /// A token in the query.
    case inURL
    case malformed(String)
  }

  /// Names of query parameters that hold tokens elsewhere.
  private static let queryNames: Set<String> = ["token", "access_token", "api_key", "apikey"]

  /// The token; nil if the request has none.
  package static func read(_ request: HTTPRequestHead) throws(Problem) -> String? {
    if request.target.utf8.contains(UInt8(ascii: "?")),
      request.query.contains(where: { queryNames.contains($0.name.lowercased()) })
    {
      throw .inURL
    }
    let values = request.fields.values("Authorization")
    guard let value = values.first else { return nil }
    guard values.count == 1 else { throw .malformed("there is more than one Authorization field") }
    let parts = value.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, ASCII.equalIgnoringCase(parts[0], "Bearer") else {
      throw .malformed("Authorization must be: Bearer TOKEN")
    }
    return String(parts[1])
  }
}
