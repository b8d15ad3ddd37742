import MarketData
import Recordings
import Testing

@testable import HTTPAPI

@Suite("Messages that control a replay")
struct ReplayControlTests {
  private static func read(_ text: String) -> Result<ReplayControl, ReplayControl.Problem> {
    let bytes = Array(text.utf8)
    do throws(ReplayControl.Problem) {
      return .success(try ReplayControl(bytes.span.bytes))
    } catch {
      return .failure(error)
    }
  }

  @Test("each op is read, whatever the order of its fields")
  func ops() throws {
    let ten = try #require(ReplaySpeed("10"))
    let half = try #require(ReplaySpeed("0.5"))
    let cases: [(String, ReplayControl)] = [
      (#"{"op":"pause"}"#, .pause), (#" {"x":[{}],"op":"resume"} "#, .resume),
      (#"{"time":1788000000000000,"op":"seek"}"#, .seek(Timestamp(microseconds: 1_788_000_000_000_000))),
      (#"{"op":"seek","time":0}"#, .seek(Timestamp(microseconds: 0))),
      (#"{"op":"speed","speed":10}"#, .speed(ten)), (#"{"op":"speed","speed":"0.5"}"#, .speed(half)),
      (#"{"op":"speed","speed":"max"}"#, .speed(.fastest)),
    ]
    for (text, control) in cases { #expect(Self.read(text) == .success(control), "\(text)") }
  }

  @Test("anything else is refused with what would be right")
  func refused() {
    for text in [
      "", "x", "[]", "{}", #"{"op":5}"#, #"{"op":"stop"}"#, #"{"op":"pause"}}"#, #"{"op":"pause""#,
      #"{"op":"seek"}"#, #"{"op":"seek","time":"1"}"#, #"{"op":"seek","time":-1}"#,
      #"{"op":"seek","time":9223372036854775807}"#, #"{"op":"seek","time":92233720368547758070}"#,
      #"{"op":"seek","time":1.5}"#, #"{"op":"speed"}"#, #"{"op":"speed","speed":0}"#,
      #"{"op":"speed","speed":1e300}"#, #"{"op":"speed","speed":-1}"#, #"{"op":"speed","speed":[1]}"#,
    ] {
      guard case .failure(let problem) = Self.read(text) else {
        Issue.record("\(text) was read")
        continue
      }
      #expect(!problem.message.isEmpty && !problem.hint.isEmpty, "\(text)")
    }
  }
}
