/// A header field (RFC 9110 section 5). Names compare without case.
package struct HTTPField: Sendable, Equatable {
  /// A token; an encoder traps on anything else.
  package let name: String
  /// The value without spaces around it. Control characters are written as spaces.
  package let value: String

  /// A field, unchecked; the encoder replaces characters that may not be sent.
  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// The fields of a message, in order. A lookup is linear: a head has a dozen fields.
package struct HTTPFields: Sendable {
  package private(set) var fields: [HTTPField] = []

  /// `fields` in their order.
  package init(_ fields: [HTTPField] = []) { self.fields = fields }

  /// No fields, with room for this number.
  init(capacity: Int) { fields.reserveCapacity(capacity) }

  /// Adds a field after the others, also if one with that name exists.
  package mutating func append(_ name: String, _ value: String) { fields.append(HTTPField(name, value)) }

  /// The value of the first field of that name, compared without case.
  package subscript(_ name: String) -> String? {
    fields.first { ASCII.equalIgnoringCase($0.name, name) }?.value
  }

  /// The values of every field of that name, in order.
  package func values(_ name: String) -> [String] {
    fields.compactMap { ASCII.equalIgnoringCase($0.name, name) ? $0.value : nil }
  }

  /// The elements of a comma-separated list field, over all its lines, without the space around them; empty ones are
  /// dropped (RFC 9110 section 5.6.1.2).
  package func list(_ name: String) -> [Substring] {
    fields.lazy.filter { ASCII.equalIgnoringCase($0.name, name) }.flatMap { field -> [Substring] in
      field.value.utf8.split(separator: UInt8(ascii: ",")).compactMap {
        let element = Substring($0).trimmingSpace()
        return element.isEmpty ? nil : element
      }
    }
  }

  /// Whether a comma-separated list field holds `token`, both compared without case: `Connection: keep-alive, Upgrade`.
  package func contains(_ token: String, in name: String) -> Bool {
    fields.contains { ASCII.equalIgnoringCase($0.name, name) && Self.holds(token, $0.value) }
  }

  /// Whether a comma-separated list holds `token`. It allocates no list, because it is called several times for every
  /// request.
  private static func holds(_ token: String, _ list: String) -> Bool {
    guard list.utf8.count != token.utf8.count || !ASCII.equalIgnoringCase(list, token) else { return true }
    var (list, token) = (list, token)
    return list.withUTF8 { list in
      token.withUTF8 { token in
        list.split(separator: UInt8(ascii: ",")).contains { element in
          var element = element
          while let first = element.first, first == 0x20 || first == 0x09 { element.removeFirst() }
          while let last = element.last, last == 0x20 || last == 0x09 { element.removeLast() }
          return !element.isEmpty && ASCII.equalIgnoringCase(UnsafeBufferPointer(rebasing: element), token)
        }
      }
    }
  }
}

extension Substring {
  /// Without spaces and tabs at both ends (OWS, RFC 9110 section 5.6.3).
  fileprivate func trimmingSpace() -> Substring {
    var view = self.utf8
    while let first = view.first, first == 0x20 || first == 0x09 { view.removeFirst() }
    while let last = view.last, last == 0x20 || last == 0x09 { view.removeLast() }
    return Substring(view)
  }
}
