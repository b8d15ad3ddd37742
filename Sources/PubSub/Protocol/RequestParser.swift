import Bytes
import MarketData

/// Reads a client's message. Fields may come in any order; unknown ones and wrong types are errors that name them.
enum RequestParser {
  /// Bytes of an `id`.
  static let idLimit = 128
  /// The most elements of `streams`; a longer list is refused, because no client may have as many subscriptions.
  static let listLimit = 10_000

  private struct Fields {
    var op: String?
    var id: String?
    var idError: ProtocolError?
    var streams: JSONSlice?
    var all: JSONSlice?
    var interval: JSONSlice?
    var time: JSONSlice?
    var heartbeat: JSONSlice?
    var token: JSONSlice?
    var client: JSONSlice?
    var resume: JSONSlice?
    var control = ControlFields()
    /// A field that no request has.
    var unknown: String?
  }

  /// The fields of each request, beside `op` and `id`.
  static let fieldsByOp: [String: [String]] = [
    "hello": ["token", "client", "heartbeat_s", "resume"], "subscribe": ["streams"], "unsubscribe": ["streams", "all"],
    "configure": ["interval_ms"], "pause": [], "resume": [], "list": [], "ping": ["time"],
    "alert": ControlFields.names,
  ]

  /// The error of an unknown field: it is a spelling mistake, and its intended effect would be missing.
  static func unknownField(_ name: String, in path: String, among known: [String]) -> ProtocolError {
    let near = NearNames.of(name, among: known, limit: 1).first.map { "did you mean `\($0)`? " } ?? ""
    let list = known.isEmpty ? "it takes no fields" : "the fields are: \(known.joined(separator: ", "))"
    return ProtocolError(.badRequest, "there is no field `\(path)\(name.prefix(40))`", hint: near + list)
  }

  /// Throws for the first field that the request does not allow.
  private static func checkFields(_ fields: Fields, of op: String) throws(ProtocolError) {
    guard let known = fieldsByOp[op] else { return }
    let given: [(name: String, isThere: Bool)] =
      [
        ("streams", fields.streams != nil), ("all", fields.all != nil), ("interval_ms", fields.interval != nil),
        ("time", fields.time != nil), ("heartbeat_s", fields.heartbeat != nil), ("token", fields.token != nil),
        ("client", fields.client != nil), ("resume", fields.resume != nil),
      ] + fields.control.given
    let foreign = fields.unknown ?? given.first { $0.isThere && !known.contains($0.name) }?.name
    if let foreign { throw unknownField(foreign, in: "", among: ["op", "id"] + known) }
  }

  static func parse(_ message: RawSpan) -> ParsedRequest {
    var json = JSONScanner(message)
    var fields = Fields()
    do throws(JSONError) {
      try json.objectStart()
      while let key = try json.nextKey() {
        if json.equals(key, "op") {
          if json.peek() == .string {
            let slice = try json.string()
            fields.op = try json.decoded(slice)
          } else {
            _ = try json.rawValue()
          }
        } else if json.equals(key, "id") {
          let kind = json.peek()
          let slice = try json.rawValue()
          let text = json.text(slice).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
          let isInteger = kind == .number && text.utf8.allSatisfy { $0 == 0x2D || ($0 >= 0x30 && $0 <= 0x39) }
          if kind == .string || isInteger, slice.count <= idLimit {
            fields.id = text
          } else {
            fields.idError = .wrongType("id", "an integer or a string of at most \(idLimit) bytes")
          }
        } else {
          let slice = try json.rawValue()
          if json.equals(key, "streams") {
            fields.streams = slice
          } else if json.equals(key, "all") {
            fields.all = slice
          } else if json.equals(key, "interval_ms") {
            fields.interval = slice
          } else if json.equals(key, "time") {
            fields.time = slice
          } else if json.equals(key, "heartbeat_s") {
            fields.heartbeat = slice
          } else if json.equals(key, "token") {
            fields.token = slice
          } else if json.equals(key, "client") {
            fields.client = slice
          } else if json.equals(key, "resume") {
            fields.resume = slice
          } else if !fields.control.take(key, slice, json), fields.unknown == nil {
            fields.unknown = try json.decoded(key)
          }
        }
      }
      try json.end()
    } catch {
      return ParsedRequest(id: fields.id, error: describe(error))
    }
    if let error = fields.idError { return ParsedRequest(error: error) }
    do throws(ProtocolError) {
      return ParsedRequest(id: fields.id, request: try request(fields, json))
    } catch {
      return ParsedRequest(id: fields.id, error: error)
    }
  }

  private static func request(_ fields: Fields, _ json: borrowing JSONScanner) throws(ProtocolError) -> ClientRequest {
    guard let op = fields.op else {
      throw ProtocolError(
        .badRequest, "`op` must be a string that names the request",
        hint: "one of: \(ClientRequest.ops.joined(separator: ", "))")
    }
    try checkFields(fields, of: op)
    switch op {
    case "hello":
      var hello = ClientRequest.Hello()
      hello.token = try optionalString(fields.token, "token", json)
      hello.client = try optionalString(fields.client, "client", json)
      if let seconds = try optionalInteger(fields.heartbeat, "heartbeat_s", json) {
        guard (1...60).contains(seconds) else {
          throw ProtocolError(.outOfRange, "`heartbeat_s` is \(seconds)", hint: "1 to 60 seconds; 5 if left out")
        }
        hello.heartbeatSeconds = Int(seconds)
      }
      if let slice = fields.resume { hello.resume = try resume(slice, json) }
      return .hello(hello)
    case "subscribe":
      guard let streams = fields.streams else {
        throw ProtocolError(
          .badRequest, "`streams` is missing",
          hint: "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"pulse\",\"symbols\":[\"kraken:BTC-USD\"]}]}")
      }
      return .subscribe(try items(streams, json))
    case "unsubscribe":
      if let all = fields.all {
        var scanner = JSONScanner(json.text(all))
        guard scanner.peek() == .bool, let value = try? scanner.bool() else { throw .wrongType("all", "true or false") }
        if value { return .unsubscribeAll }
      }
      guard let streams = fields.streams else {
        throw ProtocolError(
          .badRequest, "`streams` is missing", hint: "an array of stream numbers, or \"all\":true")
      }
      return .unsubscribe(try numbers(streams, json))
    case "configure":
      guard let interval = try optionalInteger(fields.interval, "interval_ms", json) else {
        throw ProtocolError(.badRequest, "`interval_ms` is missing", hint: "0, 100, 250, 1000 or 5000")
      }
      return .configure(interval: try checkedInterval(interval))
    case "pause": return .pause
    case "resume": return .resume
    case "list": return .list
    case "alert": return .control(try fields.control.request(json))
    case "ping": return .ping(time: try optionalInteger(fields.time, "time", json))
    default:
      let known = ClientRequest.ops
      let near = NearNames.of(op, among: known, limit: 1).first.map { "did you mean `\($0)`? " } ?? ""
      throw ProtocolError(
        .unknownOp, "unknown op `\(op.prefix(40))`", hint: near + "one of: \(known.joined(separator: ", "))")
    }
  }

  static func checkedInterval(_ interval: Int64) throws(ProtocolError) -> Int {
    guard (0...60_000).contains(interval) else {
      throw ProtocolError(
        .outOfRange, "`interval_ms` is \(interval)",
        hint: "0 to 60000; the gateway uses the nearest of 0, 100, 250, 1000, 5000 that is not faster")
    }
    return Int(interval)
  }

  static func optionalString(
    _ slice: JSONSlice?, _ name: String, _ json: borrowing JSONScanner
  ) throws(ProtocolError) -> String? {
    guard let slice else { return nil }
    var scanner = JSONScanner(json.text(slice))
    guard scanner.peek() == .string, let inner = try? scanner.string(), let text = try? scanner.decoded(inner) else {
      throw .wrongType(name, "a string")
    }
    return text
  }

  static func optionalInteger(
    _ slice: JSONSlice?, _ name: String, _ json: borrowing JSONScanner
  ) throws(ProtocolError) -> Int64? {
    guard let slice else { return nil }
    var scanner = JSONScanner(json.text(slice))
    guard let value = integer(&scanner) else { throw .wrongType(name, "an integer") }
    return value
  }

  private static func integer(_ scanner: inout JSONScanner) -> Int64? {
    guard scanner.peek() == .number else { return nil }
    return try? scanner.int64()
  }

  private static func numbers(
    _ slice: JSONSlice, _ json: borrowing JSONScanner
  ) throws(ProtocolError) -> [UInt32] {
    var scanner = JSONScanner(json.text(slice))
    let wrong = ProtocolError.wrongType("streams", "an array of stream numbers")
    guard scanner.peek() == .array else { throw wrong }
    var numbers: [UInt32] = []
    do throws(JSONError) {
      try scanner.arrayStart()
      while try scanner.nextElement() {
        guard scanner.peek() == .number, let number = UInt32(exactly: try scanner.int64()), numbers.count < listLimit
        else {
          numbers = []
          break
        }
        numbers.append(number)
      }
    } catch {
      throw wrong
    }
    if numbers.isEmpty { throw wrong }
    return numbers
  }

  private static func items(
    _ slice: JSONSlice, _ json: borrowing JSONScanner
  ) throws(ProtocolError) -> [ClientRequest.Item] {
    var scanner = JSONScanner(json.text(slice))
    guard scanner.peek() == .array else {
      throw .wrongType("streams", "an array of objects with a `channel`")
    }
    var items: [ClientRequest.Item] = []
    guard read(&items, &scanner, positions: false) else {
      throw .wrongType("streams", "an array of at most \(listLimit) objects with a `channel`")
    }
    return items
  }

  /// The elements of an array of items; false if it is too long.
  private static func read(
    _ items: inout [ClientRequest.Item], _ scanner: inout JSONScanner, positions: Bool
  ) -> Bool {
    do throws(JSONError) {
      try scanner.arrayStart()
      while try scanner.nextElement() {
        items.append(try RequestItemParser.read(&scanner, index: items.count, hasPosition: positions))
        if items.count > listLimit { return false }
      }
      return true
    } catch {
      return false
    }
  }

  /// `{"session":"s_8f2c…","streams":[{"channel":"trades","symbol":"kraken:BTC-USD","epoch":"k7","seq":91823}]}`
  private static func resume(
    _ slice: JSONSlice, _ json: borrowing JSONScanner
  ) throws(ProtocolError) -> ClientRequest.Resume {
    var scanner = JSONScanner(json.text(slice))
    let wrong = ProtocolError.wrongType("resume", "an object with a `session` and an array of `streams`")
    guard scanner.peek() == .object else { throw wrong }
    var resume = ClientRequest.Resume()
    var isRead = true
    var unknown: String?
    do throws(JSONError) {
      try scanner.objectStart()
      while isRead, let key = try scanner.nextKey() {
        if scanner.equals(key, "session"), scanner.peek() == .string {
          let text = try scanner.string()
          resume.session = try scanner.decoded(text)
        } else if scanner.equals(key, "streams") {
          isRead = false
          if scanner.peek() == .array { isRead = read(&resume.items, &scanner, positions: true) }
        } else {
          if unknown == nil { unknown = try scanner.decoded(key) }
          try scanner.skipValue()
        }
      }
    } catch {
      isRead = false
    }
    if let unknown, !["session", "streams"].contains(unknown) {
      throw unknownField(unknown, in: "resume.", among: ["session", "streams"])
    }
    guard isRead else { throw wrong }
    return resume
  }

  /// An integer; nil for any other value, which is skipped.
  static func number(_ scanner: inout JSONScanner) throws(JSONError) -> Int64? {
    guard scanner.peek() == .number else {
      try scanner.skipValue()
      return nil
    }
    let slice = try scanner.number()
    return try? DecimalText.parse(scanner.text(slice), scale: 0)
  }
}
