import CLoad
import Glibc

/// Bytes in and out.
extension Fleet {
  mutating func pump(until end: Int64) {
    while true {
      let rest = end - Clock.monotonic
      guard rest > 0 else { return }
      wait(rest)
    }
  }

  /// Waits for events for at most about `limit` ns and handles one batch of them.
  mutating func wait(_ limit: Int64) {
    var limit = limit
    if slowAreSlow { limit = min(limit, 5_000_000) }
    let milliseconds = Int32(min((limit + 999_999) / 1_000_000, 1000))
    let count = epoll_wait(epoll, events, Int32(Self.eventsPerWait), milliseconds)
    if count > 0 {
      for k in 0..<Int(count) { handle(Int(events[k].data.u64), events[k].events) }
    }
    if slowAreSlow { readSlowly() }
  }

  mutating func handle(_ i: Int, _ ready: UInt32) {
    switch slots[i].state {
    case .connecting:
      var code: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(slots[i].fd, SOL_SOCKET, SO_ERROR, &code, &size)
      guard code == 0 else { return fail(i, "connect: \(Sockets.reason(code))") }
      watch(i, EPOLLIN.rawValue, EPOLL_CTL_MOD)
      guard let tls else {
        slots[i].state = .handshaking
        return transmit(i, handshake)
      }
      slots[i].tls = tls.session(on: slots[i].fd)
      slots[i].state = .securing
      secure(i)
    case .securing: secure(i)
    case .handshaking, .open:
      let got = receive(i, limit: Self.readBytes)
      // What OpenSSL has taken from the socket shows in no event.
      if got > 0, slots[i].tls != nil { while slots[i].fd >= 0, receive(i, limit: Self.readBytes) > 0 {} }
    case .unused, .closed: break
    }
  }

  /// Goes on with the TLS handshake; then asks for the upgrade.
  mutating func secure(_ i: Int) {
    guard let session = slots[i].tls else { return fail(i, "no TLS session: \(TLSClient.reason)") }
    switch TLSClient.handshake(session) {
    case .waits: break
    case .failed(let reason): fail(i, reason)
    case .done:
      slots[i].state = .handshaking
      transmit(i, handshake)
    }
  }

  mutating func readSlowly() {
    let now = Clock.monotonic
    guard now >= nextSlowTurn else { return }
    nextSlowTurn = now + 20_000_000
    let share = max(plan.slowBytesPerSecond / 50, 1)
    for i in 0..<slowCount where slots[i].state == .open {
      slots[i].budget = min(slots[i].budget + share, max(plan.slowBytesPerSecond, share))
      let got = receive(i, limit: min(slots[i].budget, Self.readBytes))
      slots[i].budget -= got
    }
  }

  mutating func transmit(_ i: Int, _ bytes: [UInt8]) {
    if let session = slots[i].tls {
      if !TLSClient.write(session, bytes), !isClosing { fail(i, "TLS write: \(TLSClient.reason)") }
      return
    }
    let sent = send(slots[i].fd, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    if sent != bytes.count, !isClosing {
      fail(i, "send of \(bytes.count) bytes: \(sent < 0 ? Sockets.reason(errno) : "only \(sent) went out")")
    }
  }

  /// One `recv` of at most `limit` bytes; returns how many came.
  mutating func receive(_ i: Int, limit: Int) -> Int {
    let fd = slots[i].fd
    let held = slots[i].partialCount
    let base: UnsafeMutablePointer<UInt8>
    if held > 0 {
      growPartial(i, held + min(limit, 64 << 10))
      base = slots[i].partial.unsafelyUnwrapped
    } else {
      base = buffer
    }
    let room = held > 0 ? min(limit, slots[i].partialCapacity - held) : limit
    let n = slots[i].tls.map { TLSClient.read($0, base + held, room) } ?? recv(fd, base + held, room, 0)
    guard n > 0 else {
      if slots[i].tls != nil {
        if n != TLSClient.nothing { fail(i, n == 0 ? "closed by the server" : "TLS read: \(TLSClient.reason)") }
        return 0
      }
      if n < 0, errno == EAGAIN || errno == EINTR { return 0 }
      fail(i, n == 0 ? "closed by the server" : "recv: \(Sockets.reason(errno))")
      return 0
    }
    if isMeasuring {
      if slots[i].isSlow {
        figures.slowBytes &+= UInt64(n)
      } else {
        figures.bytes &+= UInt64(n)
        figures.receives &+= 1
      }
    }
    let total = held + n
    var start = 0
    if slots[i].state == .handshaking {
      guard let length = finishHandshake(i, base, total) else { return n }
      start = length
    }
    if slots[i].state == .open { start += frames(i, base + start, total - start) }
    guard slots[i].fd >= 0 else { return n }
    keep(i, base, start, total)
    return n
  }

  /// Keeps `base[start..<total]` for the next `recv`.
  mutating func keep(_ i: Int, _ base: UnsafeMutablePointer<UInt8>, _ start: Int, _ total: Int) {
    let rest = total - start
    if slots[i].partialCount > 0 {
      if rest > 0 {
        if start > 0 { memmove(base, base + start, rest) }
      } else {
        slots[i].partial?.deallocate()
        slots[i].partial = nil
        slots[i].partialCapacity = 0
      }
    } else if rest > 0 {
      growPartial(i, rest)
      if let partial = slots[i].partial { memcpy(partial, base + start, rest) }
    }
    slots[i].partialCount = rest
  }

  mutating func growPartial(_ i: Int, _ needed: Int) {
    guard slots[i].partialCapacity < needed else { return }
    let capacity = max(needed, slots[i].partialCapacity * 2)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    if let old = slots[i].partial {
      memcpy(grown, old, slots[i].partialCount)
      old.deallocate()
    }
    slots[i].partial = grown
    slots[i].partialCapacity = capacity
  }

  /// The length of the answer's head when it is whole and a good 101; otherwise nil, and what came is kept.
  mutating func finishHandshake(_ i: Int, _ base: UnsafeMutablePointer<UInt8>, _ total: Int) -> Int? {
    let answer = UnsafeBufferPointer(start: UnsafePointer(base), count: total)
    guard let end = Text.find("\r\n\r\n", in: answer) else {
      keep(i, base, 0, total)
      return nil
    }
    let head = UnsafeBufferPointer(rebasing: answer[..<end])
    guard Text.find("HTTP/1.1 101", in: head) == 0, Text.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", in: head) != nil else {
      let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
      fail(i, "the upgrade was answered '\(line)'")
      return nil
    }
    slots[i].state = .open
    inFlight -= 1
    openCount += 1
    return end + 4
  }
}
