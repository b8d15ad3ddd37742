import TestSupport
import Testing

@testable import NATS

/// A stream with the rules of JetStream that `JetStreamAppend` stands on, whose answers may be lost or late.
private struct ModelStream {
  var messages: [JetStreamAnswer.Message] = []
  var ids: [String: UInt64] = [:]

  mutating func publish(_ append: JetStreamAppend) -> Result<JetStreamAnswer, JetStreamAnswer.Failure> {
    let message = JetStreamAnswer.Message(
      subject: append.subject.bytes, sequence: UInt64(messages.count + 1), headers: append.headers,
      payload: append.payload)
    let id = message.header("Nats-Msg-Id") ?? ""
    if let known = ids[id] { return read(#"{"stream":"S","seq":\#(known),"duplicate":true}"#) }
    let last = messages.last { $0.subject == append.subject.bytes }?.sequence ?? 0
    guard message.header("Nats-Expected-Last-Subject-Sequence") == "\(last)" else { return .failure(.wrongSequence) }
    messages.append(message)
    ids[id] = message.sequence
    return read(#"{"stream":"S","seq":\#(message.sequence)}"#)
  }

  func last(_ subject: NATSSubject) -> Result<JetStreamAnswer, JetStreamAnswer.Failure> {
    guard let found = messages.last(where: { $0.subject == subject.bytes }) else { return .failure(.noMessage) }
    func base64(_ bytes: [UInt8]) -> String {
      let text = Base64.encodeURL(bytes)
      return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }
    return read(
      #"{"message":{"subject":"s","seq":\#(found.sequence),"hdrs":"\#(base64(found.headers))","data":"\#(base64(found.payload))"}}"#
    )
  }

  private func read(_ json: String) -> Result<JetStreamAnswer, JetStreamAnswer.Failure> {
    Array(json.utf8).withUnsafeBytes { bytes in
      do throws(JetStreamAnswer.Failure) { return .success(try JetStreamAnswer(json: bytes)) } catch {
        return .failure(error)
      }
    }
  }
}

@Suite("Storing a message exactly once")
struct JetStreamAppendTests {
  private let stream = subject("S")

  private func append(_ id: String, expected: UInt64, _ payload: String = "x") -> JetStreamAppend {
    JetStreamAppend(Array(payload.utf8), to: subject("al.1"), in: stream, id: id, expected: expected)
  }

  @Test("one of two writers wins, and each finds out which")
  func race() {
    var model = ModelStream()
    var (a, b) = (append("1/a", expected: 0), append("1/b", expected: 0))
    let first = model.publish(a)
    let second = model.publish(b)
    #expect(a.answered(first) == .stored(sequence: 1))
    #expect(b.answered(second) == .next(.readBack))
    #expect(b.answered(model.last(b.subject)) == .lost)
  }

  @Test("a write whose answer is lost is found when it is read back, and not written again")
  func lostAnswer() {
    var model = ModelStream()
    var a = append("1/a", expected: 0)
    _ = model.publish(a)
    #expect(a.answered(nil) == .next(.readBack))
    #expect(a.answered(nil) == .next(.readBack))
    #expect(a.answered(model.last(a.subject)) == .stored(sequence: 1))
    #expect(model.messages.count == 1)
  }

  @Test("a write that was lost is written again; one that arrives late after all is stored once")
  func lateWrite() {
    var model = ModelStream()
    var a = append("1/a", expected: 0)
    #expect(a.answered(nil) == .next(.readBack))
    #expect(a.answered(model.last(a.subject)) == .next(.publish))
    _ = model.publish(a)
    let again = model.publish(a)
    #expect(a.answered(again) == .stored(sequence: 1))
    #expect(model.messages.count == 1)
  }

  @Test("without a stream, or refused, it ends")
  func refusals() {
    var a = append("1/a", expected: 0)
    #expect(a.answered(.failure(.noStream)) == .refused(.noStream))
    #expect(a.answered(.failure(.noResponders)) == .next(.readBack))
    #expect(a.answered(.failure(.noStream)) == .refused(.noStream))
  }

  @Test("two writers of numbered messages, lost and late answers: each number is stored once", arguments: testSeeds(60))
  func exactlyOnce(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var model = ModelStream()
    // Writes that are still under way: a time-out does not take them back.
    var late: [JetStreamAppend] = []
    var writers: [(append: JetStreamAppend?, number: Int, expected: UInt64)] = [(nil, 1, 0), (nil, 1, 0)]
    var claimed: [Int: [Int]] = [:]
    for _ in 0..<600 {
      if let index = late.indices.randomElement(using: &random), Int.random(in: 0..<4, using: &random) == 0 {
        _ = model.publish(late.remove(at: index))
      }
      let who = Int.random(in: 0..<2, using: &random)
      var current =
        writers[who].append
        ?? append("\(writers[who].number)/\(who)", expected: writers[who].expected, "\(writers[who].number)")
      let fate = Int.random(in: 0..<5, using: &random)
      var answer: Result<JetStreamAnswer, JetStreamAnswer.Failure>?
      switch current.step {
      case .publish where fate == 0: late.append(current)
      case .publish where fate == 1: _ = model.publish(current)
      case .publish: answer = model.publish(current)
      case .readBack: answer = fate == 0 ? nil : model.last(current.subject)
      }
      switch current.answered(answer) {
      case .next: writers[who].append = current
      case .stored(let sequence):
        claimed[writers[who].number, default: []].append(who)
        writers[who] = (nil, writers[who].number + 1, sequence)
      case .lost:
        // Reads what the other wrote, and goes on from there.
        let last = model.messages.count
        let number = model.messages.last.flatMap { Int(String(decoding: $0.payload, as: UTF8.self)) } ?? 0
        writers[who] = (nil, number + 1, UInt64(last))
      case .refused(let failure): Issue.record("\(failure)")
      }
    }
    let numbers = model.messages.map { String(decoding: $0.payload, as: UTF8.self) }
    #expect(numbers == (1...max(1, numbers.count)).map(String.init), "seed \(seed)")
    #expect(numbers.count > 20)
    for (number, who) in claimed { #expect(who.count == 1, "\(number) belongs to \(who), seed \(seed)") }
  }

  @Test("a reader reads a stream in order and asks for what comes after")
  func reading() throws {
    var model = ModelStream()
    var expected: UInt64 = 0
    for number in 1...3 {
      var write = append("\(number)/a", expected: expected, "\(number)")
      guard case .stored(let sequence) = write.answered(model.publish(write)) else {
        Issue.record("lost")
        return
      }
      expected = sequence
    }
    var reader = JetStreamReader(stream, matching: pattern("al.*"))
    #expect(String(decoding: reader.request.body, as: UTF8.self) == #"{"seq":1,"next_by_subj":"al.*"}"#)
    guard case .message(let message) = reader.answered(model.last(subject("al.1"))) else {
      Issue.record("no message")
      return
    }
    #expect(message.sequence == 3 && reader.position == 3)
    // The same again is no progress.
    #expect(reader.answered(model.last(subject("al.1"))) == .refused(.malformed))
    #expect(reader.answered(.failure(.noMessage)) == .end)
    #expect(reader.answered(nil) == .unavailable)
    #expect(reader.answered(.failure(.noResponders)) == .unavailable)
  }
}
