import Foundation
import TestSupport
import Testing

@testable import Watch

@Suite("State table")
struct StateTableTests {
  static let document = """
    {"type":"state","time":1790000000000000,"node":"gw-a","epoch":"e","version":"0.1.0","commit":"c","uptime_s":11040,
     "status":"degraded","ready":true,"draining":false,"reasons":["kraken is reconnecting: closed by the venue (1006)"],"warnings":["a recording is not written: disk full"],
     "feeds":[{"connection":"coinbase","venue":"coinbase","state":"live","indicator":"connected","since":1,
       "simulated":false,"age_ms":12,"rate":120.4,"rates":[1,2,3,4],"lag_ms":34.5,"lag_p99_ms":80,"messages":9,
       "connects":1,"gaps":0,"resyncs":2,"rejected":0,"books":{"live":3,"syncing":0,"stale":0,"crossed":0}},
      {"connection":"kraken","venue":"kraken","state":"reconnecting","indicator":"reconnecting","since":1,
       "reason":"closed by the venue \\u001b[2J(1006)","simulated":true,"rates":[],"messages":0,"connects":1,"gaps":1,
       "resyncs":0,"rejected":0,"books":{"live":0,"syncing":3,"stale":0,"crossed":0}}],
     "books_not_live":12,"books":[{"connection":"kraken","symbol":"kraken:BTC-USD","reason":"sequence gap"}],
     "clients":{"now":812,"total":900,"connections":820,"subscriptions":4000,"slow":1,"degraded":1,"merged":1,"lost":0,
       "resumed":0,"parked":0,"closed":{},"refused":{}},
     "slow":[{"id":"0.12.3","peer":"192.0.2.7","key":"app","queued_bytes":1234567,"slow_ms":3200,"held_ms":0,
       "degraded_ms":250,"merged":512,"lost":0}],
     "throughput":{"messages":1204,"messages_line":[],"frames":88120.2,"frames_line":[],"delivery_p99_ms":0.42},
     "loops":[{"loop":0,"clients":400,"feeds":1,"busy":0.31,"turn_p99_ms":1.5,"lag_p99_ms":0.9}],
     "limits":[{"name":"limits.clients","used":812,"limit":1000}],
     "process":{"cores":0.34,"resident_bytes":210000000,"descriptors":900},
     "events":[{"time":1790000000000000,"level":"warning","event":"feed_lost","msg":"feed lost",
       "fields":{"venue":"kraken","attempt":"2"}}]}
    """

  private static func state(_ text: String = document) throws -> GatewayState {
    try JSONDecoder().decode(GatewayState.self, from: Data(text.utf8))
  }

  private func table() throws -> StateTable {
    var table = StateTable(address: "127.0.0.1:9090")
    table.apply(try Self.state())
    return table
  }

  @Test("every part of the state stands in its line")
  func lines() throws {
    let lines = try table().lines(width: 160, height: 100, color: false).map {
      String($0.reversed().drop { $0 == " " }.reversed())
    }
    #expect(
      lines == [
        "● degraded: gw-a (127.0.0.1:9090), version 0.1.0, up 3 h 4 min; prices are SIMULATED",
        "  kraken is reconnecting: closed by the venue (1006)",
        "  a recording is not written: disk full",
        "clients 812, 1 slow  subscriptions 4000  in 1204/s  out 88120/s  delivery p99 0.4 ms  cores 0.34  memory 210 MB",
        "feed                state               rate       age       lag      gaps   resyncs     books  last minute",
        "● coinbase          live               120/s     12 ms     35 ms         0         2       3/3  ▁▃▆█",
        "● kraken            reconnecting           –         –         –         1         0       0/3"
          + "                                  closed by the venue [2J(1006)",
        "books that are not live: 12",
        "  kraken:BTC-USD            sequence gap",
        "slow clients: 1",
        "  0.12.3        app                       waits 1.2 MB      slow for 3.2 s    merged 512        lost 0"
          + "            at 250 ms",
        "loops and limits",
        "  loop 0                    busy 31 %    lag p99 0.9 ms      turn p99 1.5 ms      400 clients, 1 feeds",
        "  limits.clients            81 %         812 of 1000",
        "events",
        "  14:13:20  warning   feed lost attempt=2 venue=kraken",
      ])
  }

  @Test("whatever number a gateway sends, it is shown or refused, and every line fits")
  func extremes() throws {
    let text = Array(Self.document.utf8)
    var shown = 0
    for number in NumericExtremes.numbers(in: text) {
      for extreme in NumericExtremes.texts {
        let changed = NumericExtremes.replacing(number, of: text, by: extreme)
        guard let state = try? Self.state(String(decoding: changed, as: UTF8.self)) else { continue }
        shown += 1
        var table = StateTable(address: "a")
        table.apply(state)
        for line in table.lines(width: 80, height: 60, color: false) { #expect(line.count <= 80) }
      }
    }
    #expect(shown > 1_000)
  }

  @Test("no line is wider and no table higher than its terminal, whatever its size; no control character gets through")
  func size() throws {
    for width in [1, 20, 40, 80, 200] {
      for height in [0, 1, 5, 100] {
        let lines = try table().lines(width: width, height: height, color: false)
        #expect(lines.count <= height && lines.allSatisfy { $0.count <= width }, "\(width) × \(height)")
        #expect(lines.allSatisfy { !$0.unicodeScalars.contains { $0.value < 0x20 } })
      }
    }
  }

  @Test("a look that failed is said above what is old, and gone with the next that does not")
  func failure() throws {
    var table = StateTable(address: "127.0.0.1:9090")
    #expect(table.lines(width: 80, height: 9, color: false)[0].hasPrefix("● connecting to 127.0.0.1:9090"))
    table = try self.table()
    let before = table.lines(width: 100, height: 99, color: false)
    table.fail("refused")
    let failed = table.lines(width: 100, height: 99, color: false)
    #expect(failed[0].hasPrefix("● no connection to 127.0.0.1:9090, retrying: refused"))
    #expect(Array(failed.dropFirst()) == before)
    table.apply(try Self.state())
    #expect(table.lines(width: 100, height: 99, color: false) == before)
  }

  @Test("figures are short, and nothing is no number")
  func words() {
    let times: [(Double?, String)] = [
      (nil, "–"), (.nan, "–"), (-1, "–"), (0, "0.0 ms"), (9.96, "10.0 ms"), (999, "999 ms"), (3_200, "3.2 s"),
      (300_000, "5 min"), (90_000_000, "1 d 1 h"),
    ]
    for (value, text) in times { #expect(StateTable.time(value) == text) }
    let sizes: [(Double?, String)] = [(nil, "–"), (812, "812 B"), (1_234, "1.2 kB"), (34_000_000, "34 MB")]
    for (value, text) in sizes { #expect(StateTable.bytes(value) == text) }
    #expect(throws: (any Error).self) { try Self.state("{}") }
  }
}
