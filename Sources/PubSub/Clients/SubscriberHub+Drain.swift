import Bytes
import MarketData

/// Sending everybody away, one after the other, so that those who take them in are not hit by all at once.
struct Drain {
  /// When the clients are closed, rising.
  var moments: [(client: ClientID, moment: Timestamp)]
  var next = 0
  /// When the last one is closed.
  var end: Timestamp
  /// Told to clients: when the gateway ends, UTC.
  var deadline: Timestamp
  /// Clients closed so far.
  var evicted = 0
}

extension SubscriberHub {
  /// The part of the window in which clients are closed, in tenths; the rest is for their farewells.
  private static let drainTenths: Int64 = 9

  /// Whether `drain` was called.
  package var isDraining: Bool { drainPlan != nil }
  /// Clients that were closed by it. For metrics.
  package var evictedClients: Int { drainPlan?.evicted ?? 0 }

  /// Tells every client when to reconnect, at a moment of its own, and closes those with 4201 that are still there by then. The moments are
  /// spread evenly over `window`, here and over all loops together. Closing is done by `advance`. Once. O(clients).
  package func drain(window: Int64, now: Timestamp, into actions: inout [HubAction]) {
    guard drainPlan == nil else { return }
    let span = max(0, window) * Self.drainTenths / 10
    let clients = (0..<used).map { id(of: UInt32($0)) }.filter { state(of: $0) != nil }
    var moments: [(client: ClientID, moment: Timestamp)] = []
    moments.reserveCapacity(clients.count)
    let parts = Int64(clients.count * loops)
    for (place, client) in clients.enumerated() {
      let wait = span * Int64(place * loops + loop + 1) / max(1, parts)
      moments.append((client, steady(now) + wait))
      sendDrainNotice(client, wait: wait, deadline: now + window, now: now)
    }
    drainPlan = Drain(moments: moments, end: steady(now) + span, deadline: now + window)
  }

  /// A client that came while draining goes with the last.
  func drainLate(_ client: ClientID, now: Timestamp) {
    guard let plan = drainPlan else { return }
    let end = max(plan.end, steady(now))
    drainPlan?.moments.append((client, end))
    sendDrainNotice(client, wait: end - steady(now), deadline: plan.deadline, now: now)
  }

  /// Closes the clients whose moment has come. `now` is steady.
  func advanceDrain(_ now: Timestamp, into actions: inout [HubAction]) {
    guard var plan = drainPlan else { return }
    while plan.next < plan.moments.count, plan.moments[plan.next].moment <= now {
      let client = plan.moments[plan.next].client
      plan.next += 1
      guard state(of: client) != nil else { continue }
      plan.evicted += 1
      disconnect(client, code: CloseCode.draining, reason: "the gateway is going down; reconnect", into: &actions)
    }
    drainPlan = plan
  }

  private func sendDrainNotice(_ client: ClientID, wait: Int64, deadline: Timestamp, now: Timestamp) {
    send(to: client, now: now) { out in
      out.append("{\"type\":\"notice\",\"code\":\"drain\",\"reconnect_in_ms\":")
      out.append(integer: wait / Microseconds.millisecond)
      out.append(",\"deadline\":")
      out.append(integer: deadline.microseconds)
      out.append("}")
    }
  }
}
