import Bytes
import MarketData

/// A stream that shows a document.
class DocumentStream: PublishedStream {
  /// The document that it shows. Nil: it never gets one.
  private let name: StreamDocumentName?
  private(set) var document: StreamDocument?

  override init(_ start: StreamStart) {
    name = start.key.channel.type.document(of: start.key)
    super.init(start)
  }

  /// The number of last entries that it shows.
  var entryLimit: Int { .max }

  override func wake(in publisher: StreamPublisher) {
    if let name { publisher.documents.add(self, to: name) }
  }

  override func sleep(in publisher: StreamPublisher) {
    if let name { publisher.documents.remove(self, from: name) }
  }

  override func clear() {
    super.clear()
    document = nil
  }

  func set(_ document: StreamDocument) {
    self.document = document
    self.document?.keepLast(entryLimit)
  }

  func apply(_ update: StreamDocumentUpdate) {
    if let head = update.head { document?.head = head }
    for key in update.removed { document?.remove(key) }
    for entry in update.changed { document?.set(entry) }
    document?.keepLast(entryLimit)
  }

  override func flush(in publisher: StreamPublisher, now: Timestamp, into out: inout [Delivery]) {
    guard let document else { return }
    publisher.update(self, events: 0, now: now, into: &out) { document.append(now: now, to: &$0) }
  }

  override func appendSnapshot(in publisher: StreamPublisher, now: Timestamp, to out: inout ByteBuffer) -> Bool {
    guard let document else { return false }
    document.append(now: now, to: &out)
    return true
  }

  override var hasAges: Bool { document?.oldest != nil }
}

/// The subscribed streams of documents, and the demands that their owners have not got yet.
struct DocumentStreams {
  private var byName: [StreamDocumentName: [DocumentStream]] = [:]
  private var demands: [StreamDocumentDemand] = []

  func streams(of name: StreamDocumentName) -> [DocumentStream] { byName[name] ?? [] }

  mutating func takeDemands() -> [StreamDocumentDemand] {
    defer { demands = [] }
    return demands
  }

  /// Adds a stream that has its first subscriber. Always requests the document, because another stream of it may have
  /// only a part.
  mutating func add(_ stream: DocumentStream, to name: StreamDocumentName) {
    demands.append(.wanted(name))
    byName[name, default: []].append(stream)
  }

  /// Removes a stream that has lost its last subscriber.
  mutating func remove(_ stream: DocumentStream, from name: StreamDocumentName) {
    byName[name]?.removeAll { $0 === stream }
    guard byName[name]?.isEmpty ?? false else { return }
    byName[name] = nil
    demands.append(.unwanted(name))
  }
}
