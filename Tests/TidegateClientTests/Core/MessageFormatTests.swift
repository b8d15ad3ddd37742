import Bytes
import Testing

@testable import TidegateClient

@Suite("Reading by format")
struct MessageFormatTests {
  struct Order: MessageObject, Equatable {
    var id = ""
    var price: ExactDecimal = 0
    var size: ExactDecimal?
    var tags: [String] = []
    var note = "none"

    static let format = MessageFormat<Order>(
      Order(),
      [
        .init("id", needed: \.id), .init("price", needed: \.price), .init("size", \.size),
        .init("tags", \.tags, limit: 2), .init("note", by: { $0.note = "read: \(try $1.word())" }),
      ])
  }

  struct Message: Sendable {
    var order = Order()
    var count = 0

    static let format = MessageFormat<Message>(
      Message(), [.init("count", \.count)], [Field<Order>("id", needed: \.id).at(\.order)])
  }

  private func read<Value>(_ format: MessageFormat<Value>, _ text: String) throws -> Value {
    let bytes = Array(text.utf8)
    var json = JSONScanner(bytes.span.bytes)
    return try format.read(&json)
  }

  private func order(_ text: String) throws -> Order { try read(Order.format, text) }

  @Test("members stand in any order, and unknown ones are skipped")
  func anyOrder() throws {
    let expected = Order(id: "a", price: 1, size: 2, tags: ["x"], note: "read: n")
    #expect(try order(#"{"id":"a","price":"1","size":2,"tags":["x"],"note":"n"}"#) == expected)
    #expect(try order(#"{"note":"n","new":[{"id":7}],"tags":["x"],"size":2,"price":"1","id":"a"}"#) == expected)
  }

  @Test("of a member that stands twice the last one counts")
  func twice() throws {
    #expect(try order(#"{"id":"a","price":1,"id":"b","size":3,"size":null}"#) == Order(id: "b", price: 1))
  }

  @Test("a name with escapes is the same name")
  func escapedNames() throws {
    #expect(try order(#"{"\u0069d":"a","pr\u0069ce":1}"#) == Order(id: "a", price: 1))
    #expect(throws: JSONError.self) { try order(#"{"id":"a","price":1,"\u00":1}"#) }
  }

  @Test(
    "an object without a needed member names it, the first of several",
    arguments: [
      (#"{}"#, "id"), (#"{"size":1,"id":"a"}"#, "price"), (#"{"id":"a","price":null}"#, "price"),
      (#"{"id":"a","price":1,"price":null}"#, "price"),
    ])
  func missing(text: String, name: String) {
    #expect(throws: MessageError.missing(name)) { try order(text) }
  }

  @Test("a list over its limit, or with null, is refused where it is")
  func lists() throws {
    #expect(try order(#"{"id":"","price":1,"tags":["a","b"]}"#).tags == ["a", "b"])
    #expect(throws: MessageError.tooMany(offset: 35)) { try order(#"{"id":"","price":1,"tags":["a","b","c"]}"#) }
    let bytes = Array("[1,null]".utf8)
    #expect(throws: MessageError.notANumber(offset: 3)) {
      var json = JSONScanner(bytes.span.bytes)
      let _: [ExactDecimal] = try json.list()
    }
    var json = JSONScanner(bytes.span.bytes)
    let points: [ExactDecimal?] = try json.list()
    #expect(points == [1, nil])
  }

  @Test("a field of a part is a field of the whole")
  func parts() throws {
    let message = try read(Message.format, #"{"id":"a","count":3}"#)
    #expect(message.order.id == "a")
    #expect(message.count == 3)
    #expect(throws: MessageError.missing("id")) { try read(Message.format, #"{"count":3}"#) }
  }

  @Test("what is no object is skipped where one may be absent")
  func objects() throws {
    for text in ["[1]", "null", "7", #""a""#] {
      let bytes = Array(text.utf8)
      var json = JSONScanner(bytes.span.bytes)
      #expect(try Order.format.readObject(&json) == nil)
      try json.end()
    }
  }
}
