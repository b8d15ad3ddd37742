import Bytes
import HTTPAPI
import MarketData
import PubSub
import Recordings

/// Recorded time in the words of tardis-machine: `ws-replay-normalized` and `replay-normalized`.
enum TardisReplay {
  /// The most streams of one request.
  static let streamLimit = 100

  /// Reads the options of a request.
  static func request(
    _ text: String, _ grant: Grant, _ directory: Directory
  ) -> Result<ReplayRequest, DialectReplayRefusal> {
    do throws(TardisOptions.Problem) {
      return .success(try read(text, grant, directory))
    } catch {
      return .failure(refusal(error.words))
    }
  }

  static func refusal(_ words: String) -> DialectReplayRefusal {
    // A close frame has 123 bytes of reason (RFC 6455 section 5.5).
    DialectReplayRefusal(
      code: 1011, reason: String(decoding: words.utf8.prefix(120), as: UTF8.self),
      response: TardisReplayVoice.response(400, words))
  }

  private static func read(
    _ text: String, _ grant: Grant, _ directory: Directory
  ) throws(TardisOptions.Problem) -> ReplayRequest {
    var keys: [StreamKey] = []
    var window: Range<Timestamp>?
    for options in try TardisOptions.parse(text) {
      let own = try self.window(options)
      // tardis-machine merges requests of different times; one clock serves all of ours.
      guard window == nil || window == own else {
        throw TardisOptions.Problem(words: "Error: all options must have the same from and to")
      }
      window = own
      let streams = try options.keys(of: try options.namedExchange(), in: directory, grant)
      guard keys.count + streams.count <= streamLimit else {
        throw TardisOptions.Problem(words: "Error: a replay has at most \(streamLimit) symbols and data types")
      }
      for key in streams where !keys.contains(key) { keys.append(key) }
    }
    guard let window, !keys.isEmpty else { throw TardisOptions.Problem(words: "Error: options name no market") }
    return ReplayRequest(keys: keys, window: window, speed: .fastest, voice: TardisReplayVoice())
  }

  private static func window(_ options: TardisOptions) throws(TardisOptions.Problem) -> Range<Timestamp> {
    guard let from = options.from.flatMap(time) else {
      throw TardisOptions.Problem(words: "Error: invalid \"from\" argument: \((options.from ?? "none").prefix(40))")
    }
    guard let to = options.to.flatMap(time), to > from else {
      throw TardisOptions.Problem(words: "Error: invalid \"to\" argument: \((options.to ?? "none").prefix(40))")
    }
    return from..<to
  }

  /// `2026-08-21`, `2026-08-21T14:30`, `2026-08-21T14:30:00.000`, each with or without a `Z`: all are UTC.
  static func time(_ text: String) -> Timestamp? {
    var text = text
    if text.hasSuffix("Z") { text.removeLast() }
    switch text.utf8.count {
    case 10: text += "T00:00:00"
    case 16: text += ":00"
    default: break
    }
    return RecordingTime.read(text + "Z")
  }
}

/// The words of tardis-machine around replayed data: there are none but the end.
struct TardisReplayVoice: ReplayVoice {
  let contentType = "application/x-json-stream"
  let takesControls = false

  func opening(_ request: ReplayRequest) -> [UInt8]? { nil }

  func appendJoined(_ result: JoinResult, _ instrument: Instrument, total: Int, to out: inout ByteBuffer) -> Bool {
    false
  }

  func ending(at time: Timestamp) -> ReplayEnd { ReplayEnd(code: 1000, reason: "WS replay-normalized finished") }

  func failure(_ response: HTTPResponse, code: UInt16, reason: String) -> ReplayEnd {
    let words = "Error: \(reason)"
    // Only 1000 is no error to its clients.
    return ReplayEnd(
      code: code == 1001 ? 1011 : code, reason: String(decoding: words.utf8.prefix(120), as: UTF8.self),
      response: Self.response(response.status, words))
  }

  /// `{"responseText":…,"message":…}`, as tardis-machine answers.
  static func response(_ status: Int, _ words: String) -> HTTPResponse {
    .object(status: status) { writer in
      writer.field("responseText", words)
      writer.field("message", words)
    }
  }
}
