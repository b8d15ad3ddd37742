import Bytes
import MarketData
import PubSub
import Recordings

/// Answers about markets as they were recorded: `/v1/books/{symbol}?at=…` and `/v1/trades/{symbol}?from=…`.
struct PastAnswer {
  /// The cost of a question, in points of a sparkline: that of the largest request about the present. A question plays
  /// a part of a recording, whatever it finds.
  private static let cost = MarketAnswer.pointLimit
  private static let noRecording = "not_recorded"

  let request: APIRequest
  private var symbol: String { request.symbol }

  func book(depth: Int, at time: Timestamp) throws(RequestProblem) {
    let symbol = symbol
    try ask { past throws(RecordedPast.Failure) in
      try past.market(symbol, at: time) { state -> [UInt8]? in
        guard state.bookState == .live else { return nil }
        return Self.body(symbol) { out in
          out.append(",\"at\":")
          out.append(integer: time.microseconds)
          HTTPBodies.appendBook(of: state, depth: depth, to: &out)
        }
      }
    }
  }

  func trades(_ window: Range<Timestamp>, limit: Int) throws(RequestProblem) {
    let symbol = symbol
    try ask { past throws(RecordedPast.Failure) in
      let page = try past.trades(of: symbol, in: window, limit: limit)
      return Self.body(symbol) { out in
        HTTPBodies.append(page.trades[...], of: page.instrument, to: &out)
        if let next = page.next {
          out.append(",\"next\":")
          out.append(integer: next.microseconds)
        }
      }
    }
  }

  private static func body(_ symbol: String, _ append: (inout ByteBuffer) -> Void) -> [UInt8] {
    var out = ByteBuffer(capacity: 1024)
    out.append("{\"symbol\":")
    out.append(json: symbol)
    out.append(",\"state\":\"live\"")
    DataSource.replayed.append(to: &out)
    append(&out)
    out.append("}\n")
    return out.takeBytes()
  }

  private func ask(
    _ question: @escaping @Sendable (RecordedPast) throws(RecordedPast.Failure) -> [UInt8]
  ) throws(RequestProblem) {
    guard request.grant.allows(symbol) else { throw RequestProblem(request.api.forbidden(symbol)) }
    try request.pay(Self.cost)
    let symbol = symbol
    let reply = request.later()
    let isTaken = request.loops.askPast { past in
      do throws(RecordedPast.Failure) {
        reply(.success(.json(try question(past))))
      } catch {
        reply(.success(Self.answer(error, symbol)))
      }
    }
    switch isTaken {
    case true?: return
    case false?:
      throw RequestProblem(
        response: .error(
          503, code: "not_ready", message: "too many requests wait for recordings", hint: "try again",
          retryAfterMilliseconds: 1_000))
    case nil: throw RequestProblem(response: Self.noRecordings)
    }
  }

  /// The answer of a gateway without recordings.
  static let noRecordings = HTTPResponse.error(
    404, code: noRecording, message: "this gateway keeps no recordings",
    hint: "start it with --record FOLDER/, or with --replay")

  /// Why a question has no answer, in a few words.
  static func words(of failure: RecordedPast.Failure, _ symbol: String) -> String {
    let symbol = String(symbol.prefix(40))
    return switch failure {
    case .unknownSymbol: "no recording has \(symbol)"
    case .nothingRecorded: "nothing was recorded of \(symbol) at that time"
    case .outOfSync: "the book of \(symbol) was not in sync"
    case .notIndexed: "the recording of that time has no index"
    case .tooMuch: "too many records lie before that time"
    case .unreadable: "the recording cannot be read any further"
    }
  }

  /// The answer to a question that has none.
  static func answer(_ failure: RecordedPast.Failure, _ symbol: String) -> HTTPResponse {
    let symbol = String(symbol.prefix(80))
    switch failure {
    case .unknownSymbol:
      return .error(
        404, code: noRecording, message: "no recording of this gateway has \(symbol)",
        hint: "GET /v1/instruments lists the present symbols")
    case .nothingRecorded(let last, let next):
      let times = [
        last.map { "the last record before it is of \($0.microseconds)" },
        next.map { "the first one after it of \($0.microseconds)" },
      ].compactMap(\.self)
      return .error(
        404, code: noRecording, message: "nothing was recorded of \(symbol) at that time",
        hint: times.isEmpty ? "ask for another time" : times.joined(separator: ", "))
    case .outOfSync:
      return .error(
        404, code: noRecording, message: "the book of \(symbol) was not in sync at that time",
        hint: "ask for a time some seconds later")
    case .notIndexed:
      return .error(
        503, code: "unavailable", message: "the recording of that time has no index, and is too long to be read whole",
        hint: "the operator can make one: tidegate recordings index FOLDER")
    case .tooMuch:
      return .error(
        503, code: "unavailable", message: "too many records lie before that time since the last point of the index",
        hint: "the operator can make the index anew: tidegate recordings index --force FOLDER")
    case .unreadable:
      return .error(
        503, code: "unavailable", message: "the recording of that time cannot be read",
        hint: "the gateway's log has the reason")
    }
  }
}
