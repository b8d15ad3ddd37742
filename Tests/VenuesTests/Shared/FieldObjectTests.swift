import Bytes
import Testing

@testable import Venues

@Suite("An object whose fields are read by name")
struct FieldObjectTests {
  private static func with<Value>(
    _ text: String, _ read: (borrowing FieldObject) throws(FeedError) -> Value
  ) throws(FeedError) -> Value {
    let bytes = Array(text.utf8)
    var reader = FieldReader(bytes.span.bytes)
    let object = try FieldObject(&reader, "thing")
    try reader.end()
    return try read(object)
  }

  @Test("each value by its kind, wherever it stands; of two of a name the last")
  func values() throws {
    let text = #"{"n":"0.0100","t":"a","d":3,"f":true,"s":"online","t":"b\u0041","i":"42","e":1e-3}"#
    try Self.with(text) { (object) throws(FeedError) in
      #expect(object.text("t") == "bA" && object.flag("f") == true && object.integer("i") == 42)
      #expect(object.number("n") == Decimal64(mantissa: 1, scale: 2) && object.printedScale("n") == 4)
      #expect(object.digits("d") == 3 && object.step("e") == Decimal64(mantissa: 1, scale: 3))
      #expect(object.says("s", "offline", "online") == true && object.says("s", "offline") == false)
      #expect(try object.name("t") == "bA")
    }
  }

  @Test("what is missing, null or of another kind is nil, and a name without which there is nothing throws")
  func absent() throws {
    try Self.with(#"{"t":5,"n":null,"f":"true","s":1,"x":"","z":0,"w":"1e-13"}"#) { (object) throws(FeedError) in
      #expect(object.text("t") == nil && object.text("x") == nil && object.text("y") == nil)
      #expect(object.number("n") == nil && object.flag("f") == nil && object.says("s", "1") == nil)
      #expect(object.step("z") == nil && object.step("w") == nil && object.printedScale("z") == nil)
      #expect(object.product("z", "y") == nil)
      let error = #expect(throws: FeedError.self) {
        try Self.with(#"{"t":5}"#) { (o) throws(FeedError) in try o.name("t") }
      }
      #expect(error?.detail == "thing without field t")
    }
  }

  @Test("objects and arrays in it; one in which something cannot be read costs only what was asked for")
  func nested() throws {
    let text =
      #"{"a":{"b":{"c":"d"}},"l":[{"k":1},{"k":2},{"j":3}],"m":{"x":{"v":1},"y":{"v":2}},"v":[1,"2",x],"u":[1,"2"]}"#
    #expect(throws: FeedError.self) { try Self.with(text) { _ in true } }
    try Self.with(text.replacing(",x]", with: ",null]")) { (object) throws(FeedError) in
      #expect(try object.object("a")?.object("b")?.text("c") == "d")
      #expect(try object.object("l")?.text("k") == nil)
      let found = try object.objects("l") { (row, index) throws(FeedError) in
        row.integer("k").map { [$0, Int64(index)] }
      }
      #expect(found == [[1, 0], [2, 1]])
      var named: [String: Int64] = [:]
      try object.namedObjects("m") { (name, row) in named[name] = row.integer("v") }
      #expect(named == ["x": 1, "y": 2])
      #expect(object.elements("u") { (value) throws(FeedError) in try value.int64("u") } == [1, 2])
      #expect(object.elements("v") { (value) throws(FeedError) in try value.int64("v") } == [1, 2])
    }
    #expect(throws: FeedError.self) {
      try Self.with(#"{"a":1}"#) { (object) throws(FeedError) in try object.objects("l") { (_, _) in true } }
    }
  }
}
