/// The code of Swift lines: what stands in comments and texts is left out, and what texts interpolate is not.
struct SwiftCode {
  private enum State: Equatable {
    /// With the parentheses that are open in it.
    case code(Int)
    case text(hashes: Int, isLong: Bool)
    case comment
  }

  private var states = [State.code(0)]

  /// The code of the next line.
  mutating func take(_ line: Substring) -> String {
    // Most lines have neither a text nor a comment, or are a comment.
    if states.count == 1 {
      if line.drop(while: { $0 == " " }).hasPrefix("//") { return "" }
      if !line.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "/") }) { return String(line) }
    }
    var code = ""
    var rest = line
    func hasPrefix(_ text: String) -> Bool { rest.hasPrefix(text) }
    while let first = rest.first {
      switch states[states.count - 1] {
      case .comment:
        if hasPrefix("*/") {
          states.removeLast()
          rest = rest.dropFirst()
        } else if hasPrefix("/*") {
          states.append(.comment)
          rest = rest.dropFirst()
        }
      case .text(let hashes, let isLong):
        let fence = String(repeating: "#", count: hashes)
        if hasPrefix("\\" + fence + "(") {
          states.append(.code(0))
          rest = rest.dropFirst(1 + hashes)
        } else if hasPrefix("\\" + fence) {
          rest = rest.dropFirst(1 + hashes)
        } else if hasPrefix((isLong ? "\"\"\"" : "\"") + fence) {
          states.removeLast()
          rest = rest.dropFirst((isLong ? 3 : 1) + hashes - 1)
        }
      case .code(let open):
        let hashes = rest.prefix { $0 == "#" }.count
        if hasPrefix("//") { return code }
        if hasPrefix("/*") {
          states.append(.comment)
          rest = rest.dropFirst()
        } else if rest.dropFirst(hashes).first == "\"" {
          let isLong = rest.dropFirst(hashes).hasPrefix("\"\"\"")
          states.append(.text(hashes: hashes, isLong: isLong))
          rest = rest.dropFirst(hashes + (isLong ? 2 : 0))
        } else if first == ")", open == 0, states.count > 1 {
          states.removeLast()
        } else {
          if first == "(" { states[states.count - 1] = .code(open + 1) }
          if first == ")" { states[states.count - 1] = .code(max(0, open - 1)) }
          code.append(first)
        }
      }
      rest = rest.dropFirst()
    }
    // A text of one line ends with it.
    while case .text(_, false) = states[states.count - 1] { states.removeLast() }
    return code
  }
}
