import Alerts

/// The owners of alerts and webhooks: by subject, as a grant names them, and by number, as the engine and the store do.
/// A value.
struct AlertOwners {
  private struct Entry {
    var subject: String
    /// Bytes of the texts of its rules.
    var bytes = 0
    /// Whether a stream shows its rules.
    var isWatched = false
    /// Whether the owner has, or had, a rule or a webhook: then it keeps its number.
    var isStored = false
  }

  private var entries: [AlertOwner: Entry] = [:]
  private var subjects: [String: AlertOwner] = [:]
  private var next: UInt32 = 1

  /// - Parameters:
  ///   - stored: owners with their subjects.
  ///   - others: owners whose own row may be missing. Their numbers go to nobody else.
  init(_ stored: [(owner: AlertOwner, subject: String)] = [], others: some Sequence<AlertOwner> = []) {
    for (owner, subject) in stored {
      entries[owner] = Entry(subject: subject, isStored: true)
      subjects[subject] = owner
    }
    next = (stored.map(\.owner.rawValue) + others.map(\.rawValue)).max().map { $0 + 1 } ?? 1
  }

  var count: Int { entries.count }

  /// The owners that the store has.
  var stored: [AlertOwner] { entries.filter(\.value.isStored).map(\.key) }

  func subject(of owner: AlertOwner) -> String? { entries[owner]?.subject }
  func bytes(of owner: AlertOwner) -> Int { entries[owner]?.bytes ?? 0 }
  func isWatched(_ owner: AlertOwner) -> Bool { entries[owner]?.isWatched == true }

  subscript(subject: String) -> AlertOwner? { subjects[subject] }

  /// The owner of a subject, made if it does not exist. It is stored with its first rule or webhook.
  mutating func make(_ subject: String) -> AlertOwner {
    if let owner = subjects[subject] { return owner }
    let owner = AlertOwner(rawValue: next)
    next += 1
    subjects[subject] = owner
    entries[owner] = Entry(subject: subject)
    return owner
  }

  /// Marks an owner as stored; true if it was not before.
  mutating func store(_ owner: AlertOwner) -> Bool {
    guard entries[owner]?.isStored == false else { return false }
    entries[owner]?.isStored = true
    return true
  }

  /// The text of a rule has another size.
  mutating func resize(_ owner: AlertOwner, from old: Int?, to new: Int?) {
    entries[owner]?.bytes += (new ?? 0) - (old ?? 0)
  }

  mutating func watch(_ owner: AlertOwner, _ isWatched: Bool) { entries[owner]?.isWatched = isWatched }

  /// An owner that only read, or was refused, leaves no state.
  mutating func forgetIfIdle(_ subject: String) {
    guard let owner = subjects[subject], let entry = entries[owner], !entry.isStored, !entry.isWatched else { return }
    entries[owner] = nil
    subjects[subject] = nil
  }
}
