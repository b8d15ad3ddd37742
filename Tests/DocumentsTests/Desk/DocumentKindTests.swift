import PubSub
import Testing

@testable import Documents

@Suite("Kinds of documents")
struct DocumentKindTests {
  private func code(_ body: () throws -> Void) -> ProtocolError.Code? {
    do { try body() } catch { return (error as? ProtocolError)?.code }
    return nil
  }

  @Test(
    "one grammar of tags: a revision, and a digest where the text changes without it",
    arguments: [
      ("\"7\"", 7), ("\"7.00f1\"", 7), ("\"0\"", 0), ("*", nil), ("", nil), ("\"\"", nil), ("7", nil), ("W/\"7\"", nil),
      ("\"7\",\"8\"", nil), ("\"x\"", nil), ("\".7\"", nil), ("\"9223372036854775808\"", nil), ("\"", nil),
    ] as [(String, Int64?)])
  func tags(field: String, revision: Int64?) throws {
    for kind in [DocumentKind.alert, .portfolio] {
      if field == "*" || revision != nil {
        #expect(try kind.revision(ifMatch: field) == revision)
      } else {
        #expect(code { _ = try kind.revision(ifMatch: field) } == .changed)
      }
      #expect(try kind.revision(ifMatch: nil) == nil)
    }
  }

  @Test("a document's own tag names its revision")
  func ownTags() throws {
    #expect(RevisionTag.text(3) == "\"3\"")
    for tag in [RevisionTag.text(3), RevisionTag.text(3, [1, 2])] { #expect(RevisionTag.revision(in: tag) == 3) }
    #expect(RevisionTag.text(3, [1]) != RevisionTag.text(3, [2]))
    #expect(RevisionTag.text(ofList: [1]) != RevisionTag.text(ofList: [2]))
  }

  @Test("a change is made only at the demanded revision")
  func revisions() {
    #expect(code { try DocumentKind.alert.check(nil, isAt: 3) } == nil)
    #expect(code { try DocumentKind.alert.check(3, isAt: 3) } == nil)
    #expect(code { try DocumentKind.portfolio.check(2, isAt: 3) } == .changed)
  }

  @Test("names have 1 to 100 letters, of at most four bytes each on average")
  func names() {
    for name in [nil, "a", String(repeating: "a", count: 100), String(repeating: "😀", count: 100)] {
      #expect(code { try DocumentKind.alert.check(name: name) } == nil)
    }
    for name in ["", String(repeating: "a", count: 101), String(repeating: "👨‍👩‍👧", count: 100)] {
      #expect(code { try DocumentKind.alert.check(name: name) } == .invalidAlert)
      #expect(code { try DocumentKind.portfolio.check(name: name) } == .invalidPortfolio)
    }
  }

  @Test("an unknown document's refusal says which kind, with the code of that kind")
  func unknown() {
    #expect(DocumentKind.alert.unknown("1").code == .unknownAlert)
    #expect(DocumentKind.portfolio.unknown("1").code == .unknownPortfolio)
    #expect(
      DocumentKind.webhook.unknown(String(repeating: "9", count: 41)).message
        == "you have no webhook `\(String(repeating: "9", count: 40))`")
  }
}
