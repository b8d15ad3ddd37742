import MarketData
import Venues

/// Plays a recording, and keeps what its connection cannot be set up without.
final class StateTracker {
  let replayer: Replayer
  var messages = ConnectionMessages()
  /// How often a book was rebuilt because its checksum was another one, by instrument.
  private(set) var mismatches: [Int: Int] = [:]
  private var payload: [UInt8] = []

  /// - Parameter entry: where the replayer begins, if that is in the middle.
  init(_ replayer: Replayer, from entry: RecordingEntry? = nil) {
    self.replayer = replayer
    for message in entry?.frame.messages ?? [] { messages.append(message) }
  }

  /// The state before the next record.
  var frame: KeyFrame {
    guard replayer.isConnected else { return KeyFrame(isConnected: false, books: []) }
    return KeyFrame(
      isConnected: true, books: replayer.pipeline.checkpoints, lost: replayer.pipeline.lostBooks,
      messages: messages.list)
  }

  /// Plays the next record. The pipeline's changes are empty after it.
  /// - Throws: the reason why the record after it cannot be read.
  func step() throws(RecordingError) {
    guard let record = replayer.nextRecord else { return }
    let isText = record.kind == .text || record.kind == .binary
    if isText {
      payload.removeAll(keepingCapacity: true)
      payload.append(contentsOf: replayer.nextPayload)
    }
    let wasConnected = replayer.isConnected
    let pipeline = replayer.pipeline
    let counts = pipeline.engine.counts
    let heard = pipeline.engine.marketHeard
    var failure: RecordingError?
    do throws(RecordingError) { try replayer.step() } catch { failure = error }
    if replayer.isConnected != wasConnected { messages.removeAll() }
    if isText, counts.rejected == pipeline.engine.counts.rejected, counts.ignored == pipeline.engine.counts.ignored {
      let isNews = heard < record.time && pipeline.engine.marketHeard == record.time
      messages.note(payload, at: record.time, isNews: isNews, pipeline.changes)
    }
    for item in pipeline.changes.items {
      if case .bookState(let id, .syncing(.checksum)) = item { mismatches[id.index, default: 0] += 1 }
    }
    pipeline.clear()
    if let failure { throw failure }
  }
}

/// The messages of a connection without which it would not be set up: lists, greetings, acknowledgements, refusals.
/// Bounded by `KeyFrame.messageLimit` and `messageBytesLimit`; later ones are not kept.
struct ConnectionMessages {
  /// So many of the first messages are kept even if they look like a market's.
  private static let certainlyKept = 256

  private(set) var list: [KeyFrame.Message] = []
  private var seen: Set<[UInt8]> = []
  private var bytes = 0
  /// Messages of `list` that the present index has, and the first of its blobs with them.
  var stored = 0
  var firstBlob = 0
  /// Whether the present index has any; set to false when another one begins.
  var isStored = false

  mutating func removeAll() {
    list.removeAll()
    seen.removeAll()
    bytes = 0
    isStored = false
  }

  /// - Parameter isNews: whether it was a market's message, or a heartbeat.
  mutating func note(_ payload: [UInt8], at time: Timestamp, isNews: Bool, _ changes: borrowing MarketChanges) {
    guard list.count < KeyFrame.messageLimit, bytes + payload.count <= KeyFrame.messageBytesLimit else { return }
    var hasInstrument = false
    for item in changes.items {
      switch item {
      case .instrument: hasInstrument = true
      case .trades, .quote, .bookSnapshot, .bookDelta: return
      default: break
      }
    }
    guard !isNews || hasInstrument || list.count < Self.certainlyKept else { return }
    append(KeyFrame.Message(time: time, payload: payload))
  }

  mutating func append(_ message: KeyFrame.Message) {
    guard seen.insert(message.payload).inserted else { return }
    list.append(message)
    bytes += message.payload.count
  }
}
