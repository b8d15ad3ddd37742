import Alerts
import Bytes
import Dispatch
import History
import MarketData
import PubSub

/// Requests of owners.
extension AlertDesk {
  package typealias Answer<Value> = Result<Value, ProtocolError>

  /// Performs a request, and answers when it is in the store. Calls `reply` on the desk's queue.
  package func perform(_ call: AlertCall, reply: @escaping @Sendable (Answer<AlertOutcome>) -> Void) {
    queue.async { [self] in
      do throws(ProtocolError) {
        try writes.checkAdmission()
        let id: AlertID
        var isNew = false
        if call.action == .create {
          (id, isNew) = try create(call)
        } else {
          id = try change(call)
        }
        writes.wait { [self, isNew] result in
          reply(
            result.flatMap { () -> Answer<AlertOutcome> in
              if call.action == .delete { return .success(.removed(id)) }
              // Another device may have deleted it in the meantime.
              guard let text = entries[id]?.shown else { return .failure(DocumentKind.alert.unknown(id.text)) }
              return .success(.alert(text, isNew: isNew))
            })
        }
      } catch {
        owners.forgetIfIdle(call.owner)
        reply(.failure(error))
      }
      settle()
    }
  }

  // MARK: Reading

  /// An owner's rules, oldest first, as they are in the store.
  package func list(_ subject: String, reply: @escaping @Sendable ([UInt8]) -> Void) {
    queue.async { [self] in
      var out = ByteBuffer(capacity: 4096)
      let document = document(of: owners[subject])
      out.append(document.head)
      for (index, entry) in document.entries.enumerated() {
        if index > 0 { out.append(UInt8(ascii: ",")) }
        out.append(entry.text.unsafeBytes)
      }
      out.append("],\"limit\":")
      out.append(integer: Int64(limits.rulesOfOwner))
      out.append(UInt8(ascii: "}"))
      reply(out.takeBytes())
    }
  }

  package func read(_ text: String, of subject: String, reply: @escaping @Sendable (Answer<AlertText>) -> Void) {
    queue.async { [self] in
      guard let id = AlertID(text: text), let shown = entry(id, of: subject)?.shown else {
        return reply(.failure(DocumentKind.alert.unknown(text)))
      }
      reply(.success(shown))
    }
  }

  /// The last firings of a rule, newest first: `{"alert":…,"firings":[…]}`. Without a store, only the newest.
  package func firings(of text: String, subject: String, reply: @escaping @Sendable (Answer<[UInt8]>) -> Void) {
    queue.async { [self] in
      guard let id = AlertID(text: text), let entry = entry(id, of: subject), entry.shown != nil else {
        return reply(.failure(DocumentKind.alert.unknown(text)))
      }
      guard let store else { return reply(.success(Self.body(id, entry.newest.map { [$0] } ?? []))) }
      // Reading the file may be slow, and the desk must process prices.
      let isTaken = reader.read {
        do throws(DataFileError) {
          reply(.success(Self.body(id, try store.firings(of: id))))
        } catch {
          reply(.failure(.unreadable))
        }
      }
      if !isTaken { reply(.failure(.unreadable)) }
    }
  }

  private static func body(_ id: AlertID, _ firings: [StoredFiring]) -> [UInt8] {
    var out = ByteBuffer(capacity: 1024)
    out.appendObject { writer in
      writer.field("alert", id.text)
      writer.array("firings") { writer in
        for firing in firings { writer.object { firing.appendFields(to: &$0) } }
      }
    }
    return out.takeBytes()
  }

  private func entry(_ id: AlertID, of subject: String) -> Entry? {
    guard let entry = entries[id], owners.subject(of: entry.owner) == subject else { return nil }
    return entry
  }

  // MARK: Changing

  private func create(_ call: AlertCall) throws(ProtocolError) -> (AlertID, isNew: Bool) {
    guard let name = call.name, let rule = call.rule else { throw ProtocolError(.badRequest, "there is no rule") }
    let owner = owners.make(call.owner)
    let moment = moment
    if let known = try keys.made(by: call.key, of: owner, now: moment.wall) {
      guard entries[known.alert] != nil else { throw DocumentKind.alert.unknown(known.alert.text) }
      return (known.alert, false)
    }
    try checkRoom(owner, for: rule, name, beside: 0)
    do throws(AlertRuleError) { try rule.checkExpiry(now: moment.wall) } catch { throw AlertCall.refusal(error) }
    loadZone(rule.timeZone, moment)
    let id: AlertID
    do throws(AlertRuleError) {
      id = try engine.insert(rule, owner: owner, at: moment)
    } catch {
      throw AlertCall.refusal(error)
    }
    entries[id] = Entry(owner: owner, name: name, rule: rule, revision: 1, created: moment.wall)
    writes.draft.written.insert(id)
    if owners.store(owner) { writes.draft.owners.append(owner) }
    startUsing(rule)
    if let key = call.key {
      let made = StoredRequestKey(owner: owner, key: key.text, digest: key.digest, alert: id, time: moment.wall)
      keys.keep(made)
      writes.draft.keys.append(made)
    }
    return (id, true)
  }

  private func change(_ call: AlertCall) throws(ProtocolError) -> AlertID {
    guard let id = call.alert, let entry = entry(id, of: call.owner) else {
      throw DocumentKind.alert.unknown(call.alert?.text ?? "")
    }
    try DocumentKind.alert.check(call.revision, isAt: entry.revision)
    if call.action == .change || call.action == .replace {
      let (rule, name) = (call.rule ?? entry.rule, call.name ?? entry.name)
      try checkRoom(entry.owner, for: rule, name, beside: entry.shown?.bytes.count ?? 0)
    }
    let moment = moment
    do throws(AlertRuleError) {
      switch call.action {
      case .create: break
      case .change, .replace: try rewrite(id, entry, call, moment)
      case .delete:
        try engine.remove(id, at: moment)
        entries[id] = nil
        owners.resize(entry.owner, from: entry.shown?.bytes.count, to: nil)
        writes.draft.written.remove(id)
        writes.draft.touched.remove(id)
        writes.draft.removed[id] = entry.owner
        stopUsing(entry.rule)
      case .ack: try engine.acknowledge(id, through: call.through, at: moment)
      case .snooze: _ = try engine.snooze(id, seconds: call.seconds ?? 60, at: moment)
      case .pause: try engine.pause(id, at: moment)
      case .resume: try engine.resume(id, at: moment)
      case .enable: try engine.enable(id, at: moment)
      case .disable: try engine.disable(id, at: moment)
      }
    } catch {
      throw AlertCall.refusal(error)
    }
    return id
  }

  private func rewrite(
    _ id: AlertID, _ entry: Entry, _ call: AlertCall, _ moment: AlertMoment
  ) throws(AlertRuleError) {
    let rule = call.rule ?? entry.rule
    if let new = call.rule, new != entry.rule {
      try new.checkExpiry(now: moment.wall)
      loadZone(new.timeZone, moment)
      try engine.replace(id, by: new, at: moment)
      startUsing(new)
      stopUsing(entry.rule)
    }
    entries[id]?.rule = rule
    if let name = call.name { entries[id]?.name = name }
    entries[id]?.revision += 1
    writes.draft.written.insert(id)
  }

  /// Refuses a rule with which the owner's snapshot would be too large.
  /// - Parameter old: bytes of the text that it replaces.
  private func checkRoom(
    _ owner: AlertOwner, for rule: AlertRule, _ name: String, beside old: Int
  ) throws(ProtocolError) {
    // Only the rule and the name vary in length; the rest of a text has less than 512 bytes.
    let bytes = rule.json.utf8.count + 6 * name.utf8.count + 512
    guard owners.bytes(of: owner) - old + bytes <= Self.ownerBytes else {
      throw ProtocolError(
        .tooManyAlerts, "your alerts would have more than \(Self.ownerBytes) bytes", hint: "delete some first")
    }
  }
}
