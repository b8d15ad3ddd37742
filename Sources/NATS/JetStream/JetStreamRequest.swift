import Bytes

/// A request to JetStream, the part of a NATS server that stores messages: a subject and a JSON body. Publish it with a
/// reply, and read the answer with `JetStreamAnswer`. Only what servers from 2.9 on have is used.
package struct JetStreamRequest: Sendable, Equatable {
  package let subject: NATSSubject
  package let body: [UInt8]

  /// Creates a stream, or finds that it exists with the same settings.
  package static func create(_ stream: JetStreamConfiguration) -> JetStreamRequest {
    JetStreamRequest(api: "STREAM.CREATE", stream.name) { json in
      json.field("name", stream.name.description)
      json.field("subjects", stream.subjects.map(\.description))
      json.field("retention", "limits")
      json.field("discard", "old")
      json.field("storage", stream.isInMemory ? "memory" : "file")
      json.field("num_replicas", stream.replicas)
      json.field("max_msgs", stream.messages)
      json.field("max_bytes", stream.bytes)
      if let kept = stream.messagesPerSubject { json.field("max_msgs_per_subject", kept) }
      json.field("duplicate_window", stream.duplicateWindow * 1_000)
    }
  }

  /// The settings and the extent of a stream.
  package static func info(_ stream: NATSSubject) -> JetStreamRequest {
    JetStreamRequest(api: "STREAM.INFO", stream) { _ in }
  }

  /// The last message of a subject, from the stream's leader: it is never older than an acknowledged one.
  package static func last(of subject: NATSSubject, in stream: NATSSubject) -> JetStreamRequest {
    JetStreamRequest(api: "STREAM.MSG.GET", stream) { $0.field("last_by_subj", subject.description) }
  }

  /// The first message from `sequence` on whose subject matches.
  package static func next(
    from sequence: UInt64, matching pattern: NATSSubjectPattern, in stream: NATSSubject
  ) -> JetStreamRequest {
    JetStreamRequest(api: "STREAM.MSG.GET", stream) { json in
      json.field("seq", max(1, sequence))
      json.field("next_by_subj", pattern.description)
    }
  }

  private init(api: String, _ stream: NATSSubject, _ body: (inout JSONObjectWriter) -> Void) {
    // A stream's name is one token, so this is a subject.
    do throws(NATSSubjectError) {
      subject = try NATSSubject("$JS.API.\(api).\(stream)")
    } catch { preconditionFailure("\(stream) is not the name of a stream") }
    var json = JSONObjectWriter()
    json.object(nil, body)
    self.body = json.takeBytes()
  }
}

/// The settings of a stream.
package struct JetStreamConfiguration: Sendable, Equatable {
  /// One token.
  package var name: NATSSubject
  package var subjects: [NATSSubjectPattern]
  package var replicas: Int
  /// The oldest messages beyond these are dropped.
  package var messages: Int64
  package var bytes: Int64
  /// Nil: as many as the stream holds. 1 makes a store of last values.
  package var messagesPerSubject: Int64?
  /// How long a repeated `Nats-Msg-Id` is refused, µs.
  package var duplicateWindow: Int64
  package var isInMemory: Bool

  package init(
    name: NATSSubject, subjects: [NATSSubjectPattern], replicas: Int = 1, messages: Int64 = 1_000_000,
    bytes: Int64 = 1 << 30, messagesPerSubject: Int64? = nil, duplicateWindow: Int64 = 120_000_000,
    isInMemory: Bool = false
  ) {
    precondition(!name.bytes.contains(UInt8(ascii: ".")) && (1...5).contains(replicas) && messages > 0 && bytes > 0)
    self.name = name
    self.subjects = subjects
    self.replicas = replicas
    self.messages = messages
    self.bytes = bytes
    self.messagesPerSubject = messagesPerSubject
    self.duplicateWindow = duplicateWindow
    self.isInMemory = isInMemory
  }
}
