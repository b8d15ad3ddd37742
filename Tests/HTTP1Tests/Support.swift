import Bytes
import Testing

@testable import HTTP1

/// A request or response as seen by a test; what is wrong ends the list as `refused`.
enum Message: Equatable, CustomStringConvertible {
  case request(String, String, [HTTPField], [UInt8])
  case response(Int, String, [HTTPField], [UInt8])
  case refused(Int)

  /// What it was refused with, nil if it was not.
  var status: Int? { if case .refused(let status) = self { status } else { nil } }

  var description: String {
    switch self {
    case .request(let method, let target, let fields, let body): "\(method) \(target) \(fields.count) fields, \(body)"
    case .response(let status, let reason, let fields, let body): "\(status) \(reason) \(fields.count) fields, \(body)"
    case .refused(let status): "refused \(status)"
    }
  }
}

func requests(_ reads: [[UInt8]], limits: HTTPLimits = .init()) -> [Message] {
  var parser = HTTPRequestParser(limits: limits)
  var messages: [Message] = []
  for read in reads where !feed(read, to: &parser, into: &messages) { break }
  return messages
}

/// False once the parser has refused something.
func feed(_ read: [UInt8], to parser: inout HTTPRequestParser, into messages: inout [Message]) -> Bool {
  read.withUnsafeBytes { bytes in
    var input = bytes
    do throws(HTTPError) {
      while let whole = try parser.next(&input) {
        messages.append(.request(whole.head.method, whole.head.target, whole.head.fields.fields, whole.body))
      }
      if !input.isEmpty { Issue.record("next returned nil and left \(input.count) bytes") }
      return true
    } catch {
      messages.append(.refused(error.status))
      return false
    }
  }
}

func responses(
  _ reads: [[UInt8]], limits: HTTPLimits = .init(), isHead: Bool = false, closed: Bool = false
) -> [Message] {
  var parser = HTTPResponseParser(limits: limits, isHead: isHead)
  var messages: [Message] = []
  func append(_ whole: (head: HTTPResponseHead, body: [UInt8])) {
    messages.append(.response(whole.head.status, whole.head.reason, whole.head.fields.fields, whole.body))
  }
  do throws(HTTPError) {
    for read in reads {
      // The pointer leaves the closure only to be used while `copy` holds the bytes.
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: read.count, alignment: 1)
      defer { copy.deallocate() }
      copy.copyBytes(from: read)
      var input = UnsafeRawBufferPointer(copy)
      while let whole = try parser.next(&input) { append(whole) }
    }
    if closed, let whole = try parser.finish() { append(whole) }
  } catch {
    messages.append(.refused(error.status))
  }
  return messages
}

/// `bytes` cut at each of `cuts`.
func pieces(_ bytes: [UInt8], at cuts: [Int]) -> [[UInt8]] {
  var result: [[UInt8]] = []
  var last = 0
  for cut in cuts.sorted() + [bytes.count] {
    result.append(Array(bytes[last..<cut]))
    last = cut
  }
  return result
}

func encoded(_ body: (inout ByteBuffer) -> Void) -> [UInt8] {
  var buffer = ByteBuffer()
  body(&buffer)
  return Array(buffer.unsafeBytes)
}
