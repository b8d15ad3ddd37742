import Alerts
import Bytes
import MarketData
import TestSupport
import Testing

@Suite("Alert rules as JSON")
struct AlertRuleJSONTests {
  private func read(_ text: String) throws(AlertRuleError) -> AlertRule {
    let bytes = Array(text.utf8)
    return try AlertRule(json: bytes.span.bytes)
  }

  @Test("what is written is read as the same rule, whatever it asks for", arguments: testSeeds(5))
  func roundTrip(seed: UInt64) throws {
    var world = try MarketModelTests.world(seed)
    for _ in 0..<400 {
      let rule = MarketModelTests.rule(&world)
      // Numbers lose zeros at their ends on the way: written twice they are the same.
      let again = try read(rule.json)
      #expect(try read(again.json) == again, "seed \(seed): \(rule.json)")
      #expect(again.json.count <= rule.json.count)
    }
  }

  @Test(
    "examples of every type",
    arguments: [
      #"{"condition":{"type":"price","symbol":"a:B-C","is":"above","value":"70000","hysteresis":"50"},"frequency":"once"}"#,
      #"{"condition":{"type":"change","window_min":60,"symbol":"a:B-C","is":"below","percent":"-5"},"frequency":"daily"}"#,
      #"{"condition":{"type":"depth","side":"asks","within_percent":"1.50","symbol":"a:B-C","is":"below","value":"2"},"#
        + #""frequency":{"every_s":60}}"#,
      #"{"condition":{"type":"funding","symbol":"a:B-C-PERP","is":"above","percent":"0.05"},"frequency":"daily"}"#,
      #"{"condition":{"type":"open_interest","window_min":60,"symbol":"a:B-C-PERP","is":"below","percent":"-10"},"#
        + #""frequency":"once"}"#,
      #"{"condition":{"type":"liquidations","window_min":5,"symbol":"a:B-C-PERP","is":"above","value":"1000000"},"#
        + #""frequency":"once"}"#,
      #"{"condition":{"type":"alarm","at":"06:30","days":["mon","fri"]},"frequency":"daily","#
        + #""time_zone":"Europe/Berlin"}"#,
      #"{"condition":{"type":"all","of":[{"type":"stale","symbol":"a:B-C","part":"book","for_s":30},"#
        + #"{"type":"spread","symbol":"a:B-C","is":"above","percent":"0.5"}]},"frequency":"once","#
        + #""hours":{"days":["mon"],"from":"22:00","until":"24:00"}}"#,
    ])
  func examples(text: String) throws { #expect(try read(text).json == text) }

  @Test("an alarm without a frequency rings on each of its days; anything else rings once")
  func defaults() throws {
    #expect(try read(#"{"condition":{"type":"alarm","at":"06:30"}}"#).frequency == .daily)
    #expect(try read(#"{"condition":{"type":"countdown","for_s":5}}"#).frequency == .once)
  }

  /// A condition of a price with more fields.
  private static func price(_ more: String) -> String {
    #"{"condition":{"type":"price","symbol":"a:B-C","is":"above","value":"1""# + more + "}}"
  }

  @Test(
    "what is wrong is named",
    arguments: [
      (#"{}"#, "condition"), (#"{"condition":{"type":"rain"}}"#, "type"), (price(#","vlaue":"2""#), "vlaue"),
      (price(#","window_min":2"#), "window_min"), (price(#","value":"2""#), "value"),
      (#"{"condition":{"type":"price","symbol":"a","is":"over","value":"1"}}"#, "is"),
      (#"{"condition":{"type":"price","symbol":"a","is":"above","value":"1e40"}}"#, "value"),
      (#"{"condition":{"type":"price","symbol":"","is":"above","value":"1"}}"#, "symbol"),
      (price(#","hysteresis":"-1""#), "hysteresis"), (#"{"condition":{"type":"alarm","at":"25:00"}}"#, "at"),
      (#"{"condition":{"type":"alarm","at":"24:00"}}"#, "at"),
      (#"{"condition":{"type":"alarm","at":"06:30","days":[]}}"#, "days"),
      (#"{"condition":{"type":"alarm","at":"06:30","days":["sunday"]}}"#, "days"),
      (
        #"{"condition":{"type":"depth","symbol":"a","side":"bids","within_percent":"0.001","is":"above","value":"1"}}"#,
        "within_percent"
      ),
      (#"{"condition":{"type":"countdown","for_s":0}}"#, "for_s"),
      (#"{"condition":{"type":"countdown","for_s":5},"frequency":{"every_s":0}}"#, "every_s"),
      (#"{"condition":{"type":"countdown","for_s":5},"hours":{"from":"09:00"}}"#, "hours"),
      (#"{"condition":{"type":"all","of":[{"type":"countdown","for_s":5}]}}"#, "condition"),
      (#"{"condition":{"type":"funding","symbol":"a","is":"above","percent":"1","window_min":5}}"#, "window_min"),
      (#"{"condition":{"type":"liquidations","symbol":"a","is":"above","value":"1"}}"#, "window_min"),
      (#"{"condition":{"type":"open_interest","symbol":"a","is":"above","percent":"1","window_min":0}}"#, "window_min"),
      (#"{"condition":{"type":"all","of":[]}}"#, "of"), (#"{"condition":{"type":"countdown","for_s":5}} x"#, "body"),
    ])
  func refusals(text: String, field: String) {
    do {
      _ = try read(text)
      Issue.record("it was read")
    } catch .invalid(let named, _) {
      #expect(named == field)
    } catch {
      Issue.record("\(error)")
    }
  }

  @Test("every number of a rule may be any: it is read, or refused, and what is read lives in an engine")
  func extremes() throws {
    let rules = [
      #"{"condition":{"type":"alarm","at":1795348800000000},"expires":1795348900000000}"#,
      #"{"condition":{"type":"countdown","for_s":5},"frequency":{"every_s":60}}"#,
      #"{"condition":{"type":"stale","symbol":"a:B-C","for_s":5}}"#,
      #"{"condition":{"type":"change","symbol":"a:B-C","is":"above","percent":"5","window_min":60,"hysteresis":"1"}}"#,
      #"{"condition":{"type":"depth","symbol":"a:B-C","is":"below","value":"5","side":"bids","within_percent":"1.5"}}"#,
      #"{"condition":{"type":"spread","symbol":"a:B-C","is":"crosses","percent":"5","hysteresis":"1"}}"#,
      #"{"condition":{"type":"price","symbol":"a:B-C","is":"crosses_up","value":"5","hysteresis":"1"}}"#,
    ]
    var refused = 0
    for text in rules.map({ Array($0.utf8) }) {
      for number in NumericExtremes.numbers(in: text) {
        for extreme in NumericExtremes.texts {
          let bytes = NumericExtremes.replacing(number, of: text, by: extreme)
          guard let rule = try? AlertRule(json: bytes.span.bytes) else {
            refused += 1
            continue
          }
          let bench = AlertEngineTests.Bench()
          let id = try bench.engine.insert(rule, owner: bench.owner, at: bench.now)
          let market = bench.engine.source("a:B-C")
          bench.engine.describe(market, priceScale: 18, sizeScale: 18)
          bench.engine.setFeed(market, isLive: true, at: bench.now)
          bench.engine.setBook(market, isLive: true, at: bench.now)
          for value in [1, .max, 1, .max] as [Int64] {
            bench.engine.price(market, value, at: bench.now)
            bench.engine.quote(market, bid: 1, ask: value, at: bench.now)
            bench.engine.depth(market, .bids, basisPoints: 150, size: value, at: bench.now)
            bench.wait(60)
          }
          bench.wait(7_200)
          #expect(try bench.engine.progress(of: id).json.isEmpty == false)
          #expect(try bench.engine.status(of: id).next ?? .distantPast < Timestamp(microseconds: .max / 4))
        }
      }
    }
    #expect(refused > 100)
  }

  @Test(
    "a time is of the years 1970 to 9999",
    arguments: [Int64.min, -1, 253_402_300_800_000_000, .max - 1_000_000, .max])
  func times(number: Int64) throws {
    for (text, field) in [
      (#"{"condition":{"type":"alarm","at":\#(number)}}"#, "at"),
      (#"{"condition":{"type":"countdown","for_s":5},"expires":\#(number)}"#, "expires"),
    ] {
      refusals(text: text, field: field)
      let time = Timestamp(microseconds: number)
      let rule =
        field == "at" ? AlertRule(.clock(.moment(time))) : AlertRule(.clock(.countdown(seconds: 5)), expires: time)
      #expect(throws: AlertRuleError.invalid(field: field, reason: "microseconds since 1970, up to the year 9999")) {
        try rule.validate()
      }
    }
  }

  @Test(
    "a number is plainly written, and the refusal says how",
    arguments: ["\"1e5\"", "1e5", "\"+1\"", "\".5\"", "\"5.\"", "\"007\"", "\"\"", "\"0x1\"", "\" 1\""])
  func plainNumbers(number: String) throws {
    let fields = ["value": "70000", "percent": "5", "hysteresis": "1", "within_percent": "1.5", "window_min": "60"]
    let conditions = [
      ("value", #""type":"price","is":"above","value":@"#),
      ("hysteresis", #""type":"price","is":"above","value":"1","hysteresis":@"#),
      ("percent", #""type":"spread","is":"above","percent":@"#),
      ("within_percent", #""type":"depth","side":"bids","is":"above","value":"1","within_percent":@"#),
      ("window_min", #""type":"change","is":"above","percent":"1","window_min":@"#),
    ]
    for (field, condition) in conditions {
      func text(_ number: String) -> String {
        #"{"condition":{"symbol":"a:B-C",\#(condition.replacing("@", with: number))}}"#
      }
      let right = try #require(fields[field])
      _ = try read(text(field == "window_min" ? right : "\"\(right)\""))
      refusals(text: text(number), field: field)
    }
    let bytes = Array(Self.price(#","hysteresis":"1e5""#).utf8)
    let refusal = #expect(throws: AlertRuleError.self) { try AlertRule(json: bytes.span.bytes) }
    guard case .invalid(_, let reason)? = refusal else { return }
    #expect(reason.contains("plainly written"))
  }

  @Test("nesting without end and damaged texts are refused, and never trap")
  func hostile() throws {
    let deep = String(repeating: #"{"type":"all","of":["#, count: 1_000)
    #expect(throws: AlertRuleError.self) { try read(#"{"condition":"# + deep) }
    let text = Array(
      (#"{"condition":{"type":"any","of":[{"type":"price","symbol":"a","is":"above","value":"1"}]},"#
        + #""frequency":{"every_s":60}}"#).utf8)
    var random = SeededGenerator(seed: 5)
    for _ in 0..<20_000 {
      var bytes = text
      for _ in 0...Int.random(in: 0...2, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...127, using: &random)
      }
      _ = try? AlertRule(json: bytes.span.bytes)
    }
  }
}
