/// The functions of a Swift file and their lengths, found by counting braces outside texts and comments.
struct SwiftOutline {
  struct Function: Equatable {
    /// With the types around it: `Market.apply`, `Market.init`.
    let name: String
    /// From 1.
    let line: Int
    /// Lines from the one with its name to that of the closing brace.
    let length: Int
  }

  private(set) var functions: [Function] = []
  /// Whether every brace is closed, as it is in every file that compiles.
  private(set) var isBalanced = true

  /// What an open brace began.
  private struct Scope {
    var name = ""
    /// The line of a function's name; nil: it is none.
    var function: Int?
    /// Open parentheses around it.
    var parentheses = 0
    /// Of a closure that is a default value: the declaration with that parameter.
    var pending: Declaration?
  }

  /// A declaration whose brace has not come yet.
  private struct Declaration {
    let name: String
    let line: Int
    let isFunction: Bool
    /// Ends with its line: a property without a body.
    let isProperty: Bool
  }

  private static let types: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "extension"]
  private static let bodies: Set<Substring> = ["func", "init", "deinit", "subscript"]

  /// O(bytes).
  init(_ lines: [Substring]) {
    var code = SwiftCode()
    var scopes: [Scope] = []
    var pending: Declaration?
    var parentheses = 0
    for (index, line) in lines.enumerated() {
      let text = code.take(line)
      if parentheses == 0, pending?.isProperty == true { pending = nil }
      var rest = text[...]
      while let first = rest.first {
        if first.isLetter || first == "_" {
          let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
          let isMember = rest.startIndex > text.startIndex && ".`".contains(text[text.index(before: rest.startIndex)])
          rest = rest.dropFirst(word.count)
          if parentheses == 0, !isMember, let declaration = Self.declaration(word, rest, index + 1) {
            pending = declaration
          }
          continue
        }
        rest = rest.dropFirst()
        switch first {
        case "(", "[": parentheses += 1
        case ")", "]": parentheses -= 1
        case "=" where pending?.isProperty == true && parentheses == 0: pending = nil
        case "{":
          var scope = Scope(parentheses: parentheses)
          if parentheses > 0 {
            scope.pending = pending
          } else if let declaration = pending {
            scope.name = declaration.name
            scope.function = declaration.isFunction ? declaration.line : nil
          }
          pending = nil
          scopes.append(scope)
          parentheses = 0
        case "}":
          guard let scope = scopes.popLast() else {
            isBalanced = false
            continue
          }
          (parentheses, pending) = (scope.parentheses, scope.pending)
          guard let line = scope.function else { continue }
          let name = (scopes.map(\.name) + [scope.name]).filter { !$0.isEmpty }.joined(separator: ".")
          functions.append(Function(name: name, line: line, length: index + 2 - line))
        default: break
        }
      }
    }
    isBalanced = isBalanced && scopes.isEmpty
  }

  /// What a keyword declares, with what stands behind it; nil for any other word.
  private static func declaration(_ word: Substring, _ rest: Substring, _ line: Int) -> Declaration? {
    let behind = rest.drop { $0 == " " || $0 == "`" }
    let isProperty = word == "var" || word == "let"
    guard types.contains(word) || bodies.contains(word) || isProperty else { return nil }
    let hasName = word != "init" && word != "deinit" && word != "subscript"
    var name = hasName ? behind.prefix { !" (:<{`".contains($0) } : word
    // An operator.
    if name.isEmpty { name = behind.prefix { $0 != " " && $0 != "(" } }
    // `class func`, and a keyword that is only a word here.
    let isName = rest.first == " " && !name.isEmpty && !bodies.contains(name) && name != "var"
    guard isName || !hasName else { return nil }
    return Declaration(
      name: String(name), line: line, isFunction: !types.contains(word), isProperty: isProperty)
  }
}
