import Foundation

/// The JSON objects that the guides show, so that a test can send each of them.
enum DocumentedObjects {
  /// Every object that is whole and valid JSON, the outermost ones, from all guides; each once.
  static func all() throws -> [String] {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")
    let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
      .filter { $0.pathExtension == "md" }.sorted { $0.path < $1.path }
    var found: [String] = []
    for file in files ?? [] { found += objects(in: try String(contentsOf: file, encoding: .utf8)) }
    return Set(found).sorted()
  }

  static func objects(in text: String) -> [String] {
    let bytes = Array(text.utf8)
    var found: [String] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "{"), let end = end(of: bytes, from: index),
        (try? JSONSerialization.jsonObject(with: Data(bytes[index..<end]))) is [String: Any]
      {
        found.append(String(decoding: bytes[index..<end], as: UTF8.self))
        index = end
      } else {
        index += 1
      }
    }
    return found
  }

  /// Behind the brace that closes the one at `start`; nil within 4,096 bytes of none.
  private static func end(of bytes: [UInt8], from start: Int) -> Int? {
    var depth = 0
    var isText = false
    var index = start
    while index < min(bytes.count, start + 4_096) {
      switch bytes[index] {
      case UInt8(ascii: "\\") where isText: index += 1
      case UInt8(ascii: "\""): isText.toggle()
      case UInt8(ascii: "{") where !isText: depth += 1
      case UInt8(ascii: "}") where !isText:
        depth -= 1
        if depth == 0 { return index + 1 }
      default: break
      }
      index += 1
    }
    return nil
  }

  /// The names of an object's members.
  static func keys(_ object: String) -> Set<String> {
    Set(((try? JSONSerialization.jsonObject(with: Data(object.utf8))) as? [String: Any])?.keys.map { $0 } ?? [])
  }
}
