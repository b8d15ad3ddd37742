import Foundation
import History
import PubSub
import Synchronization
import Testing

@testable import Documents

@Suite("What a desk writes")
struct DocumentQueueTests {
  private struct Draft: WriteDraft, Equatable {
    var changes: [Int] = []
    var isEmpty: Bool { changes.isEmpty }
  }

  private static let failure = DataFileError.full(path: "a")

  private final class Answers: Sendable {
    let all = Mutex<[String]>([])
    func of(_ change: Int) -> DocumentQueue<Draft>.Completion {
      { [self] result in
        var isWritten = false
        if case .success = result { isWritten = true }
        all.withLock { $0.append("\(change) \(isWritten)") }
      }
    }
  }

  @Test("one transaction is under way at a time; what changes in the meantime is in the next one")
  func order() {
    var queue = DocumentQueue<Draft>(nil)
    let answers = Answers()
    queue.draft.changes = [1]
    queue.wait(answers.of(1))
    let first = queue.begin(nil) { _ in }
    #expect(first?.draft.changes == [1] && queue.isWriting)
    queue.draft.changes = [2]
    queue.wait(answers.of(2))
    #expect(queue.begin(nil, everything: { _ in })?.draft == nil)
    queue.end(isWritten: true)?.answer(.success(()))
    #expect(answers.all.withLock { $0 } == ["1 true"] && !queue.isIdle)
    #expect(queue.begin(nil, everything: { _ in })?.draft.changes == [2])
    queue.end(isWritten: false)?.answer(.failure(.unwritten))
    #expect(answers.all.withLock { $0 } == ["1 true", "2 false"] && queue.isIdle)
    #expect(queue.begin(nil, everything: { _ in })?.draft == nil, "nothing is left")
  }

  @Test("a request without a change waits for what is written before it")
  func barrier() {
    var queue = DocumentQueue<Draft>(nil)
    let answers = Answers()
    queue.wait(answers.of(1))
    #expect(queue.begin(nil, everything: { _ in })?.draft.isEmpty == true)
    queue.end(isWritten: true)?.answer(.success(()))
    #expect(answers.all.withLock { $0 } == ["1 true"])
  }

  @Test("while the disk fails changes are refused, and a retry writes those that were kept")
  func failure() throws {
    var queue = DocumentQueue<Draft>(nil)
    queue.draft.changes = [1]
    _ = queue.begin(nil) { _ in }
    queue.draft.changes = [2]
    let ended = queue.end(isWritten: false)
    let failed = try #require(ended)
    queue.pause(Self.failure, again: Draft(changes: failed.draft.changes + queue.draft.changes))
    #expect(queue.begin(nil, everything: { _ in })?.draft == nil)
    #expect(throws: ProtocolError.unwritten) { try queue.checkAdmission() }
    queue.retry()
    try queue.checkAdmission()
    #expect(queue.begin(nil, everything: { _ in })?.draft.changes == [1, 2])
  }

  @Test("after the end nothing is admitted, and what can no longer be written is answered")
  func end() {
    var queue = DocumentQueue<Draft>(nil)
    let answers = Answers()
    queue.wait(answers.of(1))
    queue.finish()
    #expect(throws: ProtocolError.unwritten) { try queue.checkAdmission() }
    queue.abandon().answer(.failure(.unwritten))
    #expect(answers.all.withLock { $0 } == ["1 false"] && queue.isIdle)
  }

  @Test("no more requests than the limit wait")
  func limit() throws {
    var queue = DocumentQueue<Draft>(nil)
    for _ in 0..<DataFile.submissionLimit {
      try queue.checkAdmission()
      queue.wait { _ in }
    }
    #expect(throws: ProtocolError.unwritten) { try queue.checkAdmission() }
    _ = queue.begin(nil) { _ in }
    try queue.checkAdmission()
  }

  @Test("a file that replaced a damaged one gets everything, until that is written")
  func damage() throws {
    let folder = NSTemporaryDirectory() + "tidegate-queue-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = try DataFile(path: folder + "/history.sqlite", parts: SchemaPart.all, stamp: nil)
    defer { file.close() }
    var queue = DocumentQueue<Draft>(file)
    func write(_ change: Int, isWritten: Bool) -> [Int]? {
      queue.draft.changes = [change]
      defer { _ = queue.end(isWritten: isWritten) }
      return queue.begin(file) { $0.changes.insert(0, at: 0) }?.draft.changes
    }
    #expect(write(1, isWritten: true) == [1])
    try file.replaceDamaged(stamp: "now")
    #expect(write(2, isWritten: false) == [0, 2])
    #expect(write(3, isWritten: true) == [0, 3])
    #expect(write(4, isWritten: true) == [4])
  }
}
