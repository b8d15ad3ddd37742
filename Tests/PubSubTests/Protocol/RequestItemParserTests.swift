import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("Items of requests")
struct RequestItemParserTests {
  private func item(_ text: String, resumes: Bool = false) throws -> ClientRequest.Item {
    let streams = "\"streams\":[{\"channel\":\"status\",\"epoch\":\"e\",\"seq\":1},\(text)]"
    let request =
      resumes
      ? "{\"op\":\"hello\",\"resume\":{\"session\":\"s\",\(streams)}}"
      : "{\"op\":\"subscribe\",\(streams.replacing(",\"epoch\":\"e\",\"seq\":1", with: ""))}"
    switch RequestParser.parse(Array(request.utf8).span.bytes).request {
    case .subscribe(let items): return try #require(items.count == 2 ? items[1] : nil)
    case .hello(let hello): return try #require(hello.resume?.items.count == 2 ? hello.resume?.items[1] : nil)
    default: throw Unreadable(text: text)
    }
  }

  private struct Unreadable: Error { let text: String }

  private func error(_ text: String, resumes: Bool = false) throws -> String {
    let error = try #require(try item(text, resumes: resumes).error)
    return "\(error.message)|\(error.hint ?? "")"
  }

  @Test("every field is read, in any order")
  func fields() throws {
    let book = try item(#"{"depth":"full","symbols":["a:B-C","*:D-E"],"interval_ms":250,"channel":"book"}"#)
    #expect(book.error == nil && book.channel == .book && book.channelText == "book" && book.depth == 0)
    #expect(book.symbols == ["a:B-C", "*:D-E"] && book.interval == 250)
    #expect(try item(#"{"channel":"book","symbols":["a:B-C"],"depth":100}"#).depth == 100)
    let line = try item(#"{"channel":"sparkline","symbols":["a:B-C"],"range":"7d","points":24}"#)
    #expect(line.range == .week && line.points == 24)
    #expect(try item(#"{"channel":"candles","symbols":["a:B-C"],"interval":"1h"}"#).candle == .hour)
    #expect(try item(#"{"channel":"topic","symbols":["news"],"last":3}"#).last == 3)
    #expect(try item(#"{"channel":"deck","symbols":["calm"],"zone":"Europe/Berlin"}"#).zone == "Europe/Berlin")
    #expect(try item(#"{"channel":"portfolio","portfolio":"7"}"#).portfolio.id == "7")
  }

  @Test("a resumed stream has one symbol and a position, and may repeat the fields of a reply")
  func positions() throws {
    let text = #"{"channel":"trades","symbol":"a:B-C","stream":4,"epoch":"k7","seq":9,"state":"live","recovered":true}"#
    let resumed = try item(text, resumes: true)
    #expect(resumed.error == nil && resumed.symbols == ["a:B-C"])
    #expect(resumed.position == StreamPosition(stream: 4, epoch: "k7", seq: 9))
    #expect(try error(text).hasPrefix("there is no field `streams[1].symbol`|did you mean `symbols`? "))
  }

  @Test(
    "an error names the field, what it is, and what it may be",
    arguments: [
      (#"7"#, "`streams[1]` must be an object with a `channel`|"),
      (#"{}"#, "`streams[1].channel` is missing|one of: "),
      (#"{"channel":7}"#, "`streams[1].channel` must be a string|"),
      (#"{"channel":"bok"}"#, "there is no channel `bok`|did you mean `book`? one of: "),
      (#"{"channel":"book"}"#, "`streams[1].symbols` is missing or empty|[\"kraken:BTC-USD\"], "),
      (#"{"channel":"book","symbols":"a"}"#, "`streams[1].symbols` must be an array of strings|"),
      (#"{"channel":"book","symbols":["a:B-C",7]}"#, "`streams[1].symbols` must be an array of strings|"),
      (#"{"depth":11}"#, "`streams[1].depth` is 11|10, 25, 100 or \"full\"; 25 if left out"),
      (#"{"depth":"all"}"#, "`streams[1].depth` is \"all\"|10, 25, 100 or \"full\"; 25 if left out"),
      (#"{"depth":null}"#, "`streams[1].depth` must be one of 10, 25, 100 or \"full\"; 25 if left out|"),
      (#"{"points":1}"#, "`streams[1].points` is 1|2 to 1440; 96 if left out"),
      (#"{"points":"9"}"#, "`streams[1].points` must be an integer: 2 to 1440; 96 if left out|"),
      (#"{"last":101}"#, "`streams[1].last` is 101|1 to 100; 1 if left out"),
      (#"{"last":1.5}"#, "`streams[1].last` must be an integer: 1 to 100; 1 if left out|"),
      (#"{"interval_ms":-1}"#, "`interval_ms` is -1|0 to 60000; "),
      (#"{"interval_ms":"9"}"#, "`streams[1].interval_ms` must be an integer of milliseconds|"),
      (#"{"range":"2d"}"#, "there is no range `2d`|1h, 24h, "),
      (#"{"range":2}"#, "`streams[1].range` must be a string|"),
      (#"{"interval":"2h"}"#, "there is no interval `2h`|1m, 5m, "),
      (#"{"interval":2}"#, "`streams[1].interval` must be one of 1m, 5m, "),
      (#"{"zone":2}"#, "`streams[1].zone` must be a string|"),
      (#"{"symbol":"a"}"#, "there is no field `streams[1].symbol`|did you mean `symbols`? the fields are: channel, "),
    ])
  func errors(text: String, expected: String) throws {
    let error = try error(text)
    #expect(error.hasPrefix(expected), "\(error)")
  }

  @Test(
    "a position without its parts, or of a wildcard, is an error",
    arguments: [
      #"{"channel":"trades","symbol":"a:B-C","epoch":"k"}"#, #"{"channel":"trades","symbol":"a:B-C","seq":1}"#,
      #"{"channel":"trades","symbol":"a:*","epoch":"k","seq":1}"#,
      #"{"channel":"trades","symbols":["a:B-C","a:D-E"],"epoch":"k","seq":1}"#,
      #"{"channel":"trades","symbol":"a:B-C","epoch":"k","seq":-1}"#,
    ])
  func badPositions(text: String) throws {
    let error = try error(text, resumes: true)
    #expect(error.hasPrefix("`resume.streams[1]` needs one `symbol`, an `epoch` and a `seq`|"), "\(error)")
  }

  @Test("of several errors the first is given, but an unknown channel comes before all")
  func first() throws {
    #expect(try error(#"{"depth":11,"points":1,"channel":"book"}"#).hasPrefix("`streams[1].depth` is 11|"))
    #expect(try error(#"{"depth":11,"channel":"bok"}"#).hasPrefix("there is no channel `bok`|"))
  }
}
