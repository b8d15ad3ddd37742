import Bytes

/// A parsed request of an owner about its alerts, on the stream or over HTTP. Its body is not parsed yet.
package struct ControlRequest: Sendable, Equatable {
  package enum Action: String, Sendable, CaseIterable {
    case create, change, replace, delete, ack, snooze, pause, resume, enable, disable

    /// Whether the stream has this action; HTTP has all.
    var isOfStream: Bool { self != .replace }
  }

  package var action: Action
  /// The rule's id as the client wrote it; nil for `create`.
  package var alert: String?
  /// The revision that the rule must have; nil: any.
  package var revision: Int64?
  /// With the same key, two `create` requests make one rule.
  package var key: String?
  /// JSON text; empty: none.
  package var body: [UInt8]

  /// Bytes of a `key`.
  package static let keyLimit = 128

  package init(
    _ action: Action, alert: String? = nil, revision: Int64? = nil, key: String? = nil, body: [UInt8] = []
  ) {
    self.action = action
    self.alert = alert
    self.revision = revision
    self.key = key
    self.body = body
  }

  /// The reason why the holder of a grant has no alerts; nil if it has.
  package static func refusal(for grant: Grant?) -> ProtocolError? {
    guard grant?.channels.contains(.alerts) == true else {
      return ProtocolError(.forbidden, "your token does not allow the channel `alerts`")
    }
    guard grant?.owner != nil else {
      return ProtocolError(
        .forbidden, "your token does not say who you are, so you have no alerts",
        hint: "use a key of your own, or a token with a `sub`")
    }
    return nil
  }
}

/// The fields of an `alert` request while it is parsed.
struct ControlFields {
  static let names = ["action", "alert", "body", "key", "revision"]

  private var slices: [JSONSlice?] = [nil, nil, nil, nil, nil]

  /// Stores the field if it is one of these; returns whether it is.
  mutating func take(_ key: JSONSlice, _ value: JSONSlice, _ json: borrowing JSONScanner) -> Bool {
    let index: Int
    if json.equals(key, "action") {
      index = 0
    } else if json.equals(key, "alert") {
      index = 1
    } else if json.equals(key, "body") {
      index = 2
    } else if json.equals(key, "key") {
      index = 3
    } else if json.equals(key, "revision") {
      index = 4
    } else {
      return false
    }
    slices[index] = value
    return true
  }

  var given: [(name: String, isThere: Bool)] { zip(Self.names, slices).map { ($0, $1 != nil) } }

  func request(_ json: borrowing JSONScanner) throws(ProtocolError) -> ControlRequest {
    let name = try RequestParser.optionalString(slices[0], "action", json)
    guard let name, let action = ControlRequest.Action(rawValue: name), action.isOfStream else {
      let known = ControlRequest.Action.allCases.filter(\.isOfStream).map(\.rawValue).joined(separator: ", ")
      throw ProtocolError(.badRequest, "`action` must name the action", hint: "one of: \(known)")
    }
    var request = ControlRequest(action)
    request.alert = try RequestParser.optionalString(slices[1], "alert", json)
    request.key = try RequestParser.optionalString(slices[3], "key", json)
    request.revision = try RequestParser.optionalInteger(slices[4], "revision", json)
    if let body = slices[2] { request.body = json.text(body).withUnsafeBytes { Array($0) } }
    guard (action == .create) == (request.alert == nil) else {
      throw ProtocolError(
        .badRequest, action == .create ? "`create` takes no `alert`" : "`alert` is missing",
        hint: "the id of a rule, as the channel alerts has it")
    }
    guard request.key?.utf8.count ?? 1 <= ControlRequest.keyLimit, request.key != "" else {
      throw .wrongType("key", "1 to \(ControlRequest.keyLimit) bytes")
    }
    guard request.key == nil || action == .create else {
      throw ProtocolError(.badRequest, "only `create` takes a `key`")
    }
    return request
  }
}
