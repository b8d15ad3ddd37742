import Bytes

/// A change of one alert, for ``GatewayClient/perform(_:)``.
public struct AlertRequest: Sendable, Hashable {
  /// The longest rule in bytes. The gateway accepts requests of 64 KiB.
  private static let limit = 60_000

  /// The fields after `op` and `id`, each with a comma before it; nil: the rule is not JSON, or too long.
  let fields: String?

  private init(_ action: StaticString, _ id: String? = nil, revision: Int64? = nil, key: String? = nil, body: String?) {
    var out = ByteBuffer()
    out.append(",\"action\":\"")
    out.append(action)
    out.append("\"")
    Self.append(",\"alert\":", id, to: &out)
    Self.append(",\"key\":", key, to: &out)
    if let revision {
      out.append(",\"revision\":")
      out.append(integer: revision)
    }
    if let body {
      out.append(",\"body\":")
      out.append(body)
    }
    fields = out.description.utf8.count <= Self.limit ? out.description : nil
  }

  /// A request that cannot be sent.
  private init() { fields = nil }

  private static func append(_ name: StaticString, _ text: String?, to out: inout ByteBuffer) {
    guard let text else { return }
    out.append(name)
    out.append(json: text)
  }

  /// `{"name":…,"rule":{…}}`; nil if the rule is not JSON.
  private static func body(name: String?, rule: String?) -> String? {
    var out = ByteBuffer()
    out.append("{")
    append("\"name\":", name, to: &out)
    if let rule {
      let bytes = Array(rule.utf8)
      var json = JSONScanner(bytes.span.bytes)
      guard (try? json.skipValue()) != nil, (try? json.end()) != nil else { return nil }
      out.append(name == nil ? "\"rule\":" : ",\"rule\":")
      out.append(rule)
    }
    out.append("}")
    return out.description
  }

  /// Creates an alert.
  /// - Parameters:
  ///   - rule: JSON text, as the gateway's guide Alerts describes it.
  ///   - key: chosen by the app; two requests with the same key create one alert.
  public static func create(name: String, rule: String, key: String) -> AlertRequest {
    guard let body = body(name: name, rule: rule) else { return AlertRequest() }
    return AlertRequest("create", key: key, body: body)
  }

  /// Changes its name, its rule, or both.
  /// - Parameter revision: the request fails if the alert has another revision; nil: any revision.
  public static func change(
    _ id: String, name: String? = nil, rule: String? = nil, revision: Int64? = nil
  )
    -> AlertRequest
  {
    guard let body = body(name: name, rule: rule) else { return AlertRequest() }
    return AlertRequest("change", id, revision: revision, body: body)
  }

  /// Deletes it.
  /// - Parameter revision: the request fails if the alert has another revision; nil: any revision.
  public static func delete(_ id: String, revision: Int64? = nil) -> AlertRequest {
    AlertRequest("delete", id, revision: revision, body: nil)
  }

  /// Acknowledges its firings: it no longer rings.
  /// - Parameter firing: the number of the newest firing to acknowledge; nil: all.
  public static func acknowledge(_ id: String, through firing: Int64? = nil) -> AlertRequest {
    AlertRequest("ack", id, body: firing.map { "{\"through\":\($0)}" })
  }

  /// Silences it; it rings again after a second to a day.
  public static func snooze(_ id: String, for time: Duration) -> AlertRequest {
    AlertRequest("snooze", id, body: "{\"for_s\":\(max(1, min(time.nanoseconds / 1_000_000_000, 86_400)))}")
  }

  /// Stops watching, or counting down, until ``resume(_:)``.
  public static func pause(_ id: String) -> AlertRequest { AlertRequest("pause", id, body: nil) }
  /// Continues after ``pause(_:)``.
  public static func resume(_ id: String) -> AlertRequest { AlertRequest("resume", id, body: nil) }
  /// Starts the rule again from its beginning.
  public static func enable(_ id: String) -> AlertRequest { AlertRequest("enable", id, body: nil) }
  /// Stops the rule.
  public static func disable(_ id: String) -> AlertRequest { AlertRequest("disable", id, body: nil) }
}

/// Why a request was not executed.
public enum RequestFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The gateway refuses it, with the reason and the remedy.
  case refused(Refusal)
  /// There was no connection within the time of a reply, or it broke before the answer. In the second case it is
  /// unknown whether the request was executed: check the alerts after the reconnection.
  case notConnected
  /// The client has ended, and does not reconnect, for this reason.
  case ended(ConnectionFailure)
  /// The rule is not JSON, or too long for the gateway.
  case invalid
  /// The task was cancelled.
  case cancelled

  /// For people, with what to do.
  public var description: String {
    switch self {
    case .refused(let refusal): refusal.description
    case .notConnected: "there was no answer from the gateway; send it again after the next connection"
    case .ended(let failure): "there is no connection to the gateway: \(failure)"
    case .invalid: "the rule is not JSON, or too long; write it as in the gateway's guide Alerts"
    case .cancelled: "it was cancelled"
    }
  }
}

/// The answer to a request: the alert as it is now, or nil if it was deleted.
struct AlertAnswer: Sendable, Hashable {
  var alert: Alert?
}
