import HTTP1
import MarketData

/// The parameters of a request, each known to its route and given once.
package struct RequestQuery {
  private let items: [(name: String, value: String)]
  private let parameters: [Route.Parameter]

  /// Reads the query of `request`.
  /// - Throws: 400 for a parameter that is not among `parameters`, or that is repeated and may not be.
  package init(_ request: HTTPRequestHead, _ parameters: [Route.Parameter], of path: String) throws(RequestProblem) {
    items = request.query
    self.parameters = parameters
    let known = parameters.map(\.name)
    var seen: Set<String> = []
    for item in items {
      let shown = String(item.name.prefix(40))
      guard let parameter = parameters.first(where: { $0.name == item.name }) else {
        throw Self.problem(
          "\(path) has no parameter \"\(shown)\"\(NearNames.question(shown, among: known))",
          hint: known.isEmpty ? "it takes none" : "it takes \(known.joined(separator: ", "))")
      }
      guard seen.insert(item.name).inserted || parameter.repeats else {
        throw Self.problem("\(shown) appears twice", hint: "give it once")
      }
    }
  }

  /// The value of a parameter; nil if it is not given.
  package func text(_ name: String) -> String? { items.first { $0.name == name }?.value }

  /// The values of a parameter that repeats.
  package func texts(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

  /// The value of a parameter that is a whole number, in the range that its route states.
  /// - Parameter word: the value of the word that may be given instead.
  package func number(_ name: String, default standard: Int, word value: Int? = nil) throws(RequestProblem) -> Int {
    let (range, word) = numbers(name)
    guard let text = text(name) else { return standard }
    if let value, text == word { return value }
    // `+5` and `007` are no numbers here, as they are none in JSON.
    guard let number = Int(text), String(number) == text, range.contains(number) else {
      throw notAllowed(name, text)
    }
    return number
  }

  /// The value of a parameter that is one of a few words.
  package func word<Value>(
    _ name: String, default standard: Value, _ value: (String) -> Value?
  ) throws(RequestProblem) -> Value {
    guard let text = text(name) else { return standard }
    guard let value = value(text) else { throw notAllowed(name, text) }
    return value
  }

  private func parameter(_ name: String) -> Route.Parameter {
    guard let parameter = parameters.first(where: { $0.name == name }) else {
      preconditionFailure("the route has no parameter \(name)")
    }
    return parameter
  }

  /// The numbers that a parameter may be, and the word.
  private func numbers(_ name: String) -> (ClosedRange<Int>, String?) {
    switch parameter(name).form {
    case .number(let range): (range, nil)
    case .numberOr(let range, let word): (range, word)
    case .ordinal(_, let last): (0...last, nil)
    case .text, .oneOf, .flag: preconditionFailure("\(name) is not a number")
    }
  }

  private func notAllowed(_ name: String, _ text: String) -> RequestProblem {
    Self.problem("\(name)=\(text.prefix(40)) is not allowed", hint: "\(name) may be \(parameter(name).allowed)")
  }

  package static func problem(_ message: String, hint: String) -> RequestProblem {
    RequestProblem(response: .error(400, code: "bad_parameter", message: message, hint: hint))
  }
}
