import Bytes
import Testing

@testable import Venues

@Suite("Where the rows of an answer stand")
struct ListFormatTests {
  private static let code = ListFormat.Code(field: "code", good: "0", message: "msg")

  private static func names(
    _ text: String, _ format: ListFormat
  ) throws(FeedError) -> (names: [String], cursor: String?) {
    let bytes = Array(text.utf8)
    var names: [String] = []
    let cursor = try format.read(bytes.span.bytes) { (row) throws(FeedError) in names.append(try row.name("s")) }
    return (names, cursor)
  }

  @Test("the array itself, or one that keys lead to, whatever stands beside it and in whatever order")
  func indices() throws {
    #expect(try Self.names(#"[{"s":"A"},{"s":"B"}]"#, ListFormat("list")).names == ["A", "B"])
    let nested = ListFormat("list", at: "result", "list", code: Self.code, cursor: "next")
    let found = try Self.names(
      #"{"x":[1],"result":{"next":"p2","list":[{"s":"A","t":{}}],"y":{}},"msg":"OK","code":0}"#, nested)
    #expect(found.names == ["A"] && found.cursor == "p2")
    #expect(try Self.names(#"{"code":"0","result":{"list":[],"next":""}}"#, nested).cursor == nil)
  }

  @Test(
    "no rows, another code, none, and what cannot be read are no list",
    arguments: [
      (#"{"code":0,"result":{"list":{}}}"#, "list without field list"),
      (#"{"code":0}"#, "list without field list"),
      (#"{"code":7,"msg":"slow down","result":{"list":[]}}"#, "list: code 7, slow down"),
      (#"{"result":{"list":[]}}"#, "list: code none, no reason given"),
      (#"{"code":0,"result":{"list":[{"t":"A"}]}}"#, "list without field s"),
    ])
  func refused(_ text: String, _ detail: String) {
    let format = ListFormat("list", at: "result", "list", code: Self.code)
    let error = #expect(throws: FeedError.self) { try Self.names(text, format) }
    #expect(error?.detail == detail)
    #expect(throws: FeedError.self) { try Self.names("[] []", ListFormat("list")) }
  }
}
