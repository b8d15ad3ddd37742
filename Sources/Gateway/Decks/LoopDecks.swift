import Decks
import Documents
import HTTPAPI
import MarketData
import PubSub
import Transport

/// Shows streams the card of the day, and turns it. Owned by its node's loop; loop 0 publishes.
final class LoopDecks: MarketObserver {
  private unowned let node: LoopNode
  private var board = DeckBoard()

  init(node: LoopNode) { self.node = node }

  /// A deck in a zone got its first subscriber, or lost its last one.
  func demand(_ demand: StreamDocumentDemand) {
    node.loop.assertOnLoop()
    switch demand {
    case .wanted(let name):
      board.want(name)
      advance()
      // Starts a turn now: otherwise the frames would wait for the next tick.
      node.loop.execute {}
    case .unwanted(let name): board.release(name)
    }
  }

  /// Call when decks were added, removed or changed. On loop 0.
  func changed() {
    board.decksChanged()
    advance()
  }

  /// Replaces the cards whose day has ended; about ten times a second.
  func everyTick(_ now: Timestamp) { advance() }

  private func advance() {
    let desk = node.settings.decks
    board.advance(to: node.loop.wallTime, { desk.shown($0, zone: $1, now: $2) }) { name, text in
      let document = StreamDocument(head: String(decoding: text, as: UTF8.self), tail: "")
      node.publisher.replace(document, of: name, now: node.clock.now(), into: &node.work.outgoing)
    }
  }
}
