import MarketData

/// The newest message of a book of which every message is everything, and what that is worth: whether another one is
/// late or the same again, and whether silence means a quiet market or a stream that has died.
struct WholeBook {
  enum Novelty {
    /// Older than the newest.
    case late
    /// Sent again with a new time: the book is as old as that, and nothing has to be told to anyone.
    case same
    case new
  }

  enum Doubt {
    case none
    /// It is to be asked for apart from the stream, and compared.
    case asks
    /// Its stream has died.
    case isDead
  }

  private let limits: DialectFacts.WholeBooks
  /// The venue's time of the newest message, when it came, and what it said.
  private var time = Timestamp.distantPast
  private var heardAt = Timestamp.distantPast
  private var bids: [PriceLevel] = []
  private var asks: [PriceLevel] = []
  /// When it was asked for, to be compared, and since when it has been known to differ.
  private var probed: Timestamp?
  private var differs: Timestamp?

  init(_ limits: DialectFacts.WholeBooks) { self.limits = limits }

  /// Takes a message. Nothing is late, or the same, of a book that is not live. O(levels).
  mutating func take(_ event: BookEvent, _ batch: borrowing EventBatch, isLive: Bool, now: Timestamp) -> Novelty {
    if isLive, event.time < time, now - heardAt < limits.lateLimit { return .late }
    let bids = batch.bids[event.bidRange]
    let asks = batch.asks[event.askRange]
    let isSame = isLive && self.bids.elementsEqual(bids) && self.asks.elementsEqual(asks)
    if !isSame {
      self.bids.removeAll(keepingCapacity: true)
      self.bids.append(contentsOf: bids)
      self.asks.removeAll(keepingCapacity: true)
      self.asks.append(contentsOf: asks)
    }
    time = event.time
    heardAt = now
    probed = nil
    differs = nil
    return isSame ? .same : .new
  }

  /// Looks whether it has been silent for too long. Called a few times a second while the connection lives.
  mutating func doubt(now: Timestamp) -> Doubt {
    let isDead: Bool
    if let differs {
      isDead = now - differs >= limits.catchUp
    } else if let probed {
      isDead = now - probed >= limits.probeWithin
    } else if now - heardAt >= limits.probeAfter {
      probed = now
      return .asks
    } else {
      return .none
    }
    guard isDead else { return .none }
    probed = nil
    differs = nil
    return .isDead
  }

  /// Compares what was asked for apart from the stream with what that has said: the best levels that both have, as one
  /// may be deeper. O(levels).
  mutating func compare(_ event: BookEvent, _ batch: borrowing EventBatch, now: Timestamp) {
    guard probed != nil else { return }
    probed = nil
    let isSame = Self.agree(bids, batch.bids[event.bidRange]) && Self.agree(asks, batch.asks[event.askRange])
    if isSame { heardAt = now } else { differs = now }
  }

  private static func agree(_ a: [PriceLevel], _ b: ArraySlice<PriceLevel>) -> Bool {
    a.isEmpty == b.isEmpty && zip(a, b).allSatisfy { $0 == $1 }
  }

  /// Brings what is kept to a wider scale.
  mutating func rescale(priceBy: Int64, sizeBy: Int64) {
    bids.rescale(priceBy: priceBy, sizeBy: sizeBy)
    asks.rescale(priceBy: priceBy, sizeBy: sizeBy)
  }

  /// The connection is gone.
  mutating func disconnected() {
    time = .distantPast
    probed = nil
    differs = nil
  }
}

extension [PriceLevel] {
  /// Brings levels that are kept to a wider scale, which was chosen so that none overflows.
  mutating func rescale(priceBy: Int64, sizeBy: Int64) {
    for index in indices {
      self[index].price &*= priceBy
      self[index].size &*= sizeBy
    }
  }
}
