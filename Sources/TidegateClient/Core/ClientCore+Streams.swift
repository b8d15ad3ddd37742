/// What the gateway says of all streams: where they went, and how much was sent.
extension ClientCore {
  /// What is known of one stream of the gateway.
  struct Stream {
    var item: Item
    var priceIncrement: ExactDecimal?
    /// Of the numbering that `seq` belongs to.
    var epoch: String?
    var seq: UInt64?
    /// A book or sparkline that has a snapshot to be changed; all others are whole in each message.
    var hasSnapshot = false
    /// When to subscribe again if no snapshot came after a gap.
    var gapDeadline: UInt64?
    var sparkline: Sparkline?
  }

  /// The subscription of each `from` is another stream from here on; its snapshot follows.
  mutating func moved(_ moves: [ServerMessage.Accepted], into actions: inout [ClientAction]) {
    // All are taken away before any is put back: a number may be both the old one of one and the new one of another.
    let taken = moves.compactMap { move -> (move: ServerMessage.Accepted, from: Int64, item: Item)? in
      guard let from = move.from, from != move.stream, let item = streams.removeValue(forKey: from)?.item else {
        return nil
      }
      gapped.remove(from)
      return (move, from, item)
    }
    for (move, from, item) in taken {
      streams[move.stream] = Stream(
        item: item, priceIncrement: move.priceIncrement, epoch: move.epoch, seq: move.seq)
      gapped.remove(move.stream)
      let info = TidegateEvent.StreamInfo(
        channel: item.channel, symbol: item.symbol, stream: move.stream, reason: "")
      actions.append(.emit(.moved(info, from: from)))
    }
  }

  /// One more snapshot or update has come. What a gateway says that it has sent may be any number, also the largest.
  mutating func countData() { if received < .max { received += 1 } }

  /// Data that the gateway sent and that did not come, of any stream: nothing that is shown can be trusted.
  mutating func compare(_ sent: Int64, now: UInt64, into actions: inout [ClientAction]) {
    guard sent != received else { return }
    received = sent
    let keys = streams.keys.sorted()
    for key in keys {
      guard let item = streams[key]?.item else { continue }
      let info = TidegateEvent.StreamInfo(channel: item.channel, symbol: item.symbol, stream: key, reason: "")
      actions.append(.emit(.gap(info)))
    }
    subscribeAgain(keys, now: now, into: &actions)
  }
}
