import Bytes

/// Writes the operations of a client into a caller's buffer, so that a turn's messages go out in one send. Nothing is
/// allocated once the buffer has grown.
///
/// Subjects are checked when they are made (`NATSSubject`), so nothing is checked here. `NATSConnection` writes with
/// these functions and knows the server's limits.
package enum NATSEncoder {
  /// Appends `PUB`, or `HPUB` if there are headers: `headers` is a whole block with its version line (`NATSHeaders`).
  @inline(__always)
  package static func publish(
    _ subject: NATSSubject, reply: NATSSubject? = nil, headers: UnsafeRawBufferPointer? = nil,
    payload: UnsafeRawBufferPointer, to out: inout ByteBuffer
  ) {
    // One check of the room for all: 5 + 2 spaces + two numbers of at most 20 digits + 2 × CR LF.
    let headerCount = headers?.count ?? 0
    out.reserve(subject.bytes.count &+ (reply?.bytes.count ?? 0) &+ headerCount &+ payload.count &+ 64)
    publishLine(subject, reply: reply, headerCount: headers.map(\.count), size: headerCount &+ payload.count, to: &out)
    if let headers { out.append(headers) }
    out.append(payload)
    out.append("\r\n")
  }

  /// Appends the line of a message. The caller then appends exactly `size` bytes, headers first, and CR LF: for
  /// payloads that are made of several parts.
  @inline(__always)
  package static func publishLine(
    _ subject: NATSSubject, reply: NATSSubject? = nil, headerCount: Int? = nil, size: Int, to out: inout ByteBuffer
  ) {
    if headerCount == nil { out.append("PUB ") } else { out.append("HPUB ") }
    out.append(subject.bytes)
    out.append(UInt8(ascii: " "))
    if let reply {
      out.append(reply.bytes)
      out.append(UInt8(ascii: " "))
    }
    if let headerCount {
      out.append(integer: UInt64(truncatingIfNeeded: headerCount))
      out.append(UInt8(ascii: " "))
    }
    out.append(integer: UInt64(truncatingIfNeeded: size))
    out.append("\r\n")
  }

  package static func subscribe(
    _ subject: NATSSubjectPattern, queue: NATSSubject? = nil, number: UInt64, to out: inout ByteBuffer
  ) {
    out.append("SUB ")
    out.append(subject.bytes)
    out.append(UInt8(ascii: " "))
    if let queue {
      out.append(queue.bytes)
      out.append(UInt8(ascii: " "))
    }
    out.append(integer: number)
    out.append("\r\n")
  }

  package static func unsubscribe(_ number: UInt64, to out: inout ByteBuffer) {
    out.append("UNSUB ")
    out.append(integer: number)
    out.append("\r\n")
  }

  package static func ping(to out: inout ByteBuffer) { out.append("PING\r\n") }
  package static func pong(to out: inout ByteBuffer) { out.append("PONG\r\n") }
}
