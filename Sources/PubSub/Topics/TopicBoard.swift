import Bytes
import MarketData

/// Why a document was not published.
package enum TopicError: Error, Sendable, Equatable {
  /// The name is not 1 to 64 characters `a-z 0-9 . _ -`.
  case name
  /// It is larger than `TopicBoard.Limits.documentBytes`.
  case tooLarge(limit: Int)
  /// It is not one JSON value in UTF-8.
  case malformed(offset: Int)
  /// The number of topics has reached its limit.
  case tooMany(limit: Int)
}

/// Documents published under a name: a supply, a shielded pool, the state of a risk desk, the posts of a feed.
///
/// Each topic numbers its documents from 1 and keeps the newest ones. A new reader gets these; a reader that returns
/// requests the documents after its last number. Numbers belong to an epoch, which readers compare.
package struct TopicBoard: Sendable {
  package struct Limits: Sendable {
    /// The most topics. A topic exists from its first document on.
    package var topics = 256
    /// Bytes of a document.
    package var documentBytes = 64 << 10
    /// Documents that a topic keeps.
    package var kept = 100
    /// Bytes of all documents that a topic keeps; the newest is always kept.
    package var topicBytes = 256 << 10

    package init() {}
  }

  /// A document as it was published, its text unchanged.
  package struct Document: Sendable {
    package var number: UInt64
    package var time: Timestamp
    package var text: SharedBytes
    /// The instrument of the document: its top-level `symbol`, if that is a string.
    package let symbol: String?

    /// O(bytes).
    package init(number: UInt64, time: Timestamp, text: SharedBytes) {
      self.number = number
      self.time = time
      self.text = text
      symbol = Self.symbol(in: text)
    }

    /// Bytes of a symbol.
    private static let symbolLimit = 80

    private static func symbol(in text: SharedBytes) -> String? {
      var json = JSONScanner(text.unsafeBytes.bytes)
      var symbol: String?
      do throws(JSONError) {
        guard json.peek() == .object else { return nil }
        try json.objectStart()
        while let key = try json.nextKey() {
          guard json.equals(key, "symbol"), json.peek() == .string else {
            try json.skipValue()
            continue
          }
          let slice = try json.string()
          symbol = slice.count <= symbolLimit ? try json.decoded(slice) : nil
        }
      } catch {
        return nil
      }
      return symbol
    }
  }

  /// The documents for a reader.
  package struct Page: Sendable {
    /// The number of the newest document.
    package var number: UInt64
    /// In order of their numbers.
    package var documents: [Document]
    /// The number of requested documents that are no longer kept.
    package var lost: UInt64
  }

  private struct Topic {
    var newest: UInt64 = 0
    /// The highest number of any document, kept or not.
    var given: UInt64 = 0
    var bytes = 0
    /// In order of their numbers.
    var documents: [Document] = []
  }

  package let limits: Limits
  private var topics: [String: Topic] = [:]

  package init(limits: Limits = Limits()) { self.limits = limits }

  /// The topics to which something was published, by name, each with its newest document.
  /// - Parameter symbol: only topics whose newest document has this symbol.
  package func list(symbol: String? = nil) -> [(name: String, newest: Document)] {
    topics.sorted { $0.key < $1.key }.compactMap { name, topic in
      guard let newest = topic.documents.last, symbol == nil || newest.symbol == symbol else { return nil }
      return (name, newest)
    }
  }

  /// The names of all topics, in order.
  package var names: [String] { topics.keys.sorted() }

  /// Stores a document as the newest of its topic, and returns its number. O(bytes).
  package mutating func publish(_ text: [UInt8], to name: String, now: Timestamp) throws(TopicError) -> UInt64 {
    let document = try prepare(text, for: name, now: now)
    keep(document, of: name)
    return document.number
  }

  /// Gives a document its number, which no other gets, without storing it, because it may have to be written first. The
  /// topic exists from then on. O(bytes).
  package mutating func prepare(_ text: [UInt8], for name: String, now: Timestamp) throws(TopicError) -> Document {
    guard Self.isName(name) else { throw .name }
    guard text.count <= limits.documentBytes else { throw .tooLarge(limit: limits.documentBytes) }
    try Self.check(text)
    guard topics[name] != nil || topics.count < limits.topics else { throw .tooMany(limit: limits.topics) }
    let number = (topics[name]?.given ?? 0) + 1
    topics[name, default: Topic()].given = number
    return Document(number: number, time: now, text: SharedBytes(text))
  }

  /// Stores a prepared document, or one of an earlier run, as the newest of its topic. Documents are stored in the
  /// order of their numbers, which may have gaps.
  package mutating func keep(_ document: Document, of name: String) {
    var topic = topics[name] ?? Topic()
    precondition(document.number > topic.newest, "documents are kept in the order of their numbers")
    // A copy of the list has at most `kept` references.
    topic.newest = document.number
    topic.given = max(topic.given, document.number)
    topic.bytes += document.text.count
    topic.documents.append(document)
    while topic.documents.count > limits.kept || (topic.bytes > limits.topicBytes && topic.documents.count > 1) {
      topic.bytes -= topic.documents.removeFirst().text.count
    }
    topics[name] = topic
  }

  /// The newest `limit` documents; with `after`, the first `limit` of those after it. Nil if nothing was published. A
  /// number that has not been reached must be of an earlier run, so the answer begins with the oldest document.
  package func read(_ name: String, after: UInt64? = nil, limit: Int) -> Page? {
    guard let topic = topics[name], let oldest = topic.documents.first?.number else { return nil }
    guard let after else {
      return Page(number: topic.newest, documents: topic.documents.suffix(limit), lost: 0)
    }
    let from = after > topic.newest ? oldest : max(after + 1, oldest)
    let documents = topic.documents.drop { $0.number < from }.prefix(limit)
    let lost = after > topic.newest ? 0 : from - after - 1
    return Page(number: topic.newest, documents: Array(documents), lost: lost)
  }

  package static func isName(_ name: String) -> Bool {
    (1...64).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
          UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }

  private static func check(_ text: [UInt8]) throws(TopicError) {
    guard String(validating: text, as: UTF8.self) != nil else { throw .malformed(offset: 0) }
    do {
      var json = JSONScanner(text.span.bytes)
      try json.skipValue()
      try json.end()
    } catch {
      throw .malformed(offset: error.offset)
    }
  }
}

extension TopicBoard.Page {
  /// Appends `{"topic":…,"epoch":…,"number":…,"documents":[{"number":…,"time":…,"document":…}]}`.
  package func append(topic name: String, epoch: String, to out: inout ByteBuffer) {
    out.append("{\"topic\":")
    out.append(json: name)
    out.append(",\"epoch\":")
    out.append(json: epoch)
    out.append(",\"number\":")
    out.append(integer: number)
    if lost > 0 {
      out.append(",\"lost\":")
      out.append(integer: lost)
    }
    out.append(",\"documents\":[")
    for (index, document) in documents.enumerated() {
      if index > 0 { out.append(",") }
      document.append(to: &out)
    }
    out.append("]}")
  }
}

extension TopicBoard.Document {
  /// Appends `{"number":…,"time":…,"document":…}`.
  package func append(to out: inout ByteBuffer) {
    out.append("{\"number\":")
    out.append(integer: number)
    out.append(",\"time\":")
    out.append(integer: time.microseconds)
    out.append(",\"document\":")
    out.append(text.unsafeBytes)
    out.append("}")
  }
}
