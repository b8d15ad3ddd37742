import Bytes

/// An answer of a gateway that is no success, for people at a terminal.
package struct GatewayRefusal {
  /// The most letters of an answer that is shown.
  private static let lettersLimit = 300

  /// The reason in one line. It names options of commands where the answer's hint names requests.
  package let words: String

  /// - Parameters:
  ///   - status: the HTTP status.
  ///   - text: the body; it may be anything.
  package init(status: Int, text: String) {
    let fields = Self.texts(of: [UInt8](text.utf8))
    let message = fields["message"] ?? ""
    var hint = fields["hint"] ?? ""
    if fields["code"] == "unauthorized" { hint = "give it with --token-file" }
    // Routes are for programs.
    if hint.split(separator: " ").contains(where: { $0.hasPrefix("/") }) { hint = "" }
    let reason = message.isEmpty ? "the gateway answers \(status)" : message
    words = String((hint.isEmpty ? reason : "\(reason); \(hint)").prefix(Self.lettersLimit))
  }

  /// The members of an object that are texts; none if it cannot be read.
  private static func texts(of body: [UInt8]) -> [String: String] {
    var texts: [String: String] = [:]
    var json = JSONScanner(body.span.bytes)
    do throws(JSONError) {
      try json.objectStart()
      while let key = try json.nextKey() {
        if json.peek() == .string {
          texts[try json.decoded(key)] = try json.decoded(try json.string())
        } else {
          try json.skipValue()
        }
      }
      try json.end()
    } catch {
      return [:]
    }
    return texts
  }
}
