import Bytes
import MarketData
import Venues

/// What a venue once sent: its frames and its REST answers, with their times. Values only; the caller
/// reads the recording and fills it.
package struct RecordedSource {
  /// A text frame.
  struct Frame {
    var time: Timestamp
    var payload: SharedBytes
  }

  /// The answer of a REST request.
  struct Answer {
    var time: Timestamp
    var status: Int
    var body: String
  }

  /// Bytes of frames and answers that are held: a day of one busy book.
  package static let byteLimit = 1 << 30

  /// `kraken`.
  package let venue: String
  /// The path that its stream has at the venue: `/v2`.
  package let path: String
  private(set) var frames: [Frame] = []
  /// By what was asked for; in order of time.
  private(set) var answers: [String: [Answer]] = [:]
  private var bytes = 0

  /// - Parameters:
  ///   - venue: whose protocol the frames are in.
  ///   - path: of the stream's URL.
  package init(venue: String, path: String) {
    self.venue = venue
    self.path = path
  }

  /// How many frames there are.
  package var count: Int { frames.count }
  /// Seconds from the first frame to the last.
  package var seconds: Double {
    guard let first = frames.first, let last = frames.last else { return 0 }
    return Double(last.time - first.time) / 1e6
  }

  /// Adds a text frame; times do not go back. False, and nothing is added, past `byteLimit`.
  package mutating func add(frame: UnsafeRawBufferPointer, at time: Timestamp) -> Bool {
    guard take(frame.count) else { return false }
    frames.append(Frame(time: time, payload: SharedBytes(frame)))
    return true
  }

  /// Adds the answer to a GET of `url`; times do not go back. False, and nothing is added, past `byteLimit`.
  package mutating func add(answer: UnsafeRawBufferPointer, to url: String, status: Int, at time: Timestamp) -> Bool {
    guard take(answer.count) else { return false }
    let answer = Answer(time: time, status: status, body: String(decoding: answer, as: UTF8.self))
    answers[Self.key(of: url), default: []].append(answer)
    return true
  }

  /// Whether there is an answer to a GET of `url`.
  package func hasAnswer(to url: String) -> Bool { answers[Self.key(of: url)] != nil }

  private mutating func take(_ count: Int) -> Bool {
    guard bytes + count <= Self.byteLimit else { return false }
    bytes += count
    return true
  }

  /// What a URL asks for, whatever the host, the version of the API and the other parameters: `depth BTCUSDT`.
  private static func key(of url: String) -> String {
    let rest = url.firstRange(of: "://").map { scheme in
      let host = url[scheme.upperBound...]
      return host[(host.firstIndex(of: "/") ?? host.endIndex)...]
    }
    let parts = (rest ?? url[...]).split(separator: "?", maxSplits: 1)
    let query = parts.count < 2 ? [] : parts[1].split(separator: "&").compactMap(Self.parameter)
    return key(path: String(parts.first ?? ""), query: query)
  }

  private static func parameter(_ text: Substring) -> (name: String, value: String)? {
    let parts = text.split(separator: "=", maxSplits: 1)
    return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
  }

  static func key(path: String, query: [(name: String, value: String)]) -> String {
    let parts = path.split(separator: "/").filter { part in
      part != "api" && !(part.first == "v" && part.count > 1 && part.dropFirst().allSatisfy(\.isWholeNumber))
    }
    let symbol = query.first { VenueRegistry.bookParameters.contains($0.name) }?.value.uppercased()
    return parts.joined(separator: "/") + (symbol.map { " " + $0 } ?? "")
  }
}
