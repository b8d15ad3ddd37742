import Bytes

/// One message that is to be stored exactly once, whatever becomes of the answers: a compare-and-set on the last
/// sequence of its subject.
///
/// Publish `subject` with `headers` and `payload`, and pass on what comes. A time-out decides nothing: a write without
/// an answer may have been applied. So the last message is read back, and its id compared, before anything is
/// concluded.
package struct JetStreamAppend: Sendable {
  package enum Step: Sendable, Equatable {
    /// Publish the message (again).
    case publish
    /// Request the last message of the subject.
    case readBack
  }

  package enum Outcome: Sendable, Equatable {
    case next(Step)
    /// The message is stored, by this call or an earlier one, with this sequence.
    case stored(sequence: UInt64)
    /// Another message has taken its place: read the last one, and decide anew.
    case lost
    /// The stream refuses the message for another reason.
    case refused(JetStreamAnswer.Failure)
  }

  package let subject: NATSSubject
  package let stream: NATSSubject
  package let payload: [UInt8]
  /// The header block: the id, and the expected sequence of the subject's last message (0: there must be none).
  package let headers: [UInt8]
  package private(set) var step = Step.publish
  private let id: String
  private let expected: UInt64

  /// - Parameters:
  ///   - id: unlike that of any other message of this subject, and of any other writer, such as `alert-7/12/desk-a`.
  ///     The stream acknowledges a second message of the same id as a duplicate, so two writers with one id would both
  ///     take the message for theirs.
  ///   - expected: the sequence of the subject's last message; 0 for the first one.
  package init(_ payload: [UInt8], to subject: NATSSubject, in stream: NATSSubject, id: String, expected: UInt64) {
    self.subject = subject
    self.stream = stream
    self.payload = payload
    self.id = id
    self.expected = expected
    var block = ByteBuffer()
    NATSHeaders.append(
      [("Nats-Expected-Last-Subject-Sequence", "\(expected)"), ("Nats-Msg-Id", id)], to: &block)
    headers = block.takeBytes()
  }

  /// The request of `.readBack`.
  package var readBack: JetStreamRequest { .last(of: subject, in: stream) }

  /// The answer of the present step has arrived; nil after a time-out or a broken connection.
  package mutating func answered(_ answer: Result<JetStreamAnswer, JetStreamAnswer.Failure>?) -> Outcome {
    switch (step, answer) {
    case (.publish, .success(let ack)) where ack.sequence > 0: return .stored(sequence: ack.sequence)
    case (.publish, .failure(.wrongSequence)), (.publish, nil), (.publish, .failure(.noResponders)),
      (.publish, .failure(.malformed)), (.publish, .success):
      // A wrong sequence may be that of this message itself, if the answer to its first write was lost.
      step = .readBack
    case (.publish, .failure(let other)): return .refused(other)
    case (.readBack, .success(let last)):
      guard let message = last.message else { break }
      if message.header("Nats-Msg-Id") == id { return .stored(sequence: message.sequence) }
      guard message.sequence == expected else { return .lost }
      step = .publish
    case (.readBack, .failure(.noMessage)):
      guard expected == 0 else { return .lost }
      step = .publish
    case (.readBack, .failure(.noStream)): return .refused(.noStream)
    case (.readBack, nil), (.readBack, .failure): break
    }
    return .next(step)
  }
}

/// Reads the messages of a stream in order, one request each, and resumes after the last one that was read. It needs no
/// consumer at the server, so nothing is left there when a node dies.
package struct JetStreamReader: Sendable {
  package enum Outcome: Sendable, Equatable {
    case message(JetStreamAnswer.Message)
    /// The end of the stream: ask again when something was published, or after a while.
    case end
    /// No answer, or no leader: ask again after a wait.
    case unavailable
    case refused(JetStreamAnswer.Failure)
  }

  package let stream: NATSSubject
  package let pattern: NATSSubjectPattern
  /// The sequence of the last message that was read; 0 for none.
  package private(set) var position: UInt64

  package init(_ stream: NATSSubject, matching pattern: NATSSubjectPattern, after position: UInt64 = 0) {
    self.stream = stream
    self.pattern = pattern
    self.position = position
  }

  package var request: JetStreamRequest { .next(from: position &+ 1, matching: pattern, in: stream) }

  /// The answer to `request`; nil after a time-out. An answer with an old sequence is refused as malformed.
  package mutating func answered(_ answer: Result<JetStreamAnswer, JetStreamAnswer.Failure>?) -> Outcome {
    switch answer {
    case nil, .failure(.noResponders): return .unavailable
    case .failure(.noMessage): return .end
    case .failure(let other): return .refused(other)
    case .success(let found):
      guard let message = found.message, message.sequence > position else { return .refused(.malformed) }
      position = message.sequence
      return .message(message)
    }
  }
}
