import Bytes
import MarketData
import Testing

@testable import PubSub

@Suite("Streams of documents")
struct StreamDocumentTests {
  private static let subscribe = "{\"op\":\"subscribe\",\"id\":1,\"streams\":[{\"channel\":\"alerts\"}]}"
  private static let name = StreamDocumentName(.alerts, Grant.localOwner)

  private func entry(_ key: UInt64, _ text: String) -> StreamDocument.Entry {
    .init(key: key, text: SharedBytes(Array(text.utf8)))
  }

  private func document(_ entries: (UInt64, String)...) -> StreamDocument {
    StreamDocument(head: "{\"all\":[", tail: "]}", entries: entries.map { entry($0.0, $0.1) })
  }

  private func publish(_ world: World, changed: [(UInt64, String)] = [], removed: [UInt64] = []) {
    var update = StreamDocumentUpdate(data: SharedBytes(Array("{}".utf8)))
    update.changed = changed.map { entry($0.0, $0.1) }
    update.removed = removed
    var out: [Delivery] = []
    world.publishers[0].publish(update, to: Self.name, now: world.now, into: &out)
    world.post(out)
    world.settle()
  }

  private func show(_ world: World, _ document: StreamDocument) {
    var out: [Delivery] = []
    world.publishers[0].show(document, as: Self.name, now: world.now, into: &out)
    world.post(out)
    world.settle()
  }

  @Test("a stream asks for its document, shows it when it comes, and a later client gets what it has become")
  func life() {
    let world = World(loops: 2)
    let first = world.client(on: 1)
    #expect(first.ask(Self.subscribe).of("snapshot").isEmpty)
    #expect(world.publishers[0].takeDocumentDemands() == [.wanted(Self.name)])
    // What changes before is in the document.
    publish(world, changed: [(9, "9")])
    show(world, document((2, "\"b\""), (1, "\"a\"")))
    #expect(
      first.texts.of("snapshot").count == 1 && first.texts.last?.contains("\"data\":{\"all\":[\"a\",\"b\"]}") == true)
    publish(world, changed: [(3, "\"c\""), (1, "\"A\"")], removed: [2])
    #expect(first.texts.of("update").count == 1)
    let second = world.client(on: 0)
    let texts = second.ask(Self.subscribe)
    #expect(texts.of("snapshot").first?.contains("\"data\":{\"all\":[\"A\",\"c\"]}") == true, "\(texts)")
    #expect(world.publishers[0].takeDocumentDemands().isEmpty)
    // Twice does no harm.
    show(world, document())
    #expect(first.texts.of("snapshot").count == 1)
    first.leave()
    second.leave()
    world.run(milliseconds: 200)
    #expect(world.publishers[0].takeDocumentDemands() == [.unwanted(Self.name)])
    publish(world, changed: [(4, "4")])
    #expect(first.faults.isEmpty && second.faults.isEmpty)
  }

  @Test("a client whose owner changes loses the stream; one without an owner gets none")
  func owners() {
    let world = World()
    world.hubs[0].asksForTokens = true
    let client = world.client()
    client.authorize(Grant(subject: "a", owner: "key:a"))
    #expect(client.ask(Self.subscribe).of("subscribed").first?.contains("\"failed\":[]") == true)
    #expect(world.publishers[0].takeDocumentDemands() == [.wanted(StreamDocumentName(.alerts, "key:a"))])
    client.authorize(Grant(subject: "b", owner: "key:b"))
    world.settle()
    #expect(client.notices.contains { $0["code"] as? String == "forbidden" })
    let nobody = world.client()
    nobody.authorize(Grant(subject: "anonymous"))
    #expect(nobody.ask(Self.subscribe).of("subscribed").first?.contains("\"code\":\"forbidden\"") == true)
  }

  @Test("entries stay in the order of their keys, whatever comes, as a dictionary has them; seed in the failure")
  func entries() {
    var random = SystemRandomNumberGenerator()
    let seed = random.next()
    var state = seed
    var model: [UInt64: String] = [:]
    var document = document()
    for _ in 0..<2_000 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let key = (state >> 33) % 50
      if (state >> 40) % 3 == 0 {
        document.remove(key)
        model[key] = nil
      } else {
        document.set(entry(key, "\(state)"))
        model[key] = "\(state)"
      }
    }
    var out = ByteBuffer()
    document.append(now: Timestamp(microseconds: 0), to: &out)
    let expected = model.sorted { $0.key < $1.key }.map(\.value).joined(separator: ",")
    #expect(out.description == "{\"all\":[\(expected)]}", "seed \(seed)")
    document.keepLast(3)
    #expect(document.entries.map(\.key) == model.keys.sorted().suffix(3))
  }
}
