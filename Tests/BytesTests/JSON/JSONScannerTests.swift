import Foundation
import TestSupport
import TestTraits
import Testing

@testable import Bytes

/// The error that reading the whole text as one value gives, nil if there is none.
private func error(in text: [UInt8]) -> JSONError? {
  var json = JSONScanner(text.span.bytes)
  do throws(JSONError) {
    try json.skipValue()
    try json.end()
    return nil
  } catch {
    return error
  }
}

/// The grammar of RFC 8259, written down as it stands there, to compare with; escapes are checked by length only, as
/// the scanner leaves their meaning to `decoded`.
private enum Grammar {
  static func accepts(_ text: [UInt8]) -> Bool {
    var rest = text[...]
    return value(&rest) && rest.isEmpty
  }

  private static func space(_ rest: inout ArraySlice<UInt8>) {
    rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
  }

  private static func take(_ wanted: String, _ rest: inout ArraySlice<UInt8>) -> Bool {
    guard rest.starts(with: wanted.utf8) else { return false }
    rest = rest.dropFirst(wanted.utf8.count)
    return true
  }

  private static func value(_ rest: inout ArraySlice<UInt8>) -> Bool {
    space(&rest)
    defer { space(&rest) }
    if take("{", &rest) { return list(&rest, end: "}", item: member) }
    if take("[", &rest) { return list(&rest, end: "]", item: value) }
    if rest.first == UInt8(ascii: "\"") { return string(&rest) }
    return take("true", &rest) || take("false", &rest) || take("null", &rest) || number(&rest)
  }

  private static func member(_ rest: inout ArraySlice<UInt8>) -> Bool {
    space(&rest)
    guard string(&rest) else { return false }
    space(&rest)
    return take(":", &rest) && value(&rest)
  }

  private static func list(
    _ rest: inout ArraySlice<UInt8>, end: String, item: (inout ArraySlice<UInt8>) -> Bool
  ) -> Bool {
    space(&rest)
    if take(end, &rest) { return true }
    repeat { guard item(&rest) else { return false } } while take(",", &rest)
    return take(end, &rest)
  }

  private static func string(_ rest: inout ArraySlice<UInt8>) -> Bool {
    guard take("\"", &rest) else { return false }
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return true }
      if byte < 0x20 { return false }
      if byte == UInt8(ascii: "\\") { guard let escaped = rest.popFirst(), escaped >= 0x20 else { return false } }
    }
    return false
  }

  private static func digits(_ rest: inout ArraySlice<UInt8>) -> Int {
    let count = rest.prefix { (0x30...0x39).contains($0) }.count
    rest = rest.dropFirst(count)
    return count
  }

  private static func number(_ rest: inout ArraySlice<UInt8>) -> Bool {
    _ = take("-", &rest)
    if !take("0", &rest) { guard digits(&rest) > 0 else { return false } }
    if take(".", &rest) { guard digits(&rest) > 0 else { return false } }
    if take("e", &rest) || take("E", &rest) {
      if !take("-", &rest) { _ = take("+", &rest) }
      guard digits(&rest) > 0 else { return false }
    }
    return true
  }
}

@Suite struct JSONScannerTests {
  @Test(
    "malformed texts are refused",
    arguments: [
      "", " ", "{", "}", "[", "]", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{a:1}",
      "{\"a\" 1}",
      "tru", "nul", "falsy", "\"", "\"\\", "\"a", "\"\u{1}\"", "01", "-", "+1", ".5", "5.", "1e", "1e+", "-01", "--1",
      "1.e5", "0x1",
      "1 2", "[1]]", "{\"a\":1}}", "[1", "{\"a\":1", "NaN", "'a'", "\u{FEFF}1",
    ])
  func malformed(text: String) {
    #expect(error(in: Array(text.utf8)) != nil)
    #expect(!Grammar.accepts(Array(text.utf8)))
  }

  @Test("what JSONSerialization writes is accepted", arguments: testSeeds(4))
  func foundation(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func value(_ depth: Int) -> Any {
      switch random.next() % (depth > 4 ? 5 : 7) {
      case 0: return Int(truncatingIfNeeded: random.next())
      case 1: return Double(Int64(bitPattern: random.next())) / 1_048_576
      case 2: return random.next() % 2 == 0
      case 3: return NSNull()
      case 4:
        return String((0..<Int(random.next() % 20)).map { _ in Character(Unicode.Scalar(UInt8(random.next() % 255))) })
      case 5: return (0..<Int(random.next() % 5)).map { _ in value(depth + 1) }
      default:
        return Dictionary((0..<Int(random.next() % 5)).map { _ in ("k\(random.next())", value(depth + 1)) }) { a, _ in a
        }
      }
    }
    for _ in 0..<300 {
      let options: JSONSerialization.WritingOptions = random.next() % 2 == 0 ? [] : .prettyPrinted
      let data = try JSONSerialization.data(withJSONObject: [value(0)], options: options)
      #expect(error(in: Array(data)) == nil, "seed \(seed): \(String(decoding: data, as: UTF8.self))")
    }
  }

  /// Reads a value part by part, as one does who wants all of it.
  private static func read(_ json: inout JSONScanner, depth: Int = 0) throws(JSONError) {
    guard depth < JSONScanner.depthLimit else { throw JSONError(reason: .tooDeep, offset: json.offset) }
    switch json.peek() {
    case .object:
      try json.objectStart()
      while try json.nextKey() != nil { try read(&json, depth: depth + 1) }
    case .array:
      try json.arrayStart()
      while try json.nextElement() { try read(&json, depth: depth + 1) }
    case .string: _ = try json.string()
    case .number: _ = try json.number()
    case .bool: _ = try json.bool()
    case .null: _ = try json.null()
    case nil: throw json.failure(json.offset)
    }
  }

  @Test("what is passed over ends, or fails, where reading it does", arguments: testSeeds(4))
  func skipped(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = [
      "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\\\"\"", "\"0.00008036\"", "1", "-2.5e3", "true", "null", " ", "x",
      "\"",
      "[[\"1\",\"2\"]]", "{\"k\":[]}", "{\"k\":{}}",
    ]
    for round in 0..<20_000 {
      let depth = round % 50 == 0 ? Int.random(in: 60...66, using: &random) : 0
      var text = String(repeating: Bool.random(using: &random) ? "[" : "{\"k\":", count: depth)
      for _ in 0..<Int.random(in: 1...12, using: &random) { text += parts.randomElement(using: &random) ?? "" }
      let bytes = Array(text.utf8)
      var passed = JSONScanner(bytes.span.bytes)
      var wanted = JSONScanner(bytes.span.bytes)
      var errors: (JSONError?, JSONError?)
      do throws(JSONError) { try passed.skipValue() } catch { errors.0 = error }
      do throws(JSONError) { try Self.read(&wanted) } catch { errors.1 = error }
      #expect(errors.0 == errors.1, "seed \(seed): \(text)")
      if errors.0 == nil { #expect(passed.offset == wanted.offset, "seed \(seed): \(text)") }
    }
  }

  @Test("nesting beyond the limit is refused, not followed")
  func depth() {
    let deep = Array(repeating: UInt8(ascii: "["), count: 100_000)
    #expect(error(in: deep)?.reason == .tooDeep)
    let allowed = String(repeating: "[", count: 63) + String(repeating: "]", count: 63)
    #expect(error(in: Array(allowed.utf8)) == nil)
  }

  @Test("a message is read key by key, with what is not wanted skipped")
  func message() throws {
    let bytes = Array(
      """
       { "e" : "trade", "skip" : [ {"x":[1,2,{"y":"}]"}]}, null, true ] , "p":"61737.63000000","q": 0.5,"T":1723161255208,
      "id":"18446744073709551615","m":false,"n":null,"esc":"a\\"b\\u20ac\\ud83d\\ude00\\n" }
      """.utf8)
    var json = JSONScanner(bytes.span.bytes)
    var seen: [String] = []
    try json.objectStart()
    while let key = try json.nextKey() {
      if json.equals(key, "p") {
        seen.append("\(try json.decimal(scale: 2))")
      } else if json.equals(key, "q") {
        let value = try json.decimal64()
        seen.append("\(value.mantissa)e-\(value.scale)")
      } else if json.equals(key, "T") {
        seen.append("\(try json.int64())")
      } else if json.equals(key, "id") {
        seen.append("\(try json.uint64())")
      } else if json.equals(key, "m") {
        seen.append("\(try json.bool())")
      } else if json.equals(key, "n") {
        seen.append("\(try json.null())")
      } else if json.equals(key, "esc") {
        let slice = try json.string()
        seen.append(try json.decoded(slice))
      } else {
        try json.skipValue()
      }
    }
    try json.end()
    #expect(seen == ["6173763", "5e-1", "1723161255208", "18446744073709551615", "false", "true", "a\"b€😀\n"])
  }

  @Test("keys are told apart at every length")
  func keys() throws {
    let names: [(StaticString, String)] = [
      ("", ""), ("a", "a"), ("ab", "ab"), ("abc", "abc"), ("abcd", "abcd"), ("abcdefg", "abcdefg"),
      ("abcdefgh", "abcdefgh"),
      ("abcdefghijklmnop", "abcdefghijklmnop"), ("abcdefghijklmnopqrs", "abcdefghijklmnopqrs"),
    ]
    for (literal, text) in names {
      for index in 0..<max(text.utf8.count, 1) {
        var other = Array(text.utf8)
        if !other.isEmpty { other[index] = UInt8(ascii: "Z") } else { other = [UInt8(ascii: "Z")] }
        for (bytes, isSame) in [(Array(text.utf8), true), (other, false)] {
          let quoted = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
          var json = JSONScanner(quoted.span.bytes)
          let slice = try json.string()
          let same = json.equals(slice, literal)
          #expect(same == isSame, "\(text) at \(index)")
        }
      }
    }
  }

  @Test("the fast reading of decimals and the slow one agree, at every distance from the end", arguments: testSeeds(4))
  func decimals(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let alphabet = Array("0000123456789999..-+eE\" ".unicodeScalars)
    for _ in 0..<12_000 {
      var text = ""
      if random.next() % 4 > 0 {
        if random.next() % 8 == 0 { text += "-" }
        for _ in 0..<(random.next() % 21 + 1) { text.unicodeScalars.append(alphabet[Int(random.next() % 16)]) }
        if random.next() % 4 > 0 {
          text += "."
          for _ in 0..<(random.next() % 11) { text.unicodeScalars.append(alphabet[Int(random.next() % 16)]) }
        }
      } else {
        for _ in 0..<(random.next() % 10) {
          text.unicodeScalars.append(alphabet[Int(random.next() % UInt64(alphabet.count))])
        }
      }
      if random.next() % 3 > 0 { text = "\"\(text)\"" }
      let scale = UInt8(random.next() % 13)
      let room = String(",                    ".prefix(Int(random.next() % 20)))
      let bytes = Array((text + room).utf8)
      func same<Value: Equatable>(_ fast: Value?, _ slow: Value?, _ what: String) {
        #expect(fast == slow, "\(text)\(room) as \(what): \(String(describing: fast)); TIDEGATE_SEED=\(seed)")
      }
      same(read(bytes) { try $0.decimal(scale: scale) }, read(bytes) { try $0.longDecimal(scale: scale) }, "\(scale)")
      same(read(bytes) { try $0.int64() }, read(bytes) { try $0.longDecimal(scale: 0) }, "an integer")
      same(read(bytes) { try $0.decimal64() }, read(bytes) { try $0.longDecimal64() }, "a decimal")
      same(read(bytes) { try $0.uint64() }, read(bytes) { try $0.longUInt64() }, "an unsigned integer")
      same(read(bytes) { try $0.wholeNumber() }, read(bytes) { try $0.longWholeNumber() }, "a whole number")
    }
  }

  /// What is read at the start of a text, and where the next thing begins; nil if it is refused.
  private func read<Value: Equatable>(
    _ bytes: [UInt8], _ body: (inout JSONScanner) throws -> Value
  ) -> Read<Value>? {
    var json = JSONScanner(bytes.span.bytes)
    guard let value = try? body(&json) else { return nil }
    return Read(value: value, end: json.offset)
  }

  private struct Read<Value: Equatable>: Equatable {
    var value: Value
    var end: Int
  }

  @Test("unsigned integers are read to their limit, bare or quoted, and nothing else is one")
  func unsigned() throws {
    func read(_ text: String) -> UInt64? {
      let bytes = Array((text + ",                   ").utf8)
      var json = JSONScanner(bytes.span.bytes)
      return try? json.uint64()
    }
    for value in [0, 7, 12_345_678, 123_456_789, 123_456_789_012_345, 1_234_567_890_123_456, UInt64.max] {
      #expect(read("\(value)") == value)
      #expect(read("\"\(value)\"") == value)
    }
    for text in ["-1", "1.0", "1e3", "\"\"", "\"1.5\"", "18446744073709551616", "007", "\"12a\""] {
      #expect(read(text) == nil)
    }
  }

  private struct Level: Equatable {
    var word: String?
    var first: Int64
    var second: Int64
    var end: Int
  }

  /// A level, part by part.
  private func level(_ bytes: [UInt8], isObject: Bool, hasWord: Bool) -> Level? {
    var json = JSONScanner(bytes.span.bytes)
    var level = Level(first: .min, second: .min, end: 0)
    do {
      if isObject {
        try json.objectStart()
        while let key = try json.nextKey() {
          if json.equals(key, "px") {
            level.first = try json.decimal(scale: 2)
          } else if json.equals(key, "sz") {
            level.second = try json.decimal(scale: 9)
          } else if hasWord, json.equals(key, "side") {
            level.word = try json.decoded(try json.string())
          } else {
            try json.skipValue()
          }
        }
      } else {
        try json.arrayStart()
        guard try json.nextElement() else { return nil }
        if hasWord {
          level.word = try json.decoded(try json.string())
          guard try json.nextElement() else { return nil }
        }
        level.first = try json.decimal(scale: 2)
        guard try json.nextElement() else { return nil }
        level.second = try json.decimal(scale: 9)
        while try json.nextElement() { try json.skipValue() }
      }
    } catch {
      return nil
    }
    level.end = json.offset
    return level
  }

  @Test("a level that is read at once is what its parts are, however it is mutated", arguments: testSeeds(4))
  func levels(seed: UInt64) {
    let shapes: [(text: String, isObject: Bool, hasWord: Bool)] = [
      (#"["61737.63000","0.02772153000"]"#, false, false), ("[61737.6,0]", false, false),
      (#"["97626","0.5","0","3"]"#, false, false), (#"["delete",97713.4,0.0]"#, false, true),
      (#"{"px":"97626.0","sz":"0.00488","n":36}"#, true, false),
      (#"{"side":"bid","time":"2026-11-18T11:07:04Z","px":"97604.21","sz":"0.5"}"#, true, true),
    ]
    let alphabet = Array(#"{}[]",:\0123456789.-+eEpxszside "#.utf8)
    var random = SeededGenerator(seed: seed)
    var (atOnce, refused) = (0, 0)
    for step in 0..<20_000 {
      let (text, isObject, hasWord) = shapes[step % shapes.count]
      var bytes = Array(text.utf8)
      for _ in 0..<random.next() % 3 {
        let index = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[index] = alphabet[Int(random.next() % UInt64(alphabet.count))]
        case 1: bytes.insert(alphabet[Int(random.next() % UInt64(alphabet.count))], at: index)
        default: bytes.remove(at: index)
        }
      }
      bytes += Array(repeating: UInt8(ascii: ","), count: Int(random.next() % 12))
      var json = JSONScanner(bytes.span.bytes)
      let shape = JSONLevelShape(
        names: isObject ? (word: "side", first: "px", second: "sz") : nil, hasWord: hasWord, first: DecimalScale(2),
        second: DecimalScale(9))
      guard let found = json.shortLevel(shape) else {
        refused += 1
        #expect(json.offset == 0)
        continue
      }
      atOnce += 1
      let word = found.word.flatMap { try? json.decoded($0) }
      let got = Level(word: word, first: found.first, second: found.second, end: json.offset)
      #expect(
        got == level(bytes, isObject: isObject, hasWord: hasWord),
        "\(String(decoding: bytes, as: UTF8.self)); TIDEGATE_SEED=\(seed)")
    }
    #expect(atOnce > 5_000 && refused > 5_000)
  }

  @Test("a guess at a text is what stands last, and nothing where that is no plain text")
  func lastText() {
    func last(_ text: String) -> String? {
      let bytes = Array(text.utf8)
      let json = JSONScanner(bytes.span.bytes)
      return json.lastText("s").map { json.text($0).withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
    }
    #expect(last(#"{"s":"A","t":1,"s":"B","u":"C"}"#) == "B")
    #expect(last(#"{"t":{"s":"A"}}"#) == "A")
    for text in ["", "\"s\":", #""s":""#, #"{"s":1}"#, #"{"s" :"A"}"#, #"{"xs":"A"}"#, #"{"s":"\u0041"}"#] {
      #expect(last(text) == nil, "\(text)")
    }
    #expect(last(#"{"s":"A","t":"\#(String(repeating: "x", count: 300))"}"#) == nil)
  }

  @Test(
    "mutated messages are accepted exactly when the grammar of RFC 8259 has them", .longComputation,
    arguments: testSeeds(4))
  func mutations(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let original = Array(
      "{\"stream\":\"btcusdt@depth\",\"E\":1723161255208,\"b\":[[\"61737.63000000\",\"0.5\"],[1.5e3,-2]],\"a\":[],\"x\":{\"y\":[null,true,false]}}"
        .utf8)
    let bytes = Array("{}[]\",:\\0123456789.-+eEtfn \u{1}".utf8)
    for step in 0..<25_000 {
      var text = original
      for _ in 0..<(random.next() % 3 + 1) {
        let index = Int(random.next() % UInt64(text.count))
        switch random.next() % 4 {
        case 0: text[index] = bytes[Int(random.next() % UInt64(bytes.count))]
        case 1: text.insert(bytes[Int(random.next() % UInt64(bytes.count))], at: index)
        case 2: text.remove(at: index)
        default: text.removeSubrange(index...)
        }
        if text.isEmpty { text = [UInt8(ascii: "1")] }
      }
      let accepted = error(in: text) == nil
      guard accepted == Grammar.accepts(text) else {
        Issue.record("seed \(seed), step \(step): \(String(decoding: text, as: UTF8.self)), accepted \(accepted)")
        return
      }
    }
  }
}
