import Bytes

/// How an object stands in a message: what it is before it is read, and the members that are read into it. Unknown
/// members are skipped.
struct MessageFormat<Value: Sendable>: Sendable {
  private let blank: Value
  private let fields: [Field<Value>]
  /// A bit for each field that every such object has.
  private let needed: UInt64

  /// - Parameters:
  ///   - blank: the object without any member.
  ///   - fields: at most 64. Those that the gateway writes one after the other are found fastest in that order. The
  ///     first of those that are needed and missing is named in the error.
  ///   - shared: more fields, which other formats have, too.
  init(_ blank: Value, _ fields: [Field<Value>], _ shared: [Field<Value>] = []) {
    precondition(fields.count + shared.count <= UInt64.bitWidth)
    self.blank = blank
    self.fields = fields + shared
    let fields = self.fields
    needed = fields.indices.reduce(0) { fields[$1].isNeeded ? $0 | 1 << UInt64($1) : $0 }
  }

  /// Reads an object. O(length × fields).
  func read(_ json: inout JSONScanner) throws -> Value {
    var value = blank
    try read(&json, into: &value)
    return value
  }

  /// As `read`; nil for any other value, which is skipped.
  func readObject(_ json: inout JSONScanner) throws -> Value? {
    if json.peek() == .object { return try read(&json) }
    try json.skipValue()
    return nil
  }

  /// Reads the members of an object into `value`. Of a member that stands twice the last one counts.
  func read(_ json: inout JSONScanner, into value: inout Value) throws {
    var missing = needed
    var next = 0
    try json.objectStart()
    while let key = try json.nextKey() {
      guard let index = try index(of: key, json, from: next) else {
        try json.skipValue()
        continue
      }
      next = index + 1
      let bit: UInt64 = 1 << UInt64(index)
      if try fields[index].read(&value, &json) { missing &= ~bit } else { missing |= bit & needed }
    }
    if missing != 0 { throw MessageError.missing("\(fields[missing.trailingZeroBitCount].name)") }
  }

  /// The index of the field with this name. It is looked for first where the one before it leaves off.
  private func index(of key: JSONSlice, _ json: borrowing JSONScanner, from next: Int) throws -> Int? {
    guard !key.isEscaped else {
      let name = try json.decoded(key)
      return fields.firstIndex { "\($0.name)" == name }
    }
    for index in next..<fields.count where json.equals(key, fields[index].name) { return index }
    for index in 0..<next where json.equals(key, fields[index].name) { return index }
    return nil
  }
}

/// A member of an object: its name in messages, and where its value goes.
struct Field<Value>: Sendable {
  let name: StaticString
  /// Whether every such object has it: one without it is an error (protocol, *What `data` holds*).
  let isNeeded: Bool
  /// Reads a value; false if it stands for none.
  let read: @Sendable (inout Value, inout JSONScanner) throws -> Bool

  private init(
    name: StaticString, isNeeded: Bool, read: @escaping @Sendable (inout Value, inout JSONScanner) throws -> Bool
  ) {
    (self.name, self.isNeeded, self.read) = (name, isNeeded, read)
  }

  /// A member that only some objects have.
  init<Member: MessageValue>(_ name: StaticString, _ member: any WritableKeyPath<Value, Member> & Sendable) {
    self.init(name: name, isNeeded: false) { try Self.set(member, of: &$0, &$1) }
  }

  /// A member that every such object has.
  init<Member: MessageValue>(_ name: StaticString, needed member: any WritableKeyPath<Value, Member> & Sendable) {
    self.init(name: name, isNeeded: true) { try Self.set(member, of: &$0, &$1) }
  }

  /// A list of at most `limit` values.
  init<Member: MessageValue>(
    _ name: StaticString, _ member: any WritableKeyPath<Value, [Member]> & Sendable, limit: Int
  ) {
    self.init(name, by: { $0[keyPath: member] = try $1.list(limit: limit) })
  }

  /// A member that is read in a way of its own.
  init(
    _ name: StaticString, isNeeded: Bool = false,
    by read: @escaping @Sendable (inout Value, inout JSONScanner) throws -> Void
  ) {
    self.init(name: name, isNeeded: isNeeded) {
      try read(&$0, &$1)
      return true
    }
  }

  private static func set<Member: MessageValue>(
    _ member: WritableKeyPath<Value, Member>, of value: inout Value, _ json: inout JSONScanner
  ) throws -> Bool {
    guard let read = try Member.read(&json) else { return false }
    value[keyPath: member] = read
    return true
  }

  /// The same member of a larger object.
  func at<Whole>(_ part: any WritableKeyPath<Whole, Value> & Sendable) -> Field<Whole> {
    let read = self.read
    return Field<Whole>(name: name, isNeeded: isNeeded) { try read(&$0[keyPath: part], &$1) }
  }
}
