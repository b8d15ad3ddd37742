import MarketData
import Testing

@testable import PubSub

@Suite("The description of the wire for machines") struct WireDescriptionTests {
  @Test("every channel and every op is described, each op with the reply that it gets")
  func complete() {
    #expect(Set(WireDescription.channels.keys) == Set(ChannelName.allCases))
    #expect(WireDescription.requests.map(\.op) == ClientRequest.ops)
    let world = World()
    world.book(0, .snapshot, bids: [(641_230, 5)], asks: [(641_240, 6)])
    let bodies = [
      "hello": "", "subscribe": ",\"streams\":[{\"channel\":\"quote\",\"symbols\":[\"kraken:BTC-USD\"]}]",
      "unsubscribe": ",\"all\":true", "configure": ",\"interval_ms\":1000", "pause": "", "resume": "", "list": "",
      "ping": "",
    ]
    let client = world.client()
    for request in WireDescription.requests where request.op != "alert" {
      let texts = client.ask("{\"op\":\"\(request.op)\",\"id\":1\(bodies[request.op] ?? "")}")
      #expect(texts.contains { $0.hasPrefix("{\"type\":\"\(request.reply)\",\"id\":1") }, "\(request.op): \(texts)")
    }
    #expect(client.faults.isEmpty, "\(client.faults)")
  }

  @Test("each field that a request is said to have is taken, and another is refused by name")
  func fields() {
    for request in WireDescription.requests {
      for field in request.fields + ["strange"] {
        let text = "{\"op\":\"\(request.op)\",\"\(field)\":0}"
        let parsed = RequestParser.parse(Array(text.utf8).span.bytes)
        let isUnknown = parsed.error?.message.hasPrefix("there is no field") == true
        #expect(isUnknown == (field == "strange"), "\(text): \(parsed.error?.message ?? "")")
      }
    }
  }

  @Test("each parameter that a channel is said to have is one of a subscription")
  func parameters() {
    for (channel, data) in WireDescription.channels.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      for parameter in data.parameters {
        let text =
          "{\"op\":\"subscribe\",\"streams\":[{\"channel\":\"\(channel.rawValue)\",\"symbols\":[\"a\"],\"\(parameter)\":{}}]}"
        guard case .subscribe(let items) = RequestParser.parse(Array(text.utf8).span.bytes).request else {
          Issue.record("\(text)")
          continue
        }
        #expect(items.first?.error?.message.contains("no field") == false, "\(text)")
      }
    }
  }

  @Test("the check finds what is missing")
  func check() {
    #expect(WireCheck.problems(["type": "heartbeat", "time": 1, "sent": 2], "").count == 1)
    #expect(WireCheck.problems(["type": "odd"], "").count == 1)
    let whole: [String: Any] = [
      "type": "update", "channel": "sparkline", "stream": 1, "prev": 1, "seq": 2, "time": 3,
      "data": ["index": 1, "price": "1", "from": 1],
    ]
    #expect(WireCheck.problems(whole, "").isEmpty)
    var less = whole
    less["data"] = ["index": 1]
    #expect(WireCheck.problems(less, "").count == 1)
  }
}
