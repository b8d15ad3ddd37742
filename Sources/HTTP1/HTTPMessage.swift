import Bytes

/// A header field. Names compare without case.
package struct HTTPField: Sendable, Equatable {
  package let name: String
  package let value: String
  package init(_ name: String, _ value: String) { self.name = name; self.value = value }
}

/// The fields of a message, in order.
package struct HTTPFields: Sendable {
  package private(set) var fields: [HTTPField] = []
  package init(_ fields: [HTTPField] = []) { self.fields = fields }
  package mutating func append(_ name: String, _ value: String) { fields.append(HTTPField(name, value)) }
  /// The value of the first field of that name, compared without case.
  package subscript(_ name: String) -> String? { fatalError("being written") }
  /// Whether a comma-separated list field holds `token`, both compared without case: `Connection: keep-alive, Upgrade`.
  package func contains(_ token: String, in name: String) -> Bool { fatalError("being written") }
}

/// The head of a request.
package struct HTTPRequestHead: Sendable {
  package var method: String
  /// The target as sent: `/v1/books/kraken:BTC-USD?depth=10`.
  package var target: String
  package var fields: HTTPFields
  /// HTTP/1.0 when false.
  package var isHTTP11: Bool
  /// The path, percent-decoded.
  package var path: String { fatalError("being written") }
  /// The query's names and values, percent-decoded, in order.
  package var query: [(name: String, value: String)] { fatalError("being written") }
  /// Whether the connection stays open after the response.
  package var keepsAlive: Bool { fatalError("being written") }
  package init(method: String, target: String, fields: HTTPFields, isHTTP11: Bool = true) {
    self.method = method; self.target = target; self.fields = fields; self.isHTTP11 = isHTTP11
  }
}

/// The head of a response.
package struct HTTPResponseHead: Sendable {
  package var status: Int
  package var reason: String
  package var fields: HTTPFields
  package init(status: Int, reason: String? = nil, fields: HTTPFields = .init()) {
    self.status = status; self.reason = reason ?? ""; self.fields = fields
  }
}
