import Foundation
import GRDB
import History
import Logging
import MarketData
import PubSub
import Synchronization
import Testing

@testable import Documents

@Suite("Topics in the data file")
struct PublishedTopicsTests {
  @Test(
    "documents, their numbers and the epoch are there after a restart; older ones are forgotten in the file as well")
  func restart() throws {
    let folder = NSTemporaryDirectory() + "tidegate-topics-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var limits = TopicBoard.Limits()
    (limits.kept, limits.topicBytes) = (3, 40)
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    func run(_ epoch: String, _ documents: [String]) throws -> (epoch: String, page: String) {
      let file = try DataFile(path: folder + "/history.sqlite", parts: SchemaPart.all, stamp: nil)
      defer { file.close() }
      let topics = PublishedTopics(file, limits: limits, epoch: epoch, log: log)
      for document in documents {
        let done = DispatchSemaphore(value: 0)
        topics.publish(Array(document.utf8), to: "a", now: Timestamp(microseconds: 5)) { outcome in
          if case .failure(let problem) = outcome { #expect("\(problem)".contains("malformed"), "\(document)") }
          done.signal()
        }
        done.wait()
      }
      let rows = try file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM topic_document") } ?? 0
      let page = try #require(topics.read("a", after: 0, limit: 100))
      let shown = String(decoding: page.text, as: UTF8.self)
      #expect(shown.components(separatedBy: "\"document\":").count - 1 == rows, "the file keeps what memory does")
      return (topics.epoch, shown)
    }
    let first = try run("e1", ["1", "2", "3", "4", "5", "{"])
    #expect(first.page.contains("\"number\":5,\"lost\":2,\"documents\":[{\"number\":3,"), "\(first.page)")
    let second = try run("e2", [])
    #expect(second.epoch == "e1" && second.page == first.page)
    // The newest is kept however large it is; those before it go.
    let third = try run("e3", ["\"\(String(repeating: "x", count: 50))\""])
    #expect(third.epoch == "e1" && third.page.contains("\"number\":6,\"lost\":5,"), "\(third.page)")
    let fourth = try run("e4", ["7"])
    #expect(fourth.page.contains("\"number\":7,\"lost\":6,"), "\(fourth.page)")
  }

  @Test("a file that replaced a damaged one gets all documents and their epoch with the next one")
  func damage() throws {
    let folder = NSTemporaryDirectory() + "tidegate-topics-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    func open() throws -> DataFile {
      try DataFile(path: folder + "/history.sqlite", parts: SchemaPart.all, stamp: nil)
    }
    let file = try open()
    let topics = PublishedTopics(file, epoch: "e1", log: log)
    func publish(_ document: String, to name: String) {
      let done = DispatchSemaphore(value: 0)
      topics.publish(Array(document.utf8), to: name, now: Timestamp(microseconds: 5)) { _ in done.signal() }
      done.wait()
    }
    publish("1", to: "a")
    publish("2", to: "b")
    try file.replaceDamaged(stamp: "now")
    publish("3", to: "b")
    file.close()
    let again = try open()
    defer { again.close() }
    let second = PublishedTopics(again, epoch: "e2", log: log)
    #expect(second.epoch == "e1")
    for name in ["a", "b"] {
      let (old, new) = (topics.read(name, after: 0, limit: 10), second.read(name, after: 0, limit: 10))
      #expect(old != nil && old?.text == new?.text && old?.tag == new?.tag, "\(name)")
    }
  }

  @Test("documents that arrive while one is written are written together, and answered in the order of their numbers")
  func batches() throws {
    let folder = NSTemporaryDirectory() + "tidegate-topics-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = try DataFile(path: folder + "/history.sqlite", parts: SchemaPart.all, stamp: nil)
    defer { file.close() }
    let topics = PublishedTopics(file, epoch: "e", log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let numbers = Mutex<[UInt64]>([])
    let (gate, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    _ = file.submit({ _ in gate.wait() }, completion: { _ in })
    for number in 1...50 {
      topics.publish(Array("\(number)".utf8), to: "a", now: Timestamp(microseconds: 5)) { outcome in
        if case .success(let news) = outcome { numbers.withLock { $0.append(news.number) } }
        if number == 50 { done.signal() }
      }
    }
    #expect(topics.read("a", after: 0, limit: 100) == nil, "nothing is shown before it is written")
    gate.signal()
    done.wait()
    #expect(numbers.withLock { $0 } == Array(1...50))
    #expect(try file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM topic_document") } == 50)
  }
}
