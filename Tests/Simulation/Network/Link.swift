import Bytes
import Transport

/// One TCP connection: two sockets, a pipe each way, and what the network does to it.
package final class Link {
  package let number: Int
  let network: FaultyTransport
  private(set) var client: SimulatedSocket?
  private(set) var server: SimulatedSocket?
  /// From the one who connected, and to it.
  private(set) var up: Pipe!
  private(set) var down: Pipe!
  /// The network did something to it that an end may notice as a break: whoever loses it need not have been told why.
  package private(set) var isBroken = false
  /// When it last stood still, ns; stalls excuse what times out during them.
  package private(set) var stalledUntil: UInt64 = 0

  init(number: Int, network: FaultyTransport, client: SimulatedSocket, server: SimulatedSocket) {
    self.number = number
    self.network = network
    self.client = client
    self.server = server
    up = Pipe(link: self, from: client, to: server)
    down = Pipe(link: self, from: server, to: client)
    client.join(self, outgoing: up, incoming: down)
    server.join(self, outgoing: down, incoming: up)
  }

  /// Whether it carries so little that what is sent on it may have to wait.
  package var isNarrow: Bool { (up?.isNarrow ?? false) || (down?.isNarrow ?? false) }

  /// Whether nothing is on its way, nor has arrived and waits to be read.
  package var isEmpty: Bool { (up?.isEmpty ?? true) && (down?.isEmpty ?? true) }

  /// Whether `host` is the end that asked for it.
  package func isFrom(_ host: SimulatedHost) -> Bool { client?.host === host }

  /// Whether `host` is the end that was asked for it.
  package func isTo(_ host: SimulatedHost) -> Bool { server?.host === host }

  /// Whether it is dead, or about to be, and the end that asked for it does not know.
  package var isUnseenBreak: Bool { isBroken && !(client?.isClosed ?? true) }

  /// Whether both ends have closed it.
  package var isOver: Bool { client?.isClosed ?? true && server?.isClosed ?? true }

  func strike(_ fault: LinkFault) {
    switch fault {
    case .reset:
      isBroken = true
      up.cut()
      down.cut()
      if let client { network.schedule(.reset(client), after: UInt64(network.pick(2_000_000))) }
      if let server { network.schedule(.reset(server), after: UInt64(network.pick(2_000_000))) }
    case .halfOpen:
      isBroken = true
      up.cut()
      down.cut()
    case .stall(let span):
      let end = network.uptime + span
      stalledUntil = max(stalledUntil, end)
      // One direction, the other, or both.
      let which = network.pick(3)
      if which != 1 { up.stall(until: end) }
      if which != 0 { down.stall(until: end) }
    }
  }

  func release() {
    client?.leave()
    server?.leave()
    client = nil
    server = nil
    up = nil
    down = nil
  }
}

/// One direction of a connection: what was sent and has not been read, in order.
///
/// The first `delivered` bytes have arrived and wait to be read; the others are on their way, in the sender's buffer as
/// far as its bound is concerned. One piece at a time arrives, of a size and after a time that the seed chooses.
final class Pipe {
  private unowned let link: Link
  private let network: FaultyTransport
  private var from: SimulatedSocket?
  private var to: SimulatedSocket?
  private var bytes = ByteBuffer()
  private(set) var delivered = 0
  /// Bytes that may be on their way, and that may wait to be read.
  private let capacity: Int
  private let window: Int
  private let latency: UInt64
  /// ns a byte; 0 for a wide one.
  private let slowness: UInt64
  private let grain: Grain
  /// Fine pieces that are left before larger ones come, so that a large message does not take all day.
  private var fineBudget = 1_500
  private var hasEnded = false
  private(set) var endHasArrived = false
  private var isBusy = false
  private var isCut = false
  private var stalledUntil: UInt64 = 0

  private enum Grain { case whole, segments, fine, bytes }

  init(link: Link, from: SimulatedSocket, to: SimulatedSocket) {
    self.link = link
    network = link.network
    self.from = from
    self.to = to
    let rates = network.faults
    capacity = min([4 << 10, 16 << 10, 64 << 10, 256 << 10][network.pick(4)], max(from.sendLimit, 1 << 10))
    window = [2 << 10, 16 << 10, 64 << 10, 256 << 10][network.pick(4)]
    latency = 20_000 + UInt64(network.pick(Int(rates.longestLatency)))
    slowness = network.chance(rates.narrow) ? UInt64(1_000_000_000 / (4_000 + network.pick(60_000))) : 0
    if network.chance(rates.fineGrain) {
      grain = network.chance(rates.byteGrain) ? .bytes : .fine
    } else {
      grain = network.chance(0.5) ? .segments : .whole
    }
  }

  var isNarrow: Bool { slowness > 0 || grain == .bytes }
  /// Bytes that the receiver has not got.
  var onTheWay: Int { bytes.count - delivered }
  var room: Int { capacity - onTheWay }
  /// Whether a sender that waited for room is told of it (Linux: a third of the buffer).
  var hasFairRoom: Bool { room * 3 >= capacity }
  var isEnded: Bool { hasEnded }
  var isEmpty: Bool { bytes.isEmpty }

  /// Takes `piece`, which fits.
  func send(_ piece: UnsafeRawBufferPointer) {
    bytes.append(piece)
    network.trace.note(piece)
    network.statistics.bytes += piece.count
    start()
  }

  /// The sender will send no more.
  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    start()
  }

  /// The sender is gone with a reset: what is on its way is lost.
  func abandon() {
    hasEnded = true
    if onTheWay > 0 { bytes.truncate(to: delivered) }
  }

  /// Nothing arrives any more.
  func cut() { isCut = true }

  func stall(until time: UInt64) { stalledUntil = max(stalledUntil, time) }

  func forgetSockets() {
    from = nil
    to = nil
  }

  private func start() {
    guard !isBusy, !isCut else { return }
    isBusy = true
    network.schedule(.transfer(self), after: latency + UInt64(network.pick(Int(latency) / 4 + 1)))
  }

  /// The next piece arrives.
  func transfer() {
    isBusy = false
    guard !isCut, let to, let from else { return }
    let now = network.uptime
    if now < stalledUntil {
      isBusy = true
      return network.schedule(.transfer(self), after: stalledUntil - now)
    }
    let waiting = onTheWay
    if waiting > 0 {
      let size = min(waiting, window - delivered, piece())
      // A closed window: the reader starts it again.
      guard size > 0 || to.isClosed else { return }
      network.trace.note(now, "arrive", link.number, size)
      network.statistics.arrivals += 1
      if to.isClosed {
        // Nobody is there to read it (RFC 9293 §3.10.7.1).
        abandon()
        return network.schedule(.reset(from), after: latency)
      }
      if size < waiting { network.statistics.partialReads += 1 }
      if size == 1 { network.statistics.singleBytes += 1 }
      delivered += size
      to.notify()
      from.roomFreed()
      if size < waiting || (hasEnded && network.chance(0.5)) {
        isBusy = true
        return network.schedule(
          .transfer(self), after: 1_000 + UInt64(network.pick(30_000)) + slowness * UInt64(size))
      }
    }
    if hasEnded, !endHasArrived {
      endHasArrived = true
      network.trace.note(now, "end", link.number, 0)
      to.notify()
    }
  }

  private func piece() -> Int {
    if fineBudget > 0, grain == .bytes || grain == .fine {
      fineBudget -= 1
      if grain == .bytes { return network.chance(0.9) ? 1 : 1 + network.pick(8) }
      return network.chance(0.3) ? 1 : 1 + network.pick(200)
    }
    return grain == .whole ? .max : 1 + network.pick(1_460)
  }

  /// Reads into `buffer` what has arrived.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(delivered, buffer.count)
    guard count > 0 else { return 0 }
    buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.unsafeBytes[..<count]))
    bytes.consume(count)
    delivered -= count
    if onTheWay > 0 || (hasEnded && !endHasArrived) { start() }
    return count
  }
}
