import Bytes
import Foundation

extension TopicDocument: MessageObject {
  static let format = MessageFormat<TopicDocument>(
    TopicDocument(number: 0, time: .distantPast, json: ""),
    [
      .init("number", \.number), .init("time", needed: \.time),
      .init("document", isNeeded: true) { $0.json = try $1.valueText() },
    ])

  /// `{"documents":[{"number":7,"time":…,"document":{…}}]}`, oldest first.
  static let message = MessageFormat<[TopicDocument]>(
    [TopicDocument](),
    [
      .init("documents") { $0 = try ascending(&$1) }
    ])

  private static func ascending(_ json: inout JSONScanner) throws -> [TopicDocument] {
    var last: Int64 = 0
    return try json.list(limit: limit) { json in
      let offset = json.offset
      let document = try format.read(&json)
      // Without ascending numbers, the client could not tell which documents are missing.
      guard document.number > last else { throw MessageError.notANumber(offset: offset) }
      last = document.number
      return document
    }
  }
}

/// The `data` of a message of `alerts`: all rules, or those that changed and those that were removed.
struct AlertChange: Sendable {
  var isKept = true
  var alerts: [Alert] = []
  var removed: [String] = []

  /// The newest firing of each rule is in the rule itself.
  static let format = MessageFormat<AlertChange>(
    AlertChange(),
    [
      .init("kept", \.isKept), .init("alerts", \.alerts, limit: AlertList.limit),
      .init("removed", \.removed, limit: AlertList.limit),
    ])
}

extension Alert: MessageObject {
  static let format = MessageFormat<Alert>(
    Alert(
      id: "", name: "", state: .unknown(""), rule: "", created: .distantPast, revision: 0, firings: 0, acknowledged: 0),
    [
      .init("id", needed: \.id), .init("name", needed: \.name), .init("state", needed: \.state),
      .init("rule", isNeeded: true) { $0.rule = try $1.valueText() }, .init("created", needed: \.created),
      .init("revision", needed: \.revision), .init("firings", needed: \.firings),
      .init("acknowledged", needed: \.acknowledged), .init("next", \.next), .init("watching_from", \.watchingFrom),
      .init("firing", \.firing),
    ])
}

extension Alert.Firing: MessageObject {
  static let format = MessageFormat<Alert.Firing>(
    Alert.Firing(number: 0, time: .distantPast),
    [
      .init("number", needed: \.number), .init("time", needed: \.time), .init("symbol", \.symbol),
      .init("value", \.value), .init("late_by_ms", \.lateBy), .init("reminder", \.isReminder),
      .init("missed", \.missed),
    ])
}

extension Portfolio {
  static let format = MessageFormat<Portfolio>(
    Portfolio(state: .missing),
    [
      .init("portfolio", \.id), .init("name", \.name), .init("revision", \.revision), .init("currency", \.currency),
      .init("state", needed: \.state), .init("simulated", \.isSimulated), .init("value", \.value),
      .init("day_profit", \.dayProfit), .init("day_percent", \.dayPercent), .init("cost", \.cost),
      .init("unrealised", \.unrealised), .init("realised", \.realised), .init("profit", \.profit),
      .init("holdings", \.holdings, limit: limit), .init("positions", \.positions, limit: limit),
    ])
}

extension Portfolio.Holding: MessageObject {
  static let format = MessageFormat<Portfolio.Holding>(
    Portfolio.Holding(asset: "", state: .missing, quantity: 0),
    [
      .init("asset", needed: \.asset), .init("state", needed: \.state), .init("price_time", \.priceTime),
      .init("quantity", needed: \.quantity), .init("price", \.price), .init("value", \.value),
      .init("share_percent", \.sharePercent), .init("day_profit", \.dayProfit), .init("day_percent", \.dayPercent),
      .init("cost", \.cost), .init("unrealised", \.unrealised), .init("realised", \.realised),
      .init("profit", \.profit),
    ])
}

extension Portfolio.Position: MessageObject {
  static let format = MessageFormat<Portfolio.Position>(
    Portfolio.Position(symbol: "", state: .missing, side: .long, size: 0, leverage: 0, entry: 0),
    [
      .init("symbol", needed: \.symbol), .init("state", needed: \.state), .init("price_time", \.priceTime),
      .init("side", needed: \.side), .init("size", needed: \.size), .init("leverage", needed: \.leverage),
      .init("entry", needed: \.entry), .init("mark", \.mark), .init("unrealised", \.unrealised),
      .init("unrealised_percent", \.unrealisedPercent), .init("maintenance", \.maintenance),
      .init("liquidation_price", \.liquidationPrice), .init("margin_percent", \.marginPercent),
    ])
}

extension DeckDay {
  static let format = MessageFormat<DeckDay>(
    DeckDay(),
    [
      .init("deck", \.deck), .init("zone", \.zone), .init("state", \.state), .init("title", \.title),
      .init("date", \.date), .init("turns_at", \.turnsAt), .init("cards", \.cards), .init("card", \.card),
    ])
}

extension DeckDay.Card: MessageObject {
  static let format = MessageFormat<DeckDay.Card>(
    DeckDay.Card(),
    [
      .init("number", \.number), .init("quote", \.quote), .init("action", \.action), .init("minutes", \.minutes),
      .init("domain", \.domain), .init("source", \.source),
    ])
}
