import CLoad
import COpenSSL
import Glibc

/// How clients end.
extension Fleet {
  mutating func note(_ text: String) {
    if figures.firstError.isEmpty { figures.firstError = text }
  }

  mutating func protocolError(_ i: Int, _ what: String) {
    figures.protocolErrors &+= 1
    note("client \(i): \(what)")
    end(i)
  }

  mutating func closed(_ i: Int, _ payload: UnsafeMutablePointer<UInt8>, _ length: Int) {
    if !isClosing {
      let code = length >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005
      figures.closeCodes[code, default: 0] += 1
      let reason = String(decoding: UnsafeBufferPointer(start: payload, count: length).dropFirst(2), as: UTF8.self)
      note("client \(i) was closed with \(code) \(reason)")
    }
    end(i)
  }

  mutating func fail(_ i: Int, _ what: String) {
    if !isClosing { note("client \(i): \(what)") }
    end(i)
  }

  mutating func end(_ i: Int) {
    guard slots[i].fd >= 0 else { return }
    if !isClosing {
      if slots[i].isSlow { figures.slowDisconnected &+= 1 }
      figures.disconnected &+= 1
    }
    if slots[i].state == .open {
      openCount -= 1
    } else {
      inFlight -= 1
    }
    // A reset leaves no TIME_WAIT behind, which would use up the ports of the next round.
    var reset = linger(l_onoff: 1, l_linger: 0)
    setsockopt(slots[i].fd, SOL_SOCKET, SO_LINGER, &reset, socklen_t(MemoryLayout<linger>.size))
    if let session = slots[i].tls { SSL_free(session) }
    slots[i].tls = nil
    close(slots[i].fd)
    slots[i].fd = -1
    slots[i].state = .closed
    slots[i].partial?.deallocate()
    slots[i].partial = nil
    slots[i].partialCount = 0
    slots[i].partialCapacity = 0
  }
}
