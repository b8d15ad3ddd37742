import Bytes
import Documents
import HTTPAPI
import MarketData
import PubSub
import Transport

/// Connects the desk of portfolios with the loops.
struct PortfolioLoopOutlet: PortfolioOutlet {
  let nodes: [LoopNode]

  /// Markets that one turn of a loop reads; a market takes about 1 µs.
  private static let chunk = 512

  func gather(
    _ symbols: Set<String>?, and others: Set<String>, completion: @escaping @Sendable ([QuotePart]) -> Void
  ) {
    let node = nodes[0]
    node.loop.execute {
      var entries: [DirectoryEntry]
      if let symbols {
        entries = symbols.union(others).sorted().compactMap { node.hub.directory.entries[$0] }
      } else {
        entries = node.hub.directory.entries.values.filter {
          $0.instrument.kind == .spot && !others.contains($0.instrument.symbol)
        }
        entries += others.sorted().compactMap { node.hub.directory.entries[$0] }
      }
      Self.gather(entries[...], [], node, completion)
    }
  }

  private static func gather(
    _ entries: ArraySlice<DirectoryEntry>, _ found: [QuotePart], _ node: LoopNode,
    _ completion: @escaping @Sendable ([QuotePart]) -> Void
  ) {
    QuoteGathering(loops: node, depth: 0, hasFigures: true).gather(Array(entries.prefix(chunk))) { parts in
      let rest = entries.dropFirst(chunk)
      guard !rest.isEmpty else { return completion(found + parts) }
      // The next chunk in another turn.
      node.loop.execute { gather(rest, found + parts, node, completion) }
    }
  }

  func publish(_ values: [(subject: PortfolioSubject, text: SharedBytes)]) {
    let node = nodes[0]
    node.loop.execute {
      for (subject, text) in values {
        let name = StreamDocumentName(subject)
        let entry = StreamDocument.Entry(key: 0, text: text)
        var update = StreamDocumentUpdate(data: text)
        update.changed = [entry]
        node.alerts.publish(update, to: name)
        node.alerts.show(StreamDocument(head: "", tail: "", entries: [entry]), as: name)
      }
    }
  }
}
