import Bytes
import MarketData
import TestSupport
import TestTraits
import Testing
import TidegateClient

@testable import PubSub

/// An app with the client library, on a connection to a hub.
private final class App {
  private var core: ClientCore
  private let connection: ModelClient
  private let world: World
  private let subscription: Int
  /// The latest of each stream, as the app has got it, by channel and symbol.
  private(set) var view: [String: String] = [:]
  /// The requests that it sent.
  private(set) var sent: [String] = []
  /// Messages with data.
  private(set) var messages = 0
  private(set) var hasFailed = false
  /// What the gateway's answers are replaced with.
  var answer: (String) -> String = { $0 }

  init(
    _ world: World, _ request: StreamRequest<Payload>, isBinary: Bool, usesGroups: Bool,
    answer: @escaping (String) -> String = { $0 }
  ) {
    var options = ClientOptions()
    options.usesGroups = usesGroups
    core = ClientCore(options: options, seed: 1)
    connection = world.client(isBinary: isBinary)
    connection.keepsFrames = true
    self.world = world
    self.answer = answer
    var actions: [ClientAction] = []
    subscription = core.subscribe(request, now: Self.time(world), into: &actions)
    core.start(now: Self.time(world), into: &actions)
    core.opened(now: Self.time(world), into: &actions)
    perform(actions)
    read()
  }

  private static func time(_ world: World) -> UInt64 { UInt64(world.now.microseconds) * 1_000 }

  private func perform(_ actions: [ClientAction]) {
    for action in actions {
      switch action {
      case .send(let text):
        sent.append(text)
        connection.send(text)
      case .close: hasFailed = true
      case .connect, .refreshToken, .wake: break
      }
    }
  }

  /// Takes what has arrived, and what the app is told of it.
  func read() {
    world.settle()
    // One that is stuck runs as little as it reads.
    guard !isStuck else { return }
    while !connection.frames.isEmpty {
      let frames = connection.frames
      connection.frames = []
      for frame in frames { receive(Array(frame.unsafeBytes)) }
      world.settle()
    }
    var actions: [ClientAction] = []
    if let deadline = core.nextDeadline, deadline <= Self.time(world) {
      core.advance(to: Self.time(world), into: &actions)
    }
    perform(actions)
    while let event = core.next(subscription) {
      switch event {
      case .value(let payload, let info):
        view["\(info.channel.rawValue) \(info.symbol)"] = "\(info.priceIncrement?.description ?? "") \(payload)"
      case .stale(let info, let reason): view["\(info.channel.rawValue) \(info.symbol)"] = "stale \(reason)"
      case .refused(let refusal): view["refused \(refusal.symbol)"] = "\(refusal.code)"
      default: break
      }
    }
  }

  private func receive(_ frame: [UInt8]) {
    let start = frame[1] < 126 ? 2 : frame[1] == 126 ? 4 : 10
    let message = Array(frame[start...])
    var actions: [ClientAction] = []
    if frame[0] == 0x82 {
      messages += 1
      core.receive(binary: message, now: Self.time(world), into: &actions)
    } else {
      let text = answer(String(decoding: message, as: UTF8.self))
      if text.hasPrefix("{\"type\":\"snapshot\"") || text.hasPrefix("{\"type\":\"update\"") { messages += 1 }
      core.receive(Array(text.utf8), now: Self.time(world), into: &actions)
    }
    perform(actions)
  }

  var faults: [String] { connection.faults }
  var isStuck: Bool {
    get { connection.isStuck }
    set { connection.isStuck = newValue }
  }
  func unsent(_ bytes: Int) { connection.unsent(bytes) }
}

@Suite("What an app sees, over JSON and binary records, alone and in groups")
struct AppViewTests {
  private static let symbols = ["kraken:BTC-USD", "kraken:A1-USD", "kraken:A2-USD"]

  private static func request(_ symbols: [String] = symbols) -> StreamRequest<Payload> {
    .all(
      StreamRequest.quote(symbols, every: .milliseconds(100)).untyped, StreamRequest.ticker(symbols).untyped,
      StreamRequest.pulse(symbols).untyped, StreamRequest.sparkline(symbols, points: 8).untyped,
      StreamRequest.book(symbols, depth: .levels10, every: .milliseconds(100)).untyped,
      StreamRequest.trades(symbols).untyped)
  }

  private static func apps(_ world: World, _ request: StreamRequest<Payload>) -> [App] {
    [(false, false), (false, true), (true, false), (true, true)].map { isBinary, usesGroups in
      App(world, request, isBinary: isBinary, usesGroups: usesGroups)
    }
  }

  private func play(_ world: World, steps: Int, seed: UInt64) {
    world.play(steps: steps, seed: seed)
    for instrument in 1...2 {
      let bid = 100 + Int64(seed % 50)
      world.book(0, .snapshot, bids: [(bid, 3)], asks: [(bid + 2, 4)], instrument: instrument)
      world.apply {
        $0.events.append(
          .quote(
            Quote(
              instrument: InstrumentID(instrument), bid: bid, bidSize: 5, ask: bid + 2, askSize: 6, time: world.now)))
      }
    }
    // To the next full second, at which all classes have published.
    world.now = Timestamp(microseconds: (world.now.microseconds / 1_000_000 + 1) * 1_000_000)
    world.tick()
    // What the market itself did at that moment goes out with the next tick of a group.
    world.run(milliseconds: 100)
  }

  @Test("the same values of every stream, whatever the encoding", arguments: testSeeds(8))
  func same(seed: UInt64) {
    let world = World(instruments: 3)
    let apps = Self.apps(world, Self.request())
    for round in 0..<12 as Range<UInt64> {
      if round == 6 { world.playRareChanges() }
      play(world, steps: 20, seed: seed &* 100 &+ round)
      for app in apps { app.read() }
      for app in apps.dropFirst() {
        #expect(app.view.keys.sorted() == apps[0].view.keys.sorted(), "seed \(seed), round \(round)")
        for (name, value) in apps[0].view where app.view[name] != value {
          Issue.record("seed \(seed), round \(round), \(name):\n\(value)\n\(app.view[name] ?? "nothing")")
          return
        }
      }
    }
    // The first market has all channels, the others have quotes and books.
    #expect(apps[0].view.count == 6 + 2 * 2)
    #expect(apps.allSatisfy { !$0.hasFailed && $0.faults.isEmpty })
    // The last two ask for groups, and get fewer messages.
    #expect(apps[3].sent.contains { $0.contains("\"group\":true") })
    #expect(!apps[0].sent.contains { $0.contains("\"group\":true") })
    #expect(apps[3].messages == apps[1].messages && apps[3].messages < apps[2].messages)
  }

  @Test("a slow app has the same values in the end", arguments: testSeeds(4))
  func slow(seed: UInt64) {
    let world = World(instruments: 3)
    let apps = Self.apps(world, Self.request())
    for round in 0..<8 as Range<UInt64> {
      for app in apps where round % 3 == 1 {
        app.isStuck = true
        app.unsent(1_000)
      }
      play(world, steps: 40, seed: seed &* 100 &+ round)
      for app in apps where app.isStuck && round % 3 == 2 {
        app.unsent(0)
        app.isStuck = false
      }
      for app in apps { app.read() }
    }
    play(world, steps: 5, seed: seed)
    // All classes publish, also those to which slow clients were moved.
    world.run(milliseconds: 10_000)
    for app in apps {
      app.read()
      for (name, value) in apps[0].view where !name.hasPrefix("trades") {
        #expect(app.view[name] == value, "seed \(seed): \(name)")
      }
      #expect(!app.hasFailed && app.faults.isEmpty)
    }
  }

  @Test("a gateway without groups, and one without room for another, is asked for each symbol")
  func older() {
    let world = World(instruments: 3)
    play(world, steps: 20, seed: 1)
    let unknownField =
      #""failed":[{"item":0,"channel":"pulse","symbol":"kraken:BTC-USD","#
      + #""error":{"code":"bad_request","message":"there is no field `streams[0].group`"}}]}"#
    let full = #""failed":[{"item":0,"channel":"pulse","error":{"code":"too_many_subscriptions","message":"full"}}]}"#
    for refusal in [unknownField, full] {
      var isRefused = false
      let app = App(
        world, StreamRequest.pulse(Self.symbols).untyped, isBinary: false, usesGroups: true,
        answer: { text in
          guard text.hasPrefix("{\"type\":\"subscribed\""), !isRefused else { return text }
          isRefused = true
          return "{\"type\":\"subscribed\",\(text.split(separator: ",")[1]),\"total\":0,\"ok\":[],\(refusal)"
        })
      app.read()
      #expect(app.sent.count { $0.contains("\"group\":true") } == 1)
      #expect(app.sent.last?.contains("\"symbols\":[\"kraken:A1-USD\",\"kraken:A2-USD\",\"kraken:BTC-USD\"]") == true)
      world.play(steps: 30, seed: 5)
      app.read()
      #expect(app.view["pulse kraken:BTC-USD"] != nil && !app.view.keys.contains { $0.hasPrefix("refused") })
    }
  }

  @Test("a symbol that does not exist is refused, and the others go on")
  func refused() {
    let world = World(instruments: 3)
    let apps = Self.apps(world, StreamRequest.pulse(Self.symbols + ["kraken:NONE-USD"]).untyped)
    world.play(steps: 30, seed: 5)
    for app in apps {
      app.read()
      #expect(app.view["refused kraken:NONE-USD"] == "unknown_symbol")
      #expect(app.view["pulse kraken:BTC-USD"] != nil)
    }
  }
}
