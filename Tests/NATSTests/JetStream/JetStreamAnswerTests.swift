import Testing

@testable import NATS

@Suite("Answers of JetStream")
struct JetStreamAnswerTests {
  private func answer(_ json: String) throws -> JetStreamAnswer {
    try Array(json.utf8).withUnsafeBytes { try JetStreamAnswer(json: $0) }
  }

  @Test("an acknowledgement has the sequence, and says whether the message was there before")
  func acknowledgements() throws {
    #expect(try answer(#"{"stream":"S","seq":7}"#).sequence == 7)
    let again = try answer(#"{"stream":"S","domain":"x","duplicate":true,"seq":7}"#)
    #expect(again.sequence == 7 && again.isDuplicate)
  }

  @Test("errors have their kinds")
  func errors() {
    func error(_ code: Int) -> String { #"{"error":{"code":400,"err_code":\#(code),"description":"no"}}"# }
    #expect(throws: JetStreamAnswer.Failure.wrongSequence) { try answer(error(10071)) }
    #expect(throws: JetStreamAnswer.Failure.noMessage) { try answer(error(10037)) }
    #expect(throws: JetStreamAnswer.Failure.noStream) { try answer(error(10059)) }
    #expect(throws: JetStreamAnswer.Failure.refused(code: 10023, text: "no")) { try answer(error(10023)) }
    for bad in ["", "[]", "{", #"{"seq":-1}"#, #"{"message":{"seq":1,"data":"!"}}"#, #"{"message":{}}"#] {
      #expect(throws: JetStreamAnswer.Failure.malformed, "\(bad)") { try answer(bad) }
    }
  }

  @Test("a stored message has its subject, sequence, headers and payload")
  func messages() throws {
    let found = try #require(
      try answer(
        #"{"type":"x","message":{"subject":"a.b","seq":9,"hdrs":"TkFUUy8xLjANCkE6IDENCg0K","data":"aGk=","time":"t"}}"#
      ).message)
    #expect(found.subject == Array("a.b".utf8) && found.sequence == 9 && found.payload == Array("hi".utf8))
    #expect(found.header("A") == "1" && found.header("B") == nil)
  }

  @Test("the extent of a stream")
  func extent() throws {
    let info = try answer(#"{"config":{"name":"S"},"state":{"messages":3,"first_seq":5,"last_seq":9}}"#)
    #expect(info.firstSequence == 5 && info.lastSequence == 9)
  }

  @Test("an answer with the status 503 says that nobody answers")
  func noResponders() {
    let line = "HMSG r.1 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"
    Array(line.utf8).withUnsafeBytes { bytes in
      var parser = NATSParser()
      var input = bytes
      let operation = try? parser.next(&input)
      guard case .message(let message)? = operation else {
        Issue.record("no message")
        return
      }
      #expect(throws: JetStreamAnswer.Failure.noResponders) { try JetStreamAnswer(message) }
    }
  }

  @Test("requests are those of the API")
  func requests() {
    let stream = subject("TG_C_FIRINGS")
    let last = JetStreamRequest.last(of: subject("tg.c.al.1"), in: stream)
    #expect(last.subject.description == "$JS.API.STREAM.MSG.GET.TG_C_FIRINGS")
    #expect(String(decoding: last.body, as: UTF8.self) == #"{"last_by_subj":"tg.c.al.1"}"#)
    let next = JetStreamRequest.next(from: 5, matching: pattern("tg.c.al.*"), in: stream)
    #expect(String(decoding: next.body, as: UTF8.self) == #"{"seq":5,"next_by_subj":"tg.c.al.*"}"#)
    let create = JetStreamRequest.create(
      JetStreamConfiguration(name: stream, subjects: [pattern("tg.c.al.*")], replicas: 3, isInMemory: true))
    #expect(create.subject.description == "$JS.API.STREAM.CREATE.TG_C_FIRINGS")
    #expect(
      String(decoding: create.body, as: UTF8.self).hasPrefix(
        #"{"name":"TG_C_FIRINGS","subjects":["tg.c.al.*"],"retention":"limits","discard":"old","storage":"memory""#))
    #expect(JetStreamRequest.info(stream).subject.description == "$JS.API.STREAM.INFO.TG_C_FIRINGS")
  }
}
