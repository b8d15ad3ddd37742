import Bytes
import MarketData

/// The lists of markets, which come over the connection, and what is subscribed when they are there.
extension HyperliquidHandler {
  /// With the 24 h figures of all markets where their volumes are wanted.
  func askForLists(_ now: Timestamp, into batch: inout EventBatch) {
    listDue = now + Self.listTimeout
    let families = wantedFamilies
    let hasContexts =
      marketList.wantsVolumes && (listAttempts < MarketList.attemptLimit || marketList.isRanked)
    listAttempts += 1
    if !families.contains(.perpetual) { perpetuals = perpetuals ?? [] }
    if !families.contains(.spot) { spots = spots ?? [] }
    if perpetuals == nil { post(hasContexts ? #"{"type":"metaAndAssetCtxs"}"# : #"{"type":"meta"}"#, now) }
    if spots == nil { post(hasContexts ? #"{"type":"spotMetaAndAssetCtxs"}"# : #"{"type":"spotMeta"}"#, now) }
    // Symbols of no kind that is carried, or none at all: nothing is asked for, and they are refused.
    takeLists(now, into: &batch)
  }

  func post(_ payload: String, _ now: Timestamp) {
    requestID += 1
    budget.spend(1, now: now)
    actions.append(.send(#"{"method":"post","id":\#(requestID),"request":{"type":"info","payload":\#(payload)}}"#))
  }

  func received(perpetuals list: [HyperliquidMarket], now: Timestamp, into batch: inout EventBatch) {
    guard !hasList else { return }
    perpetuals = list
    takeLists(now, into: &batch)
  }

  func received(spots list: [HyperliquidMarket], now: Timestamp, into batch: inout EventBatch) {
    guard !hasList else { return }
    spots = list
    takeLists(now, into: &batch)
  }

  /// When all lists are there: finds the configured symbols and subscribes them.
  func takeLists(_ now: Timestamp, into batch: inout EventBatch) {
    guard !hasList, let perpetuals, let spots else { return }
    hasList = true
    listDue = .distantFuture
    // Of names that differ in case only, the one that is spelled so comes first.
    let list = perpetuals + spots
    let carried = carry(
      (list.filter(\.isExact) + list.filter { !$0.isExact }).map {
        ListedMarket(
          venueSymbol: $0.name, symbol: $0.symbol, priceScale: $0.priceScale,
          sizeIncrement: Decimal64(mantissa: 1, scale: $0.sizeScale), state: $0.isDelisted ? .halted : .trading,
          quoteVolume: $0.quoteVolume)
      }, into: &batch)
    while feeds.count < instruments.count { feeds.append(Feed()) }
    for place in feeds.indices {
      feeds[place].isListed = carried.contains(place)
      guard feeds[place].isListed, !isLive(place), feeds[place].shunnedUntil > .distantPast else { continue }
      refuse(configuredName(place), strikeReason(place))
    }
    self.perpetuals = []
    self.spots = []
    guard isConnected else { return }
    let places = feeds.indices.filter {
      feeds[$0].isCarried && !feeds[$0].isSuspect && feeds[$0].book.state == .unsubscribed
    }
    // All books first: they prove the names, and are what is waited for.
    for channel in Channel.allCases {
      for place in places { outbox.append(Subscription(place: place, channel: channel)) }
    }
    for place in places { feeds[place].book.queued(now: now) }
    nextSuspect(now)
    flush(now)
  }
}

/// A market of a list, as far as it is used.
struct HyperliquidMarket {
  /// `BTC`, `kPEPE`, `PURR/USDC`, `@107`
  var name: String
  var symbol: FeedSymbol
  /// Digits after the point that prices have at most: 6 less those of sizes, 8 on spot. A price has at most five
  /// significant digits besides, unless it is whole: its step grows with it, and there is no increment to tell.
  var priceScale: UInt8
  var sizeScale: UInt8
  var isDelisted = false
  /// What was traded in the last 24 h, where the list says so.
  var quoteVolume: Decimal64?
  /// The place in the list, by which 24 h figures are found.
  var index = 0
  /// Whether the symbol is spelled as the name is.
  var isExact = true
}
