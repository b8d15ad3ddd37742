import Bytes
import Foundation

/// The `data` of a snapshot of `sparkline`.
struct SparklineMessage: Sendable {
  var line: Sparkline
  var move = SparklineMove()

  static let format = MessageFormat<SparklineMessage>(
    SparklineMessage(line: Sparkline(symbol: "", range: .day)),
    [
      .init("range", \.line.range), .init("from", \.line.start), .init("step_s", \.line.stepSeconds),
      .init("covered_from", \.line.coveredFrom), .init("gaps") { $0.line.gaps = try Gap.list(&$1) },
      .init("points", \.line.points, limit: Sparkline.pointsLimit),
    ], SparklineMove.fields(at: \.move))

  /// `{"from":…,"to":…}`
  private struct Gap: Sendable {
    var from: Date?, to: Date?

    static let format = MessageFormat<Gap>(Gap(), [.init("from", \.from), .init("to", \.to)])

    /// Those that are no span are left out.
    static func list(_ json: inout JSONScanner) throws -> [Range<Date>] {
      var gaps: [Range<Date>] = []
      try json.arrayStart()
      while try json.nextElement() {
        guard gaps.count < Sparkline.pointsLimit else { throw MessageError.tooMany(offset: json.offset) }
        let gap = try format.read(&json)
        if let from = gap.from, let to = gap.to, from < to { gaps.append(from..<to) }
      }
      return gaps
    }
  }
}

/// The `data` of an update of `sparkline`.
struct SparklineChange: Sendable {
  var index: Int64 = 0, from: Int64?
  var price: ExactDecimal = 0
  var move = SparklineMove()

  static let format = MessageFormat<SparklineChange>(
    SparklineChange(),
    [.init("index", needed: \.index), .init("price", needed: \.price), .init("from", \.from)],
    SparklineMove.fields(at: \.move))
}

extension SparklineMove {
  /// Those of a message that has them beside its own.
  static func fields<Message>(at move: any WritableKeyPath<Message, SparklineMove> & Sendable) -> [Field<Message>] {
    let fields: [Field<SparklineMove>] = [
      .init("open", \.open), .init("change", \.change), .init("change_pct", \.percent), .init("trend", \.trend),
    ]
    return fields.map { $0.at(move) }
  }
}

extension CandleSeries {
  static let message = MessageFormat<[Candle]>([Candle](), [.init("candles", \.self, limit: limit)])
}

extension CandleSeries.Candle: MessageObject {
  static let format = MessageFormat<CandleSeries.Candle>(
    CandleSeries.Candle(
      open: 0, high: 0, low: 0, close: 0, isClosed: false, revision: 0, source: .unknown(""), start: 0),
    [
      .init("open", needed: \.open), .init("high", needed: \.high), .init("low", needed: \.low),
      .init("close", needed: \.close), .init("volume", \.volume), .init("quote_volume", \.quoteVolume),
      .init("trades", \.trades), .init("closed", needed: \.isClosed), .init("rev", needed: \.revision),
      .init("source", needed: \.source), .init("time", needed: \.start),
    ])
}
