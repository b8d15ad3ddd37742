import Alerts
import Bytes
import MarketData
import PubSub
import Transport

/// An owner's request about its rules, parsed and checked as far as a loop can; the desk checks the rest.
package struct AlertCall: Sendable {
  var owner: String
  var action: ControlRequest.Action
  var alert: AlertID?
  var revision: Int64?
  var key: RequestKey?
  var name: String?
  var rule: AlertRule?
  /// For `ack`: the last firing to acknowledge; nil: all.
  var through: UInt32?
  /// For `snooze`.
  var seconds: UInt32?

  /// Reads a request.
  /// - Parameters:
  ///   - grant: the caller's grant; it has an owner.
  ///   - find: why a symbol is refused; nil if it exists.
  package init(
    _ request: ControlRequest, _ grant: Grant, find: (String) -> ProtocolError?
  ) throws(ProtocolError) {
    guard let owner = grant.owner else {
      throw ControlRequest.refusal(for: grant) ?? ProtocolError(.forbidden, "alerts need an owner")
    }
    self.owner = owner
    action = request.action
    revision = request.revision
    key = request.key.map { RequestKey($0, digest: Digest.sha256(request.body)) }
    if let text = request.alert {
      guard let id = AlertID(text: text) else { throw DocumentKind.alert.unknown(text) }
      alert = id
    }
    switch action {
    case .create, .change, .replace: try readRule(request.body)
    case .ack: through = try number(request.body, "through", 1...Int64(UInt32.max))
    case .snooze:
      seconds = try number(request.body, "for_s", 1...86_400)
      guard seconds != nil else { throw ProtocolError(.badRequest, "`for_s` is missing", hint: "1 to 86400 seconds") }
    case .delete, .pause, .resume, .enable, .disable:
      guard request.body.isEmpty || request.body == Array("{}".utf8) else {
        throw ProtocolError(.badRequest, "\(action.rawValue) takes no body")
      }
    }
    for symbol in rule?.symbols ?? [] {
      if !grant.allows(symbol) {
        throw ProtocolError(
          .forbidden, "your token does not allow `\(symbol.prefix(80))`",
          hint: "GET /v1/instruments lists what it allows")
      }
      if let error = find(symbol) { throw error }
    }
  }

  private mutating func readRule(_ body: [UInt8]) throws(ProtocolError) {
    do {
      var json = JSONScanner(body.span.bytes)
      try json.objectStart()
      while let key = try json.nextKey() {
        if json.equals(key, "name"), json.peek() == .string {
          let slice = try json.string()
          name = try json.decoded(slice)
        } else if json.equals(key, "rule") {
          let slice = try json.rawValue()
          rule = try AlertRule(json: json.text(slice))
        } else {
          let field = try json.decoded(key)
          throw ProtocolError(
            .invalidAlert, "`\(field.prefix(40))` is not a field, or has the wrong type",
            hint: "fields: name (a string), rule (an object)")
        }
      }
      try json.end()
    } catch {
      throw Self.refusal(error)
    }
    try DocumentKind.alert.check(name: name)
    guard action == .change ? name != nil || rule != nil : name != nil && rule != nil else {
      let hint = "{\"name\":\"BTC over 70k\",\"rule\":{\"condition\":{…}}}"
      throw ProtocolError(
        .invalidAlert, action == .change ? "there is neither `name` nor `rule`" : "`name` and `rule` are both needed",
        hint: hint)
    }
  }

  /// Reads the one field that the body may have.
  private func number(
    _ body: [UInt8], _ field: String, _ range: ClosedRange<Int64>
  ) throws(ProtocolError) -> UInt32? {
    guard !body.isEmpty else { return nil }
    var value: Int64?
    do {
      var json = JSONScanner(body.span.bytes)
      try json.objectStart()
      while let key = try json.nextKey() {
        guard try json.decoded(key) == field else {
          throw ProtocolError(.badRequest, "\(action.rawValue) takes only `\(field)`")
        }
        value = try json.int64()
      }
      try json.end()
    } catch {
      throw Self.refusal(error)
    }
    guard let value else { return nil }
    guard range.contains(value) else {
      throw ProtocolError(.outOfRange, "`\(field)` is \(value)", hint: "\(range.lowerBound) to \(range.upperBound)")
    }
    return UInt32(value)
  }

  /// The refusal for an error of the reader or the engine.
  static func refusal(_ error: any Error) -> ProtocolError {
    switch error {
    case let error as ProtocolError: return error
    case let error as JSONError:
      return ProtocolError(
        .badRequest, "the body is not the JSON object that is expected: see byte \(error.offset)",
        hint: "{\"name\":\"BTC over 70k\",\"rule\":{\"condition\":{…}}}")
    case let error as AlertRuleError:
      switch error {
      case .invalid(let field, let reason): return ProtocolError(.invalidAlert, "`\(field)`: \(reason)")
      case .unknownTimeZone(let name):
        return ProtocolError(
          .invalidAlert, "the time zone `\(name.prefix(64))` is unknown", hint: "IANA names, such as Europe/Berlin")
      case .tooManyOfOwner(let limit):
        return ProtocolError(.tooManyAlerts, "you already have \(limit) alerts, the limit", hint: "delete some first")
      case .tooMany(let limit):
        return ProtocolError(.tooManyAlerts, "this gateway already has \(limit) alerts, its limit")
      case .unknownAlert: return ProtocolError(.unknownAlert, "you have no such alert")
      }
    default: return ProtocolError(.badRequest, "the request cannot be read")
    }
  }
}

/// The outcome of an owner's request.
package enum AlertOutcome: Sendable {
  case alert(AlertText, isNew: Bool)
  case removed(AlertID)

  /// The fields of a reply on the stream.
  package var fields: SharedBytes {
    var out = ByteBuffer(capacity: 512)
    switch self {
    case .alert(let text, _):
      out.append("\"alert\":")
      out.append(text.bytes.unsafeBytes)
    case .removed(let id):
      out.append("\"removed\":")
      out.append(json: id.text)
    }
    return SharedBytes(out.unsafeBytes)
  }
}
