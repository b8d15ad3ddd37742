import Bytes

/// One element of `streams` in a subscribe request as text of a URL: `book:kraken:BTC-USD,kraken:ETH-USD;depth=25`. It
/// has the channel, symbols separated by commas, and the element's other fields.
struct EventItem: Equatable {
  /// The fields that are possible in a URL; `holdings` and `positions` are lists and need a WebSocket.
  static let fields = ["depth", "points", "range", "interval", "last", "interval_ms", "portfolio", "currency"]
  /// The fields whose values are numbers if they consist of digits.
  private static let numbers = ["depth", "points", "last", "interval_ms"]
  private static let example = "pulse:kraken:BTC-USD or book:kraken:BTC-USD,kraken:ETH-USD;depth=25;interval_ms=250"

  var channel: String
  var symbols: [String] = []
  var values: [Value] = []

  struct Value: Equatable {
    var name: String
    var text: String
  }

  init(channel: String) { self.channel = channel }

  /// Reads the text of one element. O(length).
  init(_ text: Substring) throws(ProtocolError) {
    let parts = text.split(separator: ";", omittingEmptySubsequences: false)
    let head = parts[0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    channel = String(head[0])
    if channel.isEmpty { throw Self.problem("`\(text.prefix(40))` names no channel") }
    if head.count == 2 {
      symbols = head[1].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      if symbols.contains("") { throw Self.problem("`\(text.prefix(40))` has an empty symbol") }
    }
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, !pair[1].isEmpty else {
        throw Self.problem("`\(part.prefix(40))` is not a field with a value")
      }
      guard Self.fields.contains(pair[0]) else {
        throw ProtocolError(
          .badRequest, "there is no field `\(pair[0].prefix(40))` here",
          hint: "the fields are: \(Self.fields.joined(separator: ", "))")
      }
      guard !values.contains(where: { $0.name == pair[0] }) else {
        throw Self.problem("`\(pair[0])` appears twice in one element")
      }
      values.append(Value(name: pair[0], text: pair[1]))
    }
  }

  private static func problem(_ message: String) -> ProtocolError {
    ProtocolError(.badRequest, message, hint: "write \(example)")
  }

  /// The element as in a URL; nil if a symbol has a separator.
  var text: String? {
    let isPlain = symbols.allSatisfy { symbol in
      !symbol.isEmpty && symbol.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !Self.separators.contains($0) }
    }
    guard isPlain else { return nil }
    let names = symbols.isEmpty ? "" : ":" + symbols.joined(separator: ",")
    return channel + names + values.map { ";\($0.name)=\($0.text)" }.joined()
  }

  /// The separators of elements, and of the positions in an event's id.
  private static let separators = Array(",;@|".utf8)

  /// Appends the fields as JSON, without braces.
  /// - Parameter isPosition: whether it is the element of a resume, which has one symbol.
  func append(to out: inout ByteBuffer, isPosition: Bool = false) {
    out.append("\"channel\":")
    out.append(json: channel)
    if isPosition, let symbol = symbols.first {
      out.append(",\"symbol\":")
      out.append(json: symbol)
    } else if !symbols.isEmpty {
      out.append(",\"symbols\":[")
      for (index, symbol) in symbols.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        out.append(json: symbol)
      }
      out.append("]")
    }
    for value in values {
      out.append(",")
      out.append(json: value.name)
      out.append(":")
      if Self.numbers.contains(value.name), let number = Int64(value.text), "\(number)" == value.text {
        out.append(integer: number)
      } else {
        out.append(json: value.text)
      }
    }
  }
}
