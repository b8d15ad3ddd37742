import Bytes

/// Finds keys that a JSON file has twice. RFC 8259 section 4 leaves their meaning open: a parser takes the last value
/// and says nothing.
///
/// It reports nothing for a text that is not JSON: the parser reports that.
struct JSONMistakes {
  private(set) var found: [FileMistake] = []
  private let contents: [UInt8]
  /// The line of the byte `counted`.
  private var line = 1
  private var counted = 0

  /// O(bytes). Maps and lists deeper than `JSONScanner.depthLimit` are left to the parser.
  init(_ contents: [UInt8]) {
    self.contents = contents
    var json = JSONScanner(contents.span.bytes)
    do throws(JSONError) {
      try read(&json, path: "", depth: 0)
    } catch {
      found = []
    }
  }

  private mutating func read(_ json: inout JSONScanner, path: String, depth: Int) throws(JSONError) {
    switch json.peek() {
    case .object where depth < JSONScanner.depthLimit:
      var lines: [String: Int] = [:]
      try json.objectStart()
      while let slice = try json.nextKey() {
        let key = try json.decoded(slice)
        line += contents[counted..<json.offset].count { $0 == UInt8(ascii: "\n") }
        counted = json.offset
        let name = path.isEmpty ? key : "\(path).\(key)"
        if let first = lines[key] { found.append(.repeated(name, lines: [first, line])) } else { lines[key] = line }
        try read(&json, path: name, depth: depth + 1)
      }
    case .array where depth < JSONScanner.depthLimit:
      try json.arrayStart()
      while try json.nextElement() { try read(&json, path: path, depth: depth + 1) }
    default: try json.skipValue()
    }
  }
}
