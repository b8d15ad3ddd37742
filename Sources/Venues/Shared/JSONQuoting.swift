import Bytes

/// Requests are rare and short: plain strings, with what comes from outside escaped.
enum JSONQuoting {
  static func quoted(_ text: String) -> String {
    var buffer = ByteBuffer(capacity: text.utf8.count + 2)
    buffer.append(json: text)
    return buffer.description
  }

  static func array(_ texts: [String]) -> String { "[" + texts.map(quoted).joined(separator: ",") + "]" }
}
