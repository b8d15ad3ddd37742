import TestSupport
import Testing

@testable import PubSub

@Suite("The schema of a topic")
struct TopicSchemaTests {
  private static func problem(_ schema: String, _ document: String) throws -> String? {
    let schema = try TopicSchema(Array(schema.utf8))
    do throws(TopicSchemaError) {
      try schema.check(Array(document.utf8))
      return nil
    } catch {
      return error.path.isEmpty ? error.message : "\(error.path) \(error.message)"
    }
  }

  private static func refusal(_ schema: String) -> String? {
    do throws(TopicSchemaError) {
      _ = try TopicSchema(Array(schema.utf8))
      return nil
    } catch {
      return error.path.isEmpty ? error.message : "\(error.path) \(error.message)"
    }
  }

  /// Each keyword: a schema, documents that are good and documents that are not.
  private static let cases: [(schema: String, good: [String], bad: [String])] = [
    (#"{}"#, ["1", "null", "{}", "[[1]]", "\"\""], []),
    (#"{"type":"integer"}"#, ["1", "-0", "1.0", "1e2", "12345678901234567890"], ["1.5", "\"1\"", "null", "true"]),
    (#"{"type":"number"}"#, ["1", "1.5"], ["\"1\"", "[1]"]),
    (#"{"type":["string","null"]}"#, ["\"a\"", "null"], ["1", "false", "{}"]),
    (#"{"type":"boolean"}"#, ["true", "false"], ["0", "null"]),
    (#"{"enum":["NORMAL","HARD_STOP",1,null]}"#, ["\"NORMAL\"", "1", "1.0", "null"], ["\"normal\"", "2", "true"]),
    (#"{"const":"a"}"#, ["\"a\"", "\"\\u0061\""], ["\"b\"", "1"]),
    (#"{"const":1,"enum":[1,2]}"#, ["1"], ["2"]),
    (#"{"properties":{"a":{"type":"string"}}}"#, ["{}", #"{"a":"x","b":1}"#, "1"], [#"{"a":1}"#]),
    (#"{"required":["a","b"]}"#, [#"{"a":1,"b":null}"#, "[]"], [#"{"a":1}"#, "{}"]),
    (#"{"properties":{"a":{}},"additionalProperties":false}"#, ["{}", #"{"a":1}"#], [#"{"b":1}"#, #"{"a":1,"A":1}"#]),
    (#"{"additionalProperties":{"type":"number"}}"#, [#"{"a":1}"#], [#"{"a":"1"}"#]),
    (#"{"properties":{"a":true,"b":false}}"#, [#"{"a":1}"#], [#"{"b":1}"#]),
    (#"{"items":{"type":"string"}}"#, ["[]", #"["a"]"#, "1"], ["[1]", #"["a",1]"#]),
    (#"{"minItems":1,"maxItems":2}"#, ["[1]", "[1,2]", "{}"], ["[]", "[1,2,3]"]),
    (#"{"minLength":1,"maxLength":2}"#, ["\"a\"", "\"é😀\"", "1"], ["\"\"", "\"abc\""]),
    (#"{"minimum":1,"maximum":2}"#, ["1", "2", "1.5", "\"9\""], ["0.99", "2.01", "-1"]),
    (#"{"exclusiveMinimum":1,"exclusiveMaximum":2}"#, ["1.5"], ["1", "2", "0"]),
    (
      #"{"type":"object","required":["posts"],"properties":{"posts":{"type":"array","items":{"type":"object","#
        + #""required":["text"],"properties":{"text":{"type":"string","maxLength":3}}}}}}"#,
      [#"{"posts":[{"text":"abc"},{"text":""}]}"#], [#"{"posts":[{"text":"abc"},{"text":"abcd"}]}"#, #"{"posts":{}}"#]
    ),
  ]

  @Test("each keyword lets the good pass and nothing else", arguments: cases.indices)
  func keywords(index: Int) throws {
    let (schema, good, bad) = Self.cases[index]
    for document in good { #expect(try Self.problem(schema, document) == nil, "\(schema) \(document)") }
    for document in bad { #expect(try Self.problem(schema, document) != nil, "\(schema) \(document)") }
  }

  @Test("the words name the place")
  func words() throws {
    let (schema, _, bad) = Self.cases[Self.cases.count - 1]
    #expect(try Self.problem(schema, bad[0]) == "posts[1].text has 4 characters, not 0 to 3")
    #expect(try Self.problem(#"{"enum":["A","B"]}"#, "\"C\"") == "must be one of A, B")
    #expect(try Self.problem(#"{"required":["a"]}"#, "{}") == "a is missing")
    #expect(
      try Self.problem(#"{"additionalProperties":false}"#, #"{"x":1}"#) == "x is not a property of the topic's schema")
    #expect(try Self.problem("{}", #"{"a":1,"a":2}"#) == "has the name \"a\" twice in one object")
    #expect(try Self.problem("{}", String(repeating: "[", count: 40)) == "is nested too deep")
  }

  @Test(
    "a schema with what is not checked is refused when it is read",
    arguments: [
      #"{"pattern":"a"}"#, #"{"format":"date"}"#, ##"{"$ref":"#/a"}"##, #"{"anyOf":[{}]}"#, #"{"oneOf":[{}]}"#,
      #"{"allOf":[{}]}"#, #"{"not":{}}"#, #"{"properties":{"a":{"uniqueItems":true}}}"#, #"{"multipleOf":2}"#,
      #"{"typ":"string"}"#, #"{"items":[{}]}"#, #"{"type":"text"}"#, #"{"type":[]}"#, #"{"enum":[]}"#,
      #"{"enum":[[1]]}"#, #"{"const":{}}"#, #"{"required":"a"}"#, #"{"required":[1]}"#, #"{"minLength":-1}"#,
      #"{"minLength":1.5}"#, #"{"minLength":3,"maxLength":2}"#, #"{"minimum":"1"}"#, #"{"properties":[]}"#,
      #"{"const":1,"enum":[2]}"#, #"{"$schema":"http://json-schema.org/draft-07/schema#"}"#, "true", "[]", "", "{",
      #"{"type":"string","type":"number"}"#,
    ])
  func refused(schema: String) { #expect(Self.refusal(schema) != nil, "\(schema)") }

  @Test("what is refused is named, and what was probably meant")
  func named() {
    #expect(
      Self.refusal(#"{"properties":{"a":{"maxlength":3}}}"#)?.hasPrefix(
        "properties.a.maxlength is not a supported keyword") == true)
    #expect(Self.refusal(#"{"maxlength":3}"#)?.contains("did you mean maxLength") == true)
    #expect(Self.refusal(#"{"title":"T","description":"D","default":1,"$comment":"c","examples":[1]}"#) == nil)
  }

  @Test("a schema is bounded in bytes, schemas and depth")
  func bounds() {
    let deep = String(repeating: #"{"items":"#, count: 17) + "{}" + String(repeating: "}", count: 17)
    #expect(Self.refusal(deep) != nil)
    let wide = (0..<1_000).map { "\"p\($0)\":{}" }.joined(separator: ",")
    #expect(Self.refusal("{\"properties\":{\(wide)}}") != nil)
    #expect(Self.refusal(String(repeating: " ", count: TopicSchema.Limits.bytes) + "{}") != nil)
    let values = (0...TopicSchema.Limits.values).map(String.init).joined(separator: ",")
    #expect(Self.refusal("{\"enum\":[\(values)]}") != nil)
  }

  @Test("the largest document is checked in a moment, whatever the schema")
  func cost() throws {
    let values = (0..<TopicSchema.Limits.values).map(String.init).joined(separator: ",")
    let schema = try TopicSchema(Array("{\"items\":{\"type\":\"number\",\"maximum\":9,\"enum\":[\(values)]}}".utf8))
    let document = "[" + String(repeating: "7,", count: 32_000) + "7]"
    let clock = ContinuousClock()
    let took = try clock.measure { try schema.check(Array(document.utf8)) }
    #expect(took < .seconds(2), "\(took)")
  }
}

@Suite("Which topics somebody may publish to")
struct TopicRulesTests {
  @Test("by name, by beginning, or all; none allows nothing")
  func patterns() throws {
    let rules = try #require(TopicRules(["risk-state", "posts.*"]))
    for name in ["risk-state", "posts.", "posts.a"] { #expect(rules.allows(name), "\(name)") }
    for name in ["risk-states", "risk", "post", "posts", ""] { #expect(!rules.allows(name), "\(name)") }
    #expect(try #require(TopicRules(["*"])).allows("anything"))
    #expect(try !#require(TopicRules([String]())).allows("a"))
    for bad in ["", "A", "a b", "a*b", "**", "é*"] { #expect(TopicRules([bad]) == nil, "\(bad)") }
    #expect(rules.patterns == ["posts.*", "risk-state"])
  }
}
