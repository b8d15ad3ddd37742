import CLoad
import Glibc

/// The fields of a `tidegate.v1` message that the load test needs. Reading stops as soon as they are known, so that
/// the cost does not grow with `data`.
struct MessageHead {
  enum Kind: UInt8 { case other, update, snapshot, heartbeat, subscribed, notice, error }

  struct Fields: OptionSet {
    let rawValue: UInt8
    static let stream = Fields(rawValue: 1)
    static let prev = Fields(rawValue: 2)
    static let seq = Fields(rawValue: 4)
    static let time = Fields(rawValue: 8)
    static let sent = Fields(rawValue: 16)
    static let update: Fields = [.stream, .prev, .seq, .time]
    static let snapshot: Fields = [.stream, .seq, .time]
    static let heartbeat: Fields = [.sent]
  }

  var kind = Kind.other
  var found: Fields = []
  var stream: UInt64 = 0
  var prev: UInt64 = 0
  var seq: UInt64 = 0
  /// Publication, µs UTC.
  var time: Int64 = 0
  var sent: UInt64 = 0

  /// Reads the top-level members of an object; nil if the bytes are not one.
  init?(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
    var i = 1
    guard count >= 2, bytes[0] == UInt8(ascii: "{") else { return nil }
    while i < count {
      switch bytes[i] {
      case UInt8(ascii: "}"): return
      case UInt8(ascii: ","), UInt8(ascii: " "):
        i += 1
        continue
      case UInt8(ascii: "\""): break
      default: return nil
      }
      let key = i + 1
      guard let end = Self.endOfString(bytes, count, from: key) else { return nil }
      i = end + 1
      guard i + 1 < count, bytes[i] == UInt8(ascii: ":") else { return nil }
      i += 1
      switch end - key {
      case 4 where Self.equals(bytes + key, "type"):
        kind = Self.kind(bytes + i, count - i)
      case 4 where Self.equals(bytes + key, "time"):
        time = Int64(truncatingIfNeeded: Self.number(bytes + i, count - i))
        found.insert(.time)
      case 4 where Self.equals(bytes + key, "prev"):
        prev = Self.number(bytes + i, count - i)
        found.insert(.prev)
      case 4 where Self.equals(bytes + key, "sent"):
        sent = Self.number(bytes + i, count - i)
        found.insert(.sent)
      case 3 where Self.equals(bytes + key, "seq"):
        seq = Self.number(bytes + i, count - i)
        found.insert(.seq)
      case 6 where Self.equals(bytes + key, "stream"):
        stream = Self.number(bytes + i, count - i)
        found.insert(.stream)
      default: break
      }
      switch kind {
      case .update: if found.isSuperset(of: .update) { return }
      case .snapshot: if found.isSuperset(of: .snapshot) { return }
      case .heartbeat: if found.isSuperset(of: .heartbeat) { return }
      case .subscribed, .notice, .error: return
      case .other: break
      }
      guard let next = Self.skipValue(bytes, count, from: i) else { return nil }
      i = next
    }
    return nil
  }

  private static func equals(_ bytes: UnsafePointer<UInt8>, _ literal: StaticString) -> Bool {
    memcmp(bytes, literal.utf8Start, literal.utf8CodeUnitCount) == 0
  }

  private static func kind(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Kind {
    guard count > 12 else { return .other }
    switch bytes[1] {
    case UInt8(ascii: "u"): return equals(bytes, "\"update\"") ? .update : .other
    case UInt8(ascii: "h"): return equals(bytes, "\"heartbeat\"") ? .heartbeat : .other
    case UInt8(ascii: "n"): return equals(bytes, "\"notice\"") ? .notice : .other
    case UInt8(ascii: "e"): return equals(bytes, "\"error\"") ? .error : .other
    case UInt8(ascii: "s"):
      return equals(bytes, "\"snapshot\"") ? .snapshot : equals(bytes, "\"subscribed\"") ? .subscribed : .other
    default: return .other
    }
  }

  static func number(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt64 {
    var value: UInt64 = 0
    var i = 0
    while i < count {
      let digit = bytes[i] &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      value = value &* 10 &+ UInt64(digit)
      i += 1
    }
    return value
  }

  private static func endOfString(_ bytes: UnsafePointer<UInt8>, _ count: Int, from start: Int) -> Int? {
    var i = start
    while i < count {
      if bytes[i] == UInt8(ascii: "\"") { return i }
      i += bytes[i] == UInt8(ascii: "\\") ? 2 : 1
    }
    return nil
  }

  private static func skipValue(_ bytes: UnsafePointer<UInt8>, _ count: Int, from start: Int) -> Int? {
    var depth = 0
    var i = start
    while i < count {
      switch bytes[i] {
      case UInt8(ascii: "\""):
        guard let end = endOfString(bytes, count, from: i + 1) else { return nil }
        i = end
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return i }
        depth -= 1
      case UInt8(ascii: ",") where depth == 0: return i
      default: break
      }
      i += 1
    }
    return nil
  }
}

/// Looking through rare messages (`subscribed`, `notice`) by substring.
enum Text {
  /// Where `needle` begins at or after `start`.
  static func find(_ needle: StaticString, in bytes: UnsafeBufferPointer<UInt8>, from start: Int = 0) -> Int? {
    guard start <= bytes.count, let base = bytes.baseAddress,
      let hit = memmem(base + start, bytes.count - start, needle.utf8Start, needle.utf8CodeUnitCount)
    else { return nil }
    return UnsafeRawPointer(hit) - UnsafeRawPointer(base)
  }

  /// The number that follows `key`, such as `"seq":`, at or after `start`.
  static func number(after key: StaticString, in bytes: UnsafeBufferPointer<UInt8>, from start: Int = 0) -> UInt64? {
    guard let at = find(key, in: bytes, from: start), let base = bytes.baseAddress else { return nil }
    let value = at + key.utf8CodeUnitCount
    return MessageHead.number(base + value, bytes.count - value)
  }

  /// All strings that follow `key`, such as `"symbol":"`.
  static func strings(after key: StaticString, in bytes: [UInt8]) -> [String] {
    bytes.withUnsafeBufferPointer { all in
      var found: [String] = []
      var from = 0
      while let at = find(key, in: all, from: from) {
        let start = at + key.utf8CodeUnitCount
        let end = all[start...].firstIndex(of: UInt8(ascii: "\"")) ?? all.count
        found.append(String(decoding: all[start..<end], as: UTF8.self))
        from = end
      }
      return found
    }
  }
}
