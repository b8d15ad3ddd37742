/// The bytes, messages and wake-ups of a client since it was made: a mobile device pays for them.
public struct Traffic: Sendable, Hashable {
  /// Messages that arrive this close after another one, ns, cost no wake-up of their own.
  private static let sameWakeUp: UInt64 = 5_000_000

  /// Messages, the gateway's answers and heartbeats included.
  public private(set) var messages = 0
  /// Those of them that were binary records.
  public private(set) var records = 0
  /// Bytes of these messages, before the network compressed them.
  public private(set) var bytes = 0
  /// How often a message arrived more than 5 ms after the one before.
  public private(set) var wakeUps = 0
  private var last: UInt64?

  mutating func count(_ bytes: Int, isRecord: Bool, now: UInt64) {
    messages += 1
    if isRecord { records += 1 }
    self.bytes += bytes
    if last.map({ now - $0 > Self.sameWakeUp }) ?? true { wakeUps += 1 }
    last = now
  }
}
