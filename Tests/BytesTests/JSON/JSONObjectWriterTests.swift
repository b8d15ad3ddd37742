import Foundation
import Testing

@testable import Bytes

@Suite("Writing JSON")
struct JSONObjectWriterTests {
  @Test("commas stand between values and nowhere else, nil is left out, texts are escaped")
  func commas() throws {
    var writer = JSONObjectWriter(capacity: 16)
    writer.object { writer in
      writer.object("nothing") { _ in }
      writer.array("none") { _ in }
      writer.field("text", "a \"b\"\n\u{1}")
      writer.field("absent", String?.none)
      writer.field("absent too", Double?.none)
      writer.array("objects") { writer in
        for number in 0..<2 { writer.object { $0.field("number", number) } }
      }
      writer.field("words", ["a", "b"])
      writer.field("numbers", [UInt32(1), 2])
      writer.field("part", 0.123456)
      writer.field("huge", UInt64.max)
      writer.field("is", true)
    }
    let text = String(decoding: writer.takeBytes(), as: UTF8.self)
    #expect(
      text == #"{"nothing":{},"none":[],"text":"a \"b\"\n\u0001","objects":[{"number":0},{"number":1}],"#
        + #""words":["a","b"],"numbers":[1,2],"part":0.123,"huge":9223372036854775807,"is":true}"#)
    #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
  }

  @Test("an object goes behind what a buffer has; values that are JSON already stay as they are")
  func appended() {
    var out = ByteBuffer()
    out.append("[1,")
    out.appendObject { writer in
      writer.field("price", Decimal64(mantissa: 1250, scale: 2))
      writer.field("id", quoted: { $0.append(integer: Int64(7)) })
      writer.value("rule") { $0.append("{\"a\":null}") }
      writer.array("days") { writer in
        writer.element("mon")
        writer.value { $0.append("2") }
      }
    }
    out.append("]")
    #expect(out.description == #"[1,{"price":"12.50","id":"7","rule":{"a":null},"days":["mon",2]}]"#)
  }
}
