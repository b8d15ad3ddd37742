import Bytes
import PubSub
import Transport

/// Answers `/v1/instruments`, a piece of the list at a time, so that a long one takes many short turns. Owned by one
/// loop.
final class InstrumentsAnswer {
  /// Instruments that one turn writes: some 100 µs.
  static let piece = 256

  private var list: InstrumentList
  private let node: LoopNode
  private let tag: String
  private let completion: (MarketAnswer.Outcome) -> Void
  private var out = ByteBuffer(capacity: 4096)
  private var next = 0

  init(_ list: InstrumentList, node: LoopNode, completion: @escaping (MarketAnswer.Outcome) -> Void) {
    self.list = list
    self.node = node
    self.completion = completion
    var tag = ContentTag(run: node.settings.run)
    tag.add(list.tag)
    self.tag = EntityTag.text(tag)
  }

  /// - Parameter known: the values of `If-None-Match`.
  func begin(known: [String]) {
    if let held = EntityTag.match(known, tag) { return completion(.unchanged(tag: held)) }
    if let body = node.compressor.cache.body(tag) { return completion(.body(body, tag: tag)) }
    list.sort()
    out.append("{\"instruments\":[")
    advance()
  }

  private func advance() {
    let end = min(list.entries.count, next + Self.piece)
    if next > 0, next < end { out.append(UInt8(ascii: ",")) }
    list.append(next..<end, to: &out)
    next = end
    if end < list.entries.count {
      let rest = UncheckedTransfer(value: { [self] in advance() })
      return node.loop.execute { rest.value() }
    }
    out.append("]}\n")
    let body = out.takeBytes()
    out.release()
    node.compressor.cache.keep(body, as: tag)
    completion(.body(body, tag: tag))
  }
}
