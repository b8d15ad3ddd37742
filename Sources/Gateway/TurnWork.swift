import PubSub

/// What the turns of a loop have produced and not done yet: frames to deliver, actions of the hub, and batches for the
/// other loops. A value of one owner.
struct TurnWork {
  /// The number of subscriptions and snapshots that the publisher serves in one turn. Each takes 2 to 20 µs, and 200
  /// µs for the largest books.
  static let commandLimit = 256

  /// Published messages that wait for delivery, in order.
  var outgoing: [Delivery] = []
  var actions: [HubAction] = []
  /// By loop.
  private var outboxes: [DeliveryOutbox]
  private var commandsLeft = TurnWork.commandLimit

  init(loops: Int) { outboxes = (0..<loops).map { DeliveryOutbox(to: $0) } }

  var loopCount: Int { outboxes.count }

  /// A turn ends, so its share of commands begins.
  mutating func beginCommands() { commandsLeft = Self.commandLimit }

  /// Whether actions may be done in this turn.
  var canAct: Bool { !actions.isEmpty && commandsLeft > 0 }

  /// Counts a command; false: the turn has served its share.
  mutating func takeCommand() -> Bool {
    guard commandsLeft > 0 else { return false }
    commandsLeft -= 1
    return true
  }

  /// Puts what is for other loops into their outboxes.
  /// - Returns: what is for this one, in order. O(deliveries × loops).
  mutating func distribute(from loop: Int) -> [Delivery] {
    var own: [Delivery] = []
    for delivery in outgoing {
      let loops: UInt64 =
        switch delivery {
        case .frame(_, let loops): loops
        case .joined(_, let loop, _), .snapshot(_, let loop, _), .nothing(_, let loop, _), .missed(_, let loop):
          1 << UInt64(loop)
        }
      for index in outboxes.indices where loops & (1 << UInt64(index)) != 0 {
        if index == loop { own.append(delivery) } else { outboxes[index].append(delivery) }
      }
    }
    outgoing.removeAll(keepingCapacity: true)
    return own
  }

  /// Offers each other loop its deliveries. What a loop refuses is merged, and offered again with the next call.
  /// - Parameter offer: whether the loop takes the deliveries, of so many bytes.
  /// - Returns: whether a loop refused some.
  mutating func sendOutboxes(_ offer: (_ loop: Int, [Delivery], _ bytes: Int) -> Bool) -> Bool {
    var isHeld = false
    for index in outboxes.indices where !outboxes[index].isEmpty {
      if offer(index, outboxes[index].deliveries, outboxes[index].bytes) {
        outboxes[index].removeAll()
      } else {
        outboxes[index].merge()
        isHeld = true
      }
    }
    return isHeld
  }
}
