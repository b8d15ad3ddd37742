import Bytes
import History
import Logging
import MarketData
import PubSub
import Synchronization

/// The topics of a gateway: published on both ports, read on both, on every loop.
///
/// With a data file, readers see a document only when it is in the file, and numbers and their epoch continue after a
/// restart.
package final class PublishedTopics: Sendable {
  package static let prefix = "/v1/topics/"
  /// The most documents of one answer.
  package static let pageLimit = 100

  /// The epoch of the documents' numbers.
  package let epoch: String
  private let board: Mutex<TopicBoard>
  private let store: TopicStore?
  /// The schemas that documents must satisfy, by topic; a reload replaces them.
  private let schemas = Mutex<[String: TopicSchema]>([:])
  private let pace = Mutex(TopicPace())

  /// Loads the documents of a file. If the file cannot be read, only topics suffer: they are in memory for this run,
  /// and the log says so.
  /// - Parameter epoch: the epoch of this run.
  package init(_ file: DataFile?, limits: TopicBoard.Limits = .init(), epoch: String, log: Logger) {
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
  package static func name(in path: String) -> String? {
    path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
  }

  /// Publishes a document. Never waits; `reply` may be called on another queue.
  /// - Parameter reply: gets the published document: announce it before you answer.
  package func publish(
    _ body: [UInt8], to name: String, now: Timestamp,
    reply: @escaping @Sendable (Result<News, TopicProblem>) -> Void
  ) {
    if let schema = schemas.withLock({ $0[name] }) {
      do throws(TopicSchemaError) { try schema.check(body) } catch { return reply(.failure(.schema(error))) }
    }
    // Numbers are given and handed to the writer in one order, which is the order of its answers.
    let answer: Result<News, TopicProblem>? = board.withLock { board in
      let document: TopicBoard.Document
      do throws(TopicError) { document = try board.prepare(body, for: name, now: now) } catch {
        return .failure(.document(error))
      }
      guard let store else {
        board.keep(document, of: name)
        return .success(News(document))
      }
      let kept = StoredDocument(topic: name, number: document.number, time: now, text: document.text)
      let isTaken = store.submit([kept]) { [self] result in
        guard case .success = result else { return reply(.failure(.unwritten)) }
        self.board.withLock { $0.keep(document, of: name) }
        reply(.success(News(document)))
      }
      return isTaken ? nil : .failure(.unwritten)
    }
    if let answer { reply(answer) }
  }

  /// Replaces the schemas of all topics.
  /// - Returns: the differences, in words.
  package func setSchemas(_ fresh: [String: TopicSchema]) -> [String] {
    let old = schemas.withLock { held in
      defer { held = fresh }
      return held
    }
    return Set(old.keys).union(fresh.keys).sorted().filter { old[$0] != fresh[$0] }.map { name in
      fresh[name] == nil ? "topics: the schema of \(name) was removed" : "topics: the schema of \(name) is new"
    }
  }

  /// Counts what a token publishes on the client port; returns the µs to wait if it is too much.
  package func charge(_ subject: String, bytes: Int, now: Int64) -> Int64? {
    pace.withLock { $0.take(subject, bytes: bytes, now: now) }
  }

  /// The newest document of a topic; nil if nothing was published.
  package func newest(_ name: String) -> TopicBoard.Document? {
    board.withLock { $0.read(name, limit: 1)?.documents.last }
  }

  /// `{"topics":[{"topic":…,"number":…,"time":…,"symbol":…}]}`
  package func list(symbol: String?) -> [UInt8] {
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
    return out.takeBytes()
  }

  /// A page of a topic's documents as JSON, with its entity tag; nil if nothing was published.
  package func read(_ name: String, after: UInt64?, limit: Int) -> (text: [UInt8], tag: String)? {
    guard let page = board.withLock({ $0.read(name, after: after, limit: limit) }) else { return nil }
    var out = ByteBuffer()
    page.append(topic: name, epoch: epoch, to: &out)
    let first = page.documents.first?.number ?? 0
    return (out.takeBytes(), "\"\(epoch)-\(first)-\(page.number)-\(page.documents.count)-\(page.lost)\"")
  }

  /// A published document, as streams show it.
  package struct News: Sendable {
    /// Counts the topic's documents from 1.
    package let number: UInt64
    package let update: StreamDocumentUpdate

    init(_ document: TopicBoard.Document) {
      number = document.number
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
  package func document(_ name: String) -> StreamDocument? {
    guard let page = board.withLock({ $0.read(name, limit: Self.pageLimit) }) else { return nil }
    return StreamDocument(
      head: Self.head(page.number), tail: "]}",
      entries: page.documents.map { document in
        var out = ByteBuffer(capacity: document.text.count + 64)
        document.append(to: &out)
        return StreamDocument.Entry(key: document.number, text: SharedBytes(out.unsafeBytes))
      })
  }
}

/// Why a document was not published.
package enum TopicProblem: Error {
  /// It does not satisfy the schema of its topic.
  case schema(TopicSchemaError)
  case document(TopicError)
  /// The store could not be written, so it is not certain that the document was published.
  case unwritten
}
