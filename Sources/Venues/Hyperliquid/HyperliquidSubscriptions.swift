import MarketData

/// What is sent, within the address's messages a minute; who is to blame for the end of a connection.
extension HyperliquidHandler {
  /// One suspect at a time, when nothing else is under way: those that have ended fewest connections first.
  func nextSuspect(_ now: Timestamp) {
    guard hasList, outbox.isEmpty, unacknowledged.allSatisfy({ now - $0.sent >= Self.blameTime }) else { return }
    let suspects = feeds.indices.filter { place in
      feeds[place].isSuspect && feeds[place].isCarried && !feeds[place].isKnown
        && !unacknowledged.contains { $0.place == place }
    }
    guard let place = suspects.min(by: { feeds[$0].strikes < feeds[$1].strikes }) else { return }
    feeds[place].book.queued(now: now)
    outbox.append(Subscription(place: place, channel: .book))
  }

  /// The connection is gone. If that came right behind subscriptions of names that the venue has not acknowledged,
  /// one of them may have ended it.
  func layBlame(_ now: Timestamp) {
    var blamed: [Int] = []
    for sent in unacknowledged
    where !sent.isEnd && now - sent.sent < Self.blameTime && !feeds[sent.place].isKnown
      && !blamed.contains(sent.place)
    {
      blamed.append(sent.place)
    }
    for place in blamed { feeds[place].isSuspect = true }
    guard blamed.count == 1, let place = blamed.first else { return }
    feeds[place].strikes += 1
    guard feeds[place].strikes >= Self.strikeLimit else { return }
    feeds[place].shunnedUntil = now + Self.strikeRest
    refuse(configuredName(place), strikeReason(place))
  }

  func strikeReason(_ place: Int) -> String {
    "Hyperliquid ended the connection \(Self.strikeLimit) times right behind the subscription of \(instruments[place].venueSymbol), which is left alone for \(Self.strikeRest / Microseconds.hour) h"
  }

  func sendAgain(_ now: Timestamp) {
    guard unacknowledged.contains(where: { now - $0.sent >= Self.acknowledgeTimeout }) else { return }
    for sent in unacknowledged where now - sent.sent >= Self.acknowledgeTimeout && !sent.isEnd {
      let feed = feeds[sent.place]
      guard feed.isCarried else { continue }
      let words = "\(sent.channel) of \(instruments[sent.place].venueSymbol)"
      if sent.channel == .book {
        // A book asks again by itself, until its data comes.
        if !feed.book.isLive, !feed.isKnown { unanswered(feed.book.silentAttempts, words, now: now) }
        continue
      }
      unanswered(sent.attempts, words, now: now)
      if sent.attempts < RequestDeadline.attempts {
        outbox.append(sent)
      } else {
        outbox.append(sent, due: now + RequestDeadline.hopeless)
      }
    }
    unacknowledged.removeAll { now - $0.sent >= Self.acknowledgeTimeout }
  }

  func flush(_ now: Timestamp) {
    for subscription in outbox.take(now: now, room: budget.left(now: now)) { send(subscription, now) }
    let count = min(probes.count, budget.left(now: now))
    for place in probes.prefix(count) {
      post(#"{"type":"l2Book","coin":\#(JSONText.quoted(instruments[place].venueSymbol))}"#, now)
    }
    probes.removeFirst(count)
  }

  func send(_ subscription: Subscription, _ now: Timestamp) {
    let place = subscription.place
    guard feeds[place].isCarried else { return }
    // Its book has come after all.
    if subscription.channel == .book, !feeds[place].book.isQueued { return }
    budget.spend(1, now: now)
    let method = subscription.isEnd ? "unsubscribe" : "subscribe"
    actions.append(
      .send(
        #"{"method":"\#(method)","subscription":\#(Self.text(subscription.channel, instruments[place].venueSymbol))}"#))
    guard !subscription.isEnd else { return }
    var sent = subscription
    sent.sent = now
    sent.attempts += 1
    unacknowledged.append(sent)
    switch subscription.channel {
    case .book: feeds[place].book.subscribed(now: now)
    case .trades:
      feeds[place].subscribed = now
      feeds[place].hasTraded = false
      feeds[place].knownTime = feeds[place].tradeTime
      feeds[place].knownIDs = feeds[place].tradeIDs
    case .quote, .context: break
    }
  }

  private static func text(_ channel: Channel, _ name: String) -> String {
    let coin = JSONText.quoted(name)
    switch channel {
    case .book: return #"{"type":"l2Book","coin":\#(coin),"fast":true}"#
    case .quote: return #"{"type":"bbo","coin":\#(coin)}"#
    case .trades: return #"{"type":"trades","coin":\#(coin)}"#
    case .context: return #"{"type":"activeAssetCtx","coin":\#(coin)}"#
    }
  }
}
