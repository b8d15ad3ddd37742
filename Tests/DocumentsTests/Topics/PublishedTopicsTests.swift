import Foundation
import GRDB
import History
import Logging
import MarketData
import PubSub
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
}
