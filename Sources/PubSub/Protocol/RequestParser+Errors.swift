import Bytes

extension RequestParser {
  /// The refusal of a text that is not a JSON object.
  static func describe(_ error: JSONError) -> ProtocolError {
    let what: String
    switch error.reason {
    case .unexpectedEnd: what = "the text ends too early"
    case .unexpectedByte(let byte):
      let shown = byte > 0x20 && byte < 0x7F ? "`\(Character(Unicode.Scalar(byte)))`" : "byte \(byte)"
      what = "unexpected \(shown)"
    case .badEscape: what = "a bad escape in a string"
    case .badNumber, .decimal: what = "a bad number"
    case .tooDeep: what = "more than \(JSONScanner.depthLimit) levels of nesting"
    case .trailingBytes: what = "something after the end of the object"
    }
    return ProtocolError(
      .badJSON, "not a JSON object: \(what) at byte \(error.offset)", hint: "one message is one JSON object (RFC 8259)")
  }
}
