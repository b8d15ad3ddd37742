import Alerts
import Bytes
import History
import MarketData
import PubSub

extension AlertID {
  /// The id as clients see it.
  package var text: String { String(rawValue, radix: 16) }

  /// Reads exactly what `text` writes.
  init?(text: String) {
    guard let value = UInt64(text, radix: 16), String(value, radix: 16) == text else { return nil }
    self.init(rawValue: value)
  }
}

/// A rule as its owner sees it: JSON that is made once for all of the owner's devices, on streams and over HTTP.
package struct AlertText: Sendable {
  package let id: AlertID
  package let bytes: SharedBytes
  /// The entity tag, quotes included: the revision, a point, and a digest of the whole.
  package let tag: String

  init(_ id: AlertID, _ entry: AlertDesk.Entry, _ status: AlertStatus) {
    self.id = id
    var out = ByteBuffer(capacity: 512)
    out.appendObject { writer in
      writer.field("id", id.text)
      writer.field("name", entry.name)
      writer.field("state", status.state.rawValue)
      writer.value("rule") { entry.rule.append(to: &$0) }
      writer.field("created", entry.created.microseconds)
      writer.field("revision", entry.revision)
      writer.field("firings", UInt64(status.firings))
      writer.field("acknowledged", UInt64(status.acknowledged))
      writer.field("next", status.next?.microseconds)
      writer.field("watching_from", status.watchingFrom?.microseconds)
      if let newest = entry.newest { writer.object("firing") { newest.appendFields(to: &$0) } }
    }
    bytes = SharedBytes(out.unsafeBytes)
    tag = RevisionTag.text(entry.revision, out.takeBytes())
  }
}

extension StoredFiring {
  func appendFields(to writer: inout JSONObjectWriter) {
    writer.field("number", UInt64(number))
    writer.field("time", time.microseconds)
    writer.field("symbol", symbol)
    if let value { writer.field("value", value) }
    if lateBy > 0 { writer.field("late_by_ms", max(1, lateBy / Microseconds.millisecond)) }
    if missed > 0 { writer.field("missed", UInt64(missed)) }
  }
}

extension AlertDesk {
  /// The state that owners see once a draft is written: that of the moment when the store received the draft.
  struct Shown {
    var texts: [(id: AlertID, owner: AlertOwner, text: AlertText)] = []

    init(_ draft: Draft, of desk: AlertDesk) {
      for id in draft.written.union(draft.touched).sorted() {
        guard let entry = desk.entries[id], let status = try? desk.engine.status(of: id) else { continue }
        texts.append((id, entry.owner, AlertText(id, entry, status)))
      }
    }
  }

  /// The updates of owners' streams for a draft that has been written.
  func updates(of draft: Draft, _ shown: Shown) -> [(String, StreamDocumentUpdate)] {
    var byOwner: [AlertOwner: OwnerUpdate] = [:]
    for (id, owner, text) in shown.texts where owners.isWatched(owner) && entries[id] != nil {
      byOwner[owner, default: .init()].changed.append(.init(key: id.rawValue, text: text.bytes))
    }
    for (id, owner) in draft.removed.sorted(by: { $0.key < $1.key }) where owners.isWatched(owner) {
      byOwner[owner, default: .init()].removed.append(id)
    }
    for (owner, firing, isReminder) in draft.firings where owners.isWatched(owner) {
      byOwner[owner, default: .init()].firings.append((firing, isReminder))
    }
    return byOwner.sorted { $0.key.rawValue < $1.key.rawValue }.compactMap { owner, update in
      owners.subject(of: owner).map { ($0, update.made) }
    }
  }

  /// The update of one owner's streams.
  private struct OwnerUpdate {
    var changed: [StreamDocument.Entry] = []
    var removed: [AlertID] = []
    var firings: [(StoredFiring, isReminder: Bool)] = []

    var made: StreamDocumentUpdate {
      var out = ByteBuffer(capacity: 1024)
      out.appendObject { writer in
        writer.array("alerts") { writer in
          for entry in changed { writer.value { $0.append(entry.text.unsafeBytes) } }
        }
        writer.field("removed", removed.map(\.text))
        writer.array("firings") { writer in
          for (firing, isReminder) in firings {
            writer.object { writer in
              writer.field("alert", firing.alert.text)
              firing.appendFields(to: &writer)
              if isReminder { writer.field("reminder", true) }
            }
          }
        }
      }
      var update = StreamDocumentUpdate(data: SharedBytes(out.unsafeBytes))
      update.changed = changed
      update.removed = removed.map(\.rawValue)
      return update
    }
  }

  /// An owner's rules, with which its stream begins.
  func document(of owner: AlertOwner?) -> StreamDocument {
    let ids = owner.map { engine.alerts(of: $0) } ?? []
    return StreamDocument(
      head: "{\"kept\":\(isKept),\"alerts\":[", tail: "]}",
      entries: ids.compactMap { id in
        entries[id]?.shown.map { StreamDocument.Entry(key: id.rawValue, text: $0.bytes) }
      })
  }
}
