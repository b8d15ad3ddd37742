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

  private struct Draft: WriteDraft {
    var documents: [(topic: String, document: TopicBoard.Document)] = []
    /// Whether the file must get all documents.
    var isWhole = false
    var isEmpty: Bool { documents.isEmpty }
  }

  private struct State {
    var board: TopicBoard
    var writes: DocumentQueue<Draft>
  }

  /// The epoch of the documents' numbers.
  package let epoch: String
  private let state: Mutex<State>
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
    state = Mutex(State(board: board, writes: DocumentQueue(store?.file)))
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
    let answer: Result<News, TopicProblem>? = state.withLock { state in
      // Before the document gets its number: a refused one leaves no gap.
      do throws(ProtocolError) { try state.writes.checkAdmission() } catch { return .failure(.store(error)) }
      let document: TopicBoard.Document
      do throws(TopicError) { document = try state.board.prepare(body, for: name, now: now) } catch {
        return .failure(.document(error))
      }
      guard store != nil else {
        state.board.keep(document, of: name)
        return .success(News(document))
      }
      state.writes.draft.documents.append((name, document))
      state.writes.wait { result in reply(result.map { News(document) }.mapError { .store($0) }) }
      return nil
    }
    if let answer { reply(answer) } else { write() }
  }

  /// Writes what waits, unless a transaction is under way, whose end calls this again. Numbers are given and written in
  /// one order, which is the order of the answers.
  private func write() {
    guard let store else { return }
    let batch: [StoredDocument]? = state.withLock { state in
      guard let draft = state.writes.begin(store.file, everything: { $0.isWhole = true })?.draft else { return nil }
      return ((draft.isWhole ? state.board.all : []) + draft.documents).map { topic, document in
        StoredDocument(topic: topic, number: document.number, time: document.time, text: document.text)
      }
    }
    guard let batch else { return }
    let isTaken = store.submit(batch, epoch: epoch) { [self] in written($0) }
    if !isTaken { written(.failure(.busy(path: store.file.path))) }
  }

  private func written(_ result: Result<Void, DataFileError>) {
    let isWritten = (try? result.get()) != nil
    let transaction = state.withLock { state in
      let transaction = state.writes.end(isWritten: isWritten)
      guard isWritten, let documents = transaction?.draft.documents else { return transaction }
      for (topic, document) in documents { state.board.keep(document, of: topic) }
      return transaction
    }
    transaction?.answer(isWritten ? .success(()) : .failure(.unwritten))
    write()
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
    state.withLock { $0.board.read(name, limit: 1)?.documents.last }
  }

  /// `{"topics":[{"topic":…,"number":…,"time":…,"symbol":…}]}`
  package func list(symbol: String?) -> [UInt8] {
    let topics = state.withLock { $0.board.list(symbol: symbol) }
    var writer = JSONObjectWriter(capacity: 512)
    writer.object { writer in
      writer.array("topics") { writer in
        for topic in topics {
          writer.object { writer in
            writer.field("topic", topic.name)
            writer.field("number", topic.newest.number)
            writer.field("time", topic.newest.time.microseconds)
            writer.field("symbol", topic.newest.symbol)
          }
        }
      }
    }
    return writer.takeBytes()
  }

  /// A page of a topic's documents as JSON, with its entity tag; nil if nothing was published.
  package func read(_ name: String, after: UInt64?, limit: Int) -> (text: [UInt8], tag: String)? {
    guard let page = state.withLock({ $0.board.read(name, after: after, limit: limit) }) else { return nil }
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
    guard let page = state.withLock({ $0.board.read(name, limit: Self.pageLimit) }) else { return nil }
    return StreamDocument(
      head: Self.head(page.number), tail: "]}",
      entries: page.documents.map { document in
        var out = ByteBuffer(capacity: document.text.count + 64)
        document.append(to: &out)
        return StreamDocument.Entry(key: document.number, text: SharedBytes(out.unsafeBytes))
      })
  }
}

extension TopicBoard {
  /// All documents, by topic and number.
  fileprivate var all: [(topic: String, document: Document)] {
    names.flatMap { name in (read(name, limit: .max)?.documents ?? []).map { (name, $0) } }
  }
}

/// Why a document was not published.
package enum TopicProblem: Error {
  /// It does not satisfy the schema of its topic.
  case schema(TopicSchemaError)
  case document(TopicError)
  case store(ProtocolError)
}
