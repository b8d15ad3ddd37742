import Bytes
import HTTP1
import History
import Logging
import MarketData
import PubSub
import Synchronization

/// The topics of a gateway: published on both ports, read on both, on every loop.
///
/// With a data file, readers see a document only when it is in the file, and numbers and their epoch continue after a
/// restart.
final class PublishedTopics: Sendable {
  static let prefix = "/v1/topics/"
  /// The most documents of one answer.
  static let pageLimit = 100

  /// The epoch of the documents' numbers.
  let epoch: String
  private let board: Mutex<TopicBoard>
  private let store: TopicStore?
  /// The schemas that documents must satisfy, by topic; a reload replaces them.
  private let schemas = Mutex<[String: TopicSchema]>([:])
  private let pace = Mutex(TopicPace())

  /// - Parameter epoch: the epoch of this run.
  init(limits: TopicBoard.Limits = .init(), epoch: String) {
    board = Mutex(TopicBoard(limits: limits))
    store = nil
    self.epoch = epoch
  }

  /// Loads the documents of a file. If the file cannot be read, only topics suffer: they are in memory for this run,
  /// and the log says so.
  init(_ file: DataFile?, limits: TopicBoard.Limits = .init(), epoch: String, log: Logger) {
    var (board, kept, store) = (TopicBoard(limits: limits), epoch, nil as TopicStore?)
    if let file {
      let opened = TopicStore(file: file, kept: limits.kept, bytes: limits.topicBytes)
      do throws(DataFileError) {
        let contents = try opened.load(epoch: epoch)
        for document in contents.documents {
          board.keep(.init(number: document.number, time: document.time, text: document.text), of: document.topic)
        }
        (kept, store) = (contents.epoch, opened)
      } catch {
        log.error("topics are not kept in this run", metadata: ["reason": "\(error.description)"])
      }
    }
    self.board = Mutex(board)
    self.epoch = kept
    self.store = store
  }

  /// The topic's name in a path; nil if the path belongs to another route.
  static func name(in path: String) -> String? {
    path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
  }

  /// Answers a `POST` with the number that the document got. Never waits; `reply` may be called on another queue.
  /// - Parameter reply: the answer, and the published document if there is one: announce it before you send the answer.
  func publish(
    _ body: [UInt8], to name: String, _ request: HTTPRequestHead, now: Timestamp,
    reply: @escaping @Sendable (HTTPResponse, News?) -> Void
  ) {
    // A page of another site may send a form here, but not this content type without a preflight.
    let type = request.fields["Content-Type"]?.prefix { $0 != ";" }
    guard let type, ASCII.equalIgnoringCase(type, "application/json") else {
      return reply(
        .error(
          415, code: "unsupported_type", message: "a document must be JSON", hint: "send Content-Type: application/json"
        ),
        nil)
    }
    if let schema = schemas.withLock({ $0[name] }) {
      do throws(TopicSchemaError) { try schema.check(body) } catch { return reply(Self.refusal(error), nil) }
    }
    // Numbers are given and handed to the writer in one order, which is the order of its answers.
    let answer: (HTTPResponse, News?)? = board.withLock { board in
      let document: TopicBoard.Document
      do throws(TopicError) { document = try board.prepare(body, for: name, now: now) } catch {
        return (Self.refusal(error), nil)
      }
      guard let store else {
        board.keep(document, of: name)
        return (Self.done(name, document.number), News(document))
      }
      let kept = StoredDocument(topic: name, number: document.number, time: now, text: document.text)
      let isTaken = store.submit([kept]) { [self] result in
        guard case .success = result else { return reply(Self.unavailable, nil) }
        self.board.withLock { $0.keep(document, of: name) }
        reply(Self.done(name, document.number), News(document))
      }
      return isTaken ? nil : (Self.unavailable, nil)
    }
    if let answer { reply(answer.0, answer.1) }
  }

  /// Replaces the schemas of all topics.
  /// - Returns: the differences, in words.
  func setSchemas(_ fresh: [String: TopicSchema]) -> [String] {
    let old = schemas.withLock { held in
      defer { held = fresh }
      return held
    }
    return Set(old.keys).union(fresh.keys).sorted().filter { old[$0] != fresh[$0] }.map { name in
      fresh[name] == nil ? "topics: the schema of \(name) was removed" : "topics: the schema of \(name) is new"
    }
  }

  /// Counts what a token publishes on the client port; returns the µs to wait if it is too much.
  func charge(_ subject: String, bytes: Int, now: Int64) -> Int64? {
    pace.withLock { $0.take(subject, bytes: bytes, now: now) }
  }

  /// The newest document of a topic; nil if nothing was published.
  func newest(_ name: String) -> TopicBoard.Document? {
    board.withLock { $0.read(name, limit: 1)?.documents.last }
  }

  /// `{"topics":[{"topic":…,"number":…,"time":…,"symbol":…}]}`
  func list(symbol: String?) -> HTTPResponse {
    var out = ByteBuffer(capacity: 512)
    out.append("{\"topics\":[")
    for (index, topic) in board.withLock({ $0.list(symbol: symbol) }).enumerated() {
      out.append(index > 0 ? ",{\"topic\":" : "{\"topic\":")
      out.append(json: topic.name)
      out.append(",\"number\":")
      out.append(integer: topic.newest.number)
      out.append(",\"time\":")
      out.append(integer: topic.newest.time.microseconds)
      if let symbol = topic.newest.symbol {
        out.append(",\"symbol\":")
        out.append(json: symbol)
      }
      out.append("}")
    }
    out.append("]}")
    return .json(out.takeBytes())
  }

  private static func refusal(_ error: TopicSchemaError) -> HTTPResponse {
    .error(
      422, code: "invalid_document", message: "\(error.path.isEmpty ? "the document" : error.path) \(error.message)",
      hint: "a document must satisfy the schema of its topic")
  }

  private static var unavailable: HTTPResponse {
    .error(
      503, code: "unavailable", message: "the store could not be written, so it is not certain that this was done",
      hint: "publish it again", retryAfterMilliseconds: 1_000)
  }

  private static func done(_ name: String, _ number: UInt64) -> HTTPResponse {
    var out = ByteBuffer()
    out.append("{\"topic\":")
    out.append(json: name)
    out.append(",\"number\":")
    out.append(integer: number)
    out.append("}")
    return .json(out.takeBytes(), status: 201)
  }

  /// Answers a `GET`.
  func read(_ name: String, after: UInt64?, limit: Int) -> HTTPResponse {
    guard let page = board.withLock({ $0.read(name, after: after, limit: limit) }) else {
      return .error(
        404, code: "unknown_topic", message: "nothing has been published to \(name.prefix(64))",
        hint: "POST /v1/topics/{name}: operators on the internal port, tokens that may publish here")
    }
    var out = ByteBuffer()
    page.append(topic: name, epoch: epoch, to: &out)
    let first = page.documents.first?.number ?? 0
    return .json(out.takeBytes(), tag: "\"\(epoch)-\(first)-\(page.number)-\(page.documents.count)-\(page.lost)\"")
  }

  /// A published document, as streams show it.
  struct News: Sendable {
    let update: StreamDocumentUpdate

    init(_ document: TopicBoard.Document) {
      var text = ByteBuffer(capacity: document.text.count + 64)
      document.append(to: &text)
      var out = ByteBuffer(capacity: document.text.count + 128)
      out.append(PublishedTopics.head(document.number))
      out.append(text.bytes)
      out.append("]}")
      var update = StreamDocumentUpdate(data: SharedBytes(out.unsafeBytes))
      update.head = PublishedTopics.head(document.number)
      update.changed = [.init(key: document.number, text: SharedBytes(text.unsafeBytes))]
      update.events = 1
      self.update = update
    }
  }

  private static func head(_ number: UInt64) -> String { "{\"number\":\(number),\"documents\":[" }

  /// All kept documents of a topic, with which a stream begins; nil if nothing was published.
  func document(_ name: String) -> StreamDocument? {
    guard let page = board.withLock({ $0.read(name, limit: Self.pageLimit) }) else { return nil }
    return StreamDocument(
      head: Self.head(page.number), tail: "]}",
      entries: page.documents.map { document in
        var out = ByteBuffer(capacity: document.text.count + 64)
        document.append(to: &out)
        return StreamDocument.Entry(key: document.number, text: SharedBytes(out.unsafeBytes))
      })
  }

  private static func refusal(_ error: TopicError) -> HTTPResponse {
    switch error {
    case .name:
      .error(
        400, code: "bad_topic", message: "this is not a valid topic name", hint: "1 to 64 letters of a-z 0-9 . _ -"
      )
    case .tooLarge(let limit):
      .error(413, code: "too_large", message: "the document has more than \(limit) bytes")
    case .malformed(let offset):
      .error(
        400, code: "bad_document", message: "the body is not one JSON value: see byte \(offset)",
        hint: "send one JSON value in UTF-8")
    case .tooMany(let limit):
      .error(409, code: "too_many_topics", message: "there are \(limit) topics already")
    }
  }
}
