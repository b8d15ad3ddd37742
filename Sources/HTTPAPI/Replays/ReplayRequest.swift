import Bytes
import MarketData
import PubSub
import Recordings

/// A request for recorded time: the streams, the moments and the speed.
package struct ReplayRequest: Sendable {
  package var keys: [StreamKey]
  package var window: Range<Timestamp>
  package var speed: ReplaySpeed
  /// The words of the protocol in which it is answered.
  package var voice: any ReplayVoice

  package init(keys: [StreamKey], window: Range<Timestamp>, speed: ReplaySpeed, voice: any ReplayVoice) {
    (self.keys, self.window, self.speed, self.voice) = (keys, window, speed, voice)
  }

  /// Reads a request for `/v1/replay`. Without `to`, it goes on to the end of the recordings.
  /// - Parameter standard: the speed if none is given.
  /// - Throws: the first mistake, or that the grant does not allow a stream.
  init(_ query: RequestQuery, _ grant: Grant, standard: ReplaySpeed) throws(RequestProblem) {
    let from = Timestamp(microseconds: Int64(try query.number("from", default: 0)))
    var to = Timestamp.distantFuture
    if query.text("to") != nil { to = Timestamp(microseconds: Int64(try query.number("to", default: 0))) }
    guard query.text("from") != nil, from < to else {
      throw RequestQuery.problem(
        query.text("from") == nil ? "from is missing" : "to is not after from", hint: "from=…&to=…, in µs")
    }
    speed = try query.word("speed", default: standard) { ReplaySpeed($0) }
    do throws(ProtocolError) {
      keys = try RecordedStreams.keys(of: query.texts("streams"), for: grant)
    } catch {
      throw RequestProblem(error)
    }
    window = from..<to
    voice = NativeReplayVoice()
  }
}

/// A protocol's words around replayed data. The data itself is in the keys of the streams.
package protocol ReplayVoice: Sendable {
  /// Of the body, where the client speaks HTTP: one message a line.
  var contentType: String { get }
  /// Whether the client may control the replay with messages.
  var takesControls: Bool { get }
  /// The first message; nil: none.
  func opening(_ request: ReplayRequest) -> [UInt8]?
  /// Appends the message that a stream began; false if there is none.
  func appendJoined(_ result: JoinResult, _ instrument: Instrument, total: Int, to out: inout ByteBuffer) -> Bool
  /// The end of the window, or of the recordings.
  func ending(at time: Timestamp) -> ReplayEnd
  /// An end before that.
  /// - Parameter status: of the answer, if nothing of it has been sent.
  func failure(_ response: HTTPResponse, code: UInt16, reason: String) -> ReplayEnd
}

/// How a replay ends.
package struct ReplayEnd: Sendable {
  /// The last message; nil: none.
  package var message: [UInt8]?
  /// The code and reason of the close frame.
  package var code: UInt16
  package var reason: String
  /// The answer to a client that speaks HTTP and has got nothing yet; nil: an empty body.
  package var response: HTTPResponse?

  package init(message: [UInt8]? = nil, code: UInt16, reason: String, response: HTTPResponse? = nil) {
    (self.message, self.code, self.reason, self.response) = (message, code, reason, response)
  }
}

/// Our own words: what `/v1/stream` says, and messages of the type `replay`.
struct NativeReplayVoice: ReplayVoice {
  let contentType = "application/x-ndjson"
  let takesControls = true

  /// `{"type":"replay","state":"begun","from":…,"to":…,"speed":"1","simulated":true,"replayed":true}`
  func opening(_ request: ReplayRequest) -> [UInt8]? {
    var out = ByteBuffer(capacity: 160)
    out.append("{\"type\":\"replay\",\"state\":\"begun\",\"from\":")
    out.append(integer: request.window.lowerBound.microseconds)
    if request.window.upperBound < .distantFuture {
      out.append(",\"to\":")
      out.append(integer: request.window.upperBound.microseconds)
    }
    out.append(",\"speed\":")
    out.append(json: request.speed.description)
    DataSource.replayed.append(to: &out)
    out.append("}")
    return out.takeBytes()
  }

  func appendJoined(_ result: JoinResult, _ instrument: Instrument, total: Int, to out: inout ByteBuffer) -> Bool {
    RecordedStreams.appendSubscribed(result, instrument, total: total, to: &out)
    return true
  }

  func ending(at time: Timestamp) -> ReplayEnd {
    ReplayEnd(message: Self.state("ended", at: time), code: 1000, reason: "the replay has ended")
  }

  func failure(_ response: HTTPResponse, code: UInt16, reason: String) -> ReplayEnd {
    ReplayEnd(message: response.body, code: code, reason: reason, response: response)
  }

  /// `{"type":"replay","state":"paused","time":…}`
  static func state(_ word: StaticString, at time: Timestamp, speed: ReplaySpeed? = nil) -> [UInt8] {
    var out = ByteBuffer(capacity: 80)
    out.append("{\"type\":\"replay\",\"state\":\"")
    out.append(word)
    out.append("\",\"time\":")
    out.append(integer: time.microseconds)
    if let speed {
      out.append(",\"speed\":")
      out.append(json: speed.description)
    }
    out.append("}")
    return out.takeBytes()
  }
}
