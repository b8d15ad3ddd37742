import History
import PubSub

/// The changes that one transaction writes.
protocol WriteDraft {
  init()
  var isEmpty: Bool { get }
}

/// A desk's writes, as a value. It collects changes in a draft, and has one transaction under way at a time.
///
/// A request gets its answer when the transaction with its changes has ended. If the file was damaged and replaced by
/// an empty one, the next transaction writes everything again.
struct DocumentQueue<Draft: WriteDraft> {
  typealias Completion = @Sendable (Result<Void, ProtocolError>) -> Void

  /// A draft that is written, with the requests that wait for it.
  struct Transaction {
    var draft: Draft
    fileprivate let completions: [Completion]
    fileprivate let setAside: Int

    func answer(_ result: Result<Void, ProtocolError>) {
      for completion in completions { completion(result) }
    }
  }

  /// What changed since the transaction under way began.
  var draft = Draft()
  /// Why the last transaction failed, until it is tried again; nil: it did not.
  private(set) var failure: DataFileError?
  private(set) var hasEnded = false
  private var completions: [Completion] = []
  private var underWay: Transaction?
  /// How many damaged files had been set aside when everything was last written.
  private var setAside: Int

  /// - Parameter file: nil: nothing is stored.
  init(_ file: DataFile?) { setAside = file?.setAside.count ?? 0 }

  /// Whether a transaction is under way.
  var isWriting: Bool { underWay != nil }

  /// Whether `begin` begins a transaction if there is something to write.
  var isReady: Bool { underWay == nil && failure == nil }

  /// Whether nothing is, or is to be, written.
  var isIdle: Bool { isReady && draft.isEmpty && completions.isEmpty }

  /// Refuses a change that would wait for a failing disk, or for too many others.
  func checkAdmission() throws(ProtocolError) {
    guard failure == nil, !hasEnded, completions.count < DataFile.submissionLimit else { throw .unwritten }
  }

  /// Adds a request that waits for the draft.
  mutating func wait(_ completion: @escaping Completion) { completions.append(completion) }

  /// Takes the draft to write it now; nil: it is empty, or must wait.
  /// - Parameters:
  ///   - file: nil: nothing is stored. Call `end` at once.
  ///   - everything: adds all that the file must have.
  mutating func begin(_ file: DataFile?, everything: (inout Draft) -> Void) -> Transaction? {
    guard isReady, !isIdle else { return nil }
    let found = file?.setAside.count ?? 0
    if found != setAside { everything(&draft) }
    let transaction = Transaction(draft: draft, completions: completions, setAside: found)
    (draft, completions, underWay) = (Draft(), [], transaction)
    return transaction
  }

  /// The transaction under way has ended. Answer its requests.
  mutating func end(isWritten: Bool) -> Transaction? {
    defer { underWay = nil }
    if isWritten, let underWay { setAside = underWay.setAside }
    return underWay
  }

  /// Waits after a failed transaction: nothing is written until `retry`.
  /// - Parameter again: the draft that contains its changes as well.
  mutating func pause(_ reason: DataFileError, again: Draft) {
    failure = reason
    draft = again
  }

  mutating func retry() { failure = nil }

  /// Takes what will not be written any more: the last transaction has failed.
  mutating func abandon() -> Transaction {
    defer { (draft, completions) = (Draft(), []) }
    return Transaction(draft: draft, completions: completions, setAside: setAside)
  }

  /// Admits no more changes. What is in the draft is written, even after a failure.
  mutating func finish() {
    hasEnded = true
    failure = nil
  }
}
