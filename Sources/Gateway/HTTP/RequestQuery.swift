import HTTP1
import MarketData

/// A request that cannot be served, with the answer that says why.
struct RequestProblem: Error {
  let response: HTTPResponse
}

/// The parameters of a request, each known to its route and given once.
struct RequestQuery {
  private let items: [(name: String, value: String)]
  private let parameters: [Route.Parameter]

  /// Reads the query of `request`.
  /// - Throws: 400 for a parameter that is not among `parameters`, or that is repeated and may not be.
  init(_ request: HTTPRequestHead, _ parameters: [Route.Parameter], of path: String) throws(RequestProblem) {
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
  func text(_ name: String) -> String? { items.first { $0.name == name }?.value }

  /// The values of a parameter that repeats.
  func texts(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

  /// The value of a parameter that is a whole number, or one of `words`.
  func number(
    _ name: String, _ range: ClosedRange<Int>, default standard: Int, words: [String: Int] = [:]
  ) throws(RequestProblem) -> Int {
    guard let text = text(name) else { return standard }
    if let value = words[text] { return value }
    // `+5` and `007` are no numbers here, as they are none in JSON.
    guard let value = Int(text), String(value) == text, range.contains(value) else {
      let allowed = parameters.first { $0.name == name }?.allowed ?? ""
      throw Self.problem("\(name)=\(text.prefix(40)) is not allowed", hint: "\(name) may be \(allowed)")
    }
    return value
  }

  /// The value of a parameter that is one of a few words.
  func word<Value>(
    _ name: String, default standard: Value, _ value: (String) -> Value?
  ) throws(RequestProblem) -> Value {
    guard let text = text(name) else { return standard }
    guard let value = value(text) else {
      let allowed = parameters.first { $0.name == name }?.allowed ?? ""
      throw Self.problem("\(name)=\(text.prefix(40)) is not allowed", hint: "\(name) may be \(allowed)")
    }
    return value
  }

  static func problem(_ message: String, hint: String) -> RequestProblem {
    RequestProblem(response: .error(400, code: "bad_parameter", message: message, hint: hint))
  }
}
