/// Coming back to a session: which streams go on where they stopped.
///
/// Only streams whose messages build on each other are resumed: trades, books and sparklines. Of the others the
/// snapshot of an ordinary subscription is all there is to have.
extension ClientCore {
  /// A session that a connection had, and how far its streams had come.
  struct Left {
    var session: String
    /// By number; what can be resumed.
    var streams: [Int64: Stream] = [:]
  }

  /// Streams of one `hello`, so that it stays under the gateway's limit of 64 KiB.
  static let resumeLimit = 300

  /// Notes where the streams stand, as the connection is gone.
  mutating func leave() {
    guard let session else { return }
    let resumable = streams.filter { _, stream in
      guard stream.seq != nil, stream.epoch != nil, stream.gapDeadline == nil else { return false }
      switch stream.item.channel {
      case .trades: return true
      case .book, .sparkline: return stream.hasSnapshot
      default: return false
      }
    }
    left = Left(session: session, streams: resumable)
  }

  /// The streams to resume, trades first: nothing else can bring those back.
  func streamsToResume() -> [(number: Int64, stream: Stream)] {
    guard let left else { return [] }
    let sorted = left.streams.sorted { one, other in
      let (isOne, isOther) = (one.value.item.channel == .trades, other.value.item.channel == .trades)
      return isOne == isOther ? one.key < other.key : isOne
    }
    return sorted.prefix(Self.resumeLimit).map { ($0.key, $0.value) }
  }

  /// The gateway's answer to what was to be resumed.
  mutating func resumed(
    _ accepted: [ServerMessage.Accepted], failed: [TidegateEvent.FailedItem], into actions: inout [ClientAction]
  ) {
    var old = Dictionary(uniqueKeysWithValues: streamsToResume().map { ($0.number, $0.stream) })
    left = nil
    // The numbers of each name, the lowest last: an answer may be as long as a message, so that each item is looked up
    // at once.
    var numbers: [Name: [Int64]] = [:]
    for number in old.keys.sorted(by: >) {
      guard let item = old[number]?.item else { continue }
      numbers[Name(channel: item.channel, symbol: item.symbol), default: []].append(number)
    }
    for item in accepted {
      guard let channel = TidegateChannel(rawValue: item.channel), streams.count < Self.streamLimit else { continue }
      let info = TidegateEvent.StreamInfo(channel: channel, symbol: item.symbol, stream: item.stream, reason: "")
      if item.isRecovered == true, let stream = old.removeValue(forKey: item.stream) {
        streams[item.stream] = stream
        actions.append(.emit(.recovered(info)))
        continue
      }
      let name = Name(channel: channel, symbol: item.symbol)
      var match = old[item.stream]?.item.symbol == item.symbol ? item.stream : nil
      while match == nil, let number = numbers[name]?.popLast() { match = old[number] == nil ? nil : number }
      guard let match, let stream = old.removeValue(forKey: match) else { continue }
      streams[item.stream] = Stream(
        item: stream.item, priceIncrement: item.priceIncrement, epoch: item.epoch, seq: item.seq)
      // Its snapshot shows the latest trades, but what was missed before them is missing.
      if !channel.isState { actions.append(.emit(.gap(info))) }
    }
    // What is not there yet was subscribed to beside `hello`, and is asked for again from there.
    for item in failed where item.retryAfterMilliseconds == nil { actions.append(.emit(.failed(item))) }
  }
}
