import Bytes
import NATS

extension FuzzTarget {
  /// What a NATS server sends: operations, headers, `INFO` and JetStream's answers; and files with credentials.
  static let nats = FuzzTarget(
    "nats",
    words: [
      "INFO {", "\"headers\":true", "\"connect_urls\":[\"a:1\"]", "MSG a.b 1 5\r\nhello\r\n", "HMSG a 1 r 12 17\r\n",
      "NATS/1.0 503\r\n\r\n", "NATS/1.0\r\n", "PING\r\n", "PONG\r\n", "+OK\r\n", "-ERR '", "\"err_code\":10071",
      "\"message\":{\"seq\":1,\"data\":\"aGk=\"}", "-----BEGIN NATS USER JWT-----\n",
      "-----BEGIN USER NKEY SEED-----\n",
      "\r\n", " ", "\t", "0", "9999999999999999999",
    ]
  ) { (bytes) throws(FuzzFailure) in
    for limits in [NATSLimits(), NATSLimits(infoBytes: 64, lineBytes: 32, messageBytes: 16)] {
      let whole = try operations(Cuts.whole(bytes), limits)
      try requireSame(try operations(Cuts.random(bytes), limits), whole, "a cut changes what is read")
      try requireSame(try operations(Cuts.single(bytes), limits), whole, "byte by byte is read differently")
    }
    try connect(bytes)
    for line in bytes.lines { try texts(line) }
    if let credentials = try? NATSCredentials(file: Array(bytes)) {
      try require(!"\(credentials)".contains("eyJ"), "credentials print their token")
    }
  }

  /// What a parser makes of the pieces: a line an operation, and the error at the end.
  private static func operations(_ pieces: [[UInt8]], _ limits: NATSLimits) throws(FuzzFailure) -> [String] {
    var parser = NATSParser(limits: limits)
    var said: [String] = []
    for piece in pieces {
      var failure: FuzzFailure?
      let goesOn = piece.withUnsafeBytes { raw -> Bool in
        var input = raw
        do throws(NATSError) {
          while let operation = try parser.next(&input) { said.append(text(operation)) }
          if !input.isEmpty { failure = FuzzFailure("input is left though no operation is there") }
          return failure == nil
        } catch {
          said.append("error \(error)")
          var again: NATSError?
          do throws(NATSError) { _ = try parser.next(&input) } catch { again = error }
          if again != error { failure = FuzzFailure("the parser goes on after an error") }
          return false
        }
      }
      if let failure { throw failure }
      if !goesOn { break }
      let most = max(limits.infoBytes, limits.lineBytes + limits.messageBytes + 2)
      try require(parser.pendingBytes <= most, "\(parser.pendingBytes) bytes are held")
    }
    return said
  }

  private static func text(_ operation: NATSOperation) -> String {
    switch operation {
    case .info(let json): return "info \(Array(json))"
    case .ping: return "ping"
    case .pong: return "pong"
    case .ok: return "ok"
    case .error(let line): return "error \(NATSServerError(line).text)"
    case .message(let message):
      let status = (try? NATSHeaders(message.headers)).map { "\($0.status ?? 0) \($0.value("A")?.count ?? -1)" }
      let answer = try? JetStreamAnswer(message)
      return "\(Array(message.subject)) \(message.subscription) \(Array(message.reply)) \(Array(message.headers)) "
        + "\(Array(message.payload)) \(status ?? "no headers") \(answer?.sequence ?? 0)"
    }
  }

  /// A connection that gets the bytes: what it sends are whole lines, and nothing is published before it is open.
  private static func connect(_ bytes: UnsafeRawBufferPointer) throws(FuzzFailure) {
    var connection = NATSConnection(NATSOptions(name: "fuzz"), now: 0)
    var output = ByteBuffer()
    for (index, piece) in Cuts.random(bytes).enumerated() {
      let now = Int64(index) * 10_000
      piece.withUnsafeBytes { raw in
        var input = raw
        do throws(NATSError) {
          while try connection.next(&input, now: now, output: &output) != nil {}
          try connection.runTimers(now: now, output: &output)
        } catch { input = UnsafeRawBufferPointer(start: nil, count: 0) }
      }
    }
    let sent = output.takeBytes()
    try require(sent.isEmpty || sent.suffix(2) == [0x0D, 0x0A], "a line is cut")
    try require(connection.isConnected == (connection.phase == .connected), "two answers")
  }

  private static func texts(_ line: [UInt8]) throws(FuzzFailure) {
    line.withUnsafeBytes { bytes in
      _ = try? NATSServerInfo(json: bytes)
      _ = try? JetStreamAnswer(json: bytes)
    }
    if let subject = try? NATSSubject(line) {
      let isOwn = line.withUnsafeBytes { NATSSubjectPattern(subject).matches($0) }
      try require(isOwn, "a subject does not match itself")
    }
    var token: [UInt8] = []
    NATSToken.append(line.prefix(300), to: &token)
    try require(NATSToken.text(token) == Array(line.prefix(300)), "a token is read differently")
    if let address = NATSServerAddress(String(decoding: line, as: UTF8.self)) {
      try require(NATSServerAddress(address.description) == address, "an address is read differently")
    }
  }
}
