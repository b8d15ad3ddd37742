import Bytes
import MarketData

/// Streams whose data others make. They are published by loop 0, whose node takes `documentDemands` at the end of each
/// turn and hands over what is wanted.
extension StreamPublisher {
  /// What subscribers wait for, or nobody needs any longer, since the last call; in order.
  package func takeDocumentDemands() -> [StreamDocumentDemand] {
    defer { documentDemands = [] }
    return documentDemands
  }

  /// Adds a stream that has found its first subscriber.
  func wakeDocument(_ stream: PublishedStream) {
    guard let name = stream.key.documentName else { return }
    documentDemands.append(.wanted(name))
    documents[name, default: []].append(stream)
  }

  /// Removes a stream that has lost its last one.
  func sleepDocument(_ stream: PublishedStream) {
    guard let name = stream.key.documentName else { return }
    documents[name]?.removeAll { $0 === stream }
    guard documents[name]?.isEmpty ?? false else { return }
    documents[name] = nil
    documentDemands.append(.unwanted(name))
  }

  /// Hands over a whole document: streams that show nothing yet begin with it, the others go on. O(streams of the
  /// name).
  package func show(
    _ document: StreamDocument, as name: StreamDocumentName, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in documents[name] ?? [] where !stream.isShown {
      stream.document = document
      stream.limitDocument()
      stream.isShown = true
      stream.seq += 1
      stream.cachedSnapshot = nil
      forget(stream)
      if let frame = snapshot(of: stream, reason: stream.dueReason, now: now) {
        stream.dueReason = .subscribe
        out.append(.frame(frame, loops: stream.loops))
      }
    }
  }

  /// Publishes what changed to the streams that show the document.
  package func publish(
    _ update: StreamDocumentUpdate, to name: StreamDocumentName, now: Timestamp, into out: inout [Delivery]
  ) {
    for stream in documents[name] ?? [] where stream.isShown {
      if let head = update.head { stream.document?.head = head }
      for key in update.removed { stream.document?.remove(key) }
      for entry in update.changed { stream.document?.set(entry) }
      stream.limitDocument()
      self.update(stream, events: update.events, now: now, into: &out) { $0.append(update.data.unsafeBytes) }
    }
  }
}

extension PublishedStream {
  /// A topic's stream shows the last documents that were asked for.
  func limitDocument() {
    if key.channel == .topic { document?.keepLast(Int(key.points)) }
  }
}

extension StreamKey {
  /// The document that the stream shows; nil for what markets and feeds make.
  var documentName: StreamDocumentName? {
    switch channel {
    case .alerts: owner.map { StreamDocumentName(.alerts, $0) }
    case .topic: StreamDocumentName(.topic, symbol)
    default: nil
    }
  }
}
