import Foundation
import TestSupport
import Testing

@testable import TidegateClient

/// A client against a gateway that drops messages, connections and itself, at random; a judge that shares no code with
/// the client compares what the app was told with what happened.
@Suite("Faults, judged")
struct FaultScriptTests {
  @Test("nothing is missed without being told, and no wrong book is shown as right", arguments: testSeeds(20))
  func judged(seed: UInt64) throws {
    var trial = FaultTrial(seed: seed, hasFaults: true)
    try trial.run(steps: 600)
  }

  @Test("without faults nothing is said to be missing", arguments: testSeeds(5))
  func calm(seed: UInt64) throws {
    var trial = FaultTrial(seed: seed, hasFaults: false)
    try trial.run(steps: 600)
    #expect(trial.judge.gaps == 0 && trial.judge.stales == 0, "seed \(seed)")
    #expect(trial.judge.trades.count > 100, "seed \(seed)")
  }

  @Test("the judge sees what is missing")
  func judge() {
    var judge = FaultJudge()
    for id in [1, 2, 5] { judge.take(trade: id) }
    #expect(judge.problems == ["trade 5 after 2"])
    judge.gap()
    judge.take(trade: 9)
    judge.take(trade: 9)
    #expect(judge.problems == ["trade 5 after 2", "trade 9 after 9"])
    judge.take(book: "a", among: ["b"])
    #expect(judge.problems.count == 3)
    judge.take(document: 4)
    judge.take(document: 6)
    #expect(judge.problems.count == 4)
    judge.gap(documents: 2)
    judge.take(document: 9)
    judge.gap(documents: 2)
    judge.take(document: 11)
    #expect(judge.problems.count == 5, "the number that is said must be right")
  }
}

/// What an app was told, and what cannot have been.
struct FaultJudge {
  private(set) var problems: [String] = []
  private(set) var trades: [Int] = []
  private(set) var gaps = 0
  private(set) var stales = 0
  private(set) var book: String?
  private(set) var lastDocument = 0
  private var isGap = false
  /// Documents that the client said are missing; nil: some, as many as it may be.
  private var missingDocuments: Int? = 0

  mutating func take(trade id: Int) {
    if let last = trades.last, id != last + 1, !(isGap && id > last) { problems.append("trade \(id) after \(last)") }
    trades.append(id)
    isGap = false
  }

  mutating func gap() {
    gaps += 1
    isGap = true
  }

  mutating func take(document number: Int) {
    let skipped = lastDocument == 0 ? 0 : number - lastDocument - 1
    if skipped != missingDocuments ?? max(0, skipped) {
      problems.append("document \(number) after \(lastDocument), and \(missingDocuments ?? -1) said to be missing")
    }
    lastDocument = number
    missingDocuments = 0
  }

  mutating func gap(documents: Int?) { missingDocuments = documents }

  mutating func take(book: String, among states: Set<String>) {
    if !states.contains(book) { problems.append("a book that never was: \(book)") }
    self.book = book
  }

  mutating func stale() {
    stales += 1
    book = nil
  }
}

private struct FaultTrial {
  private let seed: UInt64
  private let hasFaults: Bool
  private var random: SeededGenerator
  private var client: CoreHarness
  private var gateway = ModelGateway()
  private(set) var judge = FaultJudge()
  /// The connection is there for the gateway, and nothing arrives.
  private var isHalfOpen = false
  private var mayRefuse = true
  /// When the last heartbeat was sent.
  private var beat: UInt64 = 0

  init(seed: UInt64, hasFaults: Bool) {
    self.seed = seed
    self.hasFaults = hasFaults
    random = SeededGenerator(seed: seed)
    client = CoreHarness(
      .all(
        StreamRequest.trades("kraken:BTC-USD").untyped, StreamRequest.book("kraken:BTC-USD").untyped,
        StreamRequest.topic("news", last: 3).untyped), seed: seed)
  }

  /// What no gateway sends: each costs the connection, or nothing.
  private static let hostile = [
    "{", "null", "[]", #"{"type":7}"#, #"{"type":"update","channel":"trades","stream":-9,"seq":1,"prev":0,"data":{}}"#,
    #"{"type":"update","channel":"book","stream":12,"seq":"x","prev":1,"data":{}}"#,
    #"{"type":"update","channel":"topic","stream":16,"seq":1e99,"data":{"documents":[]}}"#,
    #"{"type":"heartbeat","sent":9223372036854775807,"feeds":{}}"#, #"{"type":"heartbeat","sent":-1,"feeds":[]}"#,
    #"{"type":"notice","code":"lost","stream":12,"from_seq":18446744073709551615,"to_seq":0}"#,
    #"{"type":"notice","code":"drain","reconnect_in_ms":9223372036854775807}"#,
    #"{"type":"subscribed","id":1,"ok":[{"stream":1,"channel":"weather"}],"failed":[{}]}"#,
    String(repeating: "[", count: 5_000),
  ]

  static func text(_ book: OrderBook) -> String {
    book.bids.map { "\($0.price):\($0.size)" }.joined(separator: " ")
  }

  mutating func run(steps count: Int) throws {
    try follow(client.start())
    for _ in 0..<count {
      try step()
      try follow(client.pass(milliseconds: UInt64.random(in: 0...300, using: &random)))
      if client.now - beat >= 1_000_000_000 {
        beat = client.now
        try say([gateway.heartbeat()], mayDrop: false)
      }
    }
    // It heals: after a while everything is as it is at the gateway, or was told to be missing.
    mayRefuse = false
    for _ in 0..<200 {
      try follow(client.pass(milliseconds: 500))
      try say([gateway.heartbeat()], mayDrop: false)
    }
    try say(gateway.trade(), mayDrop: false)
    try say(gateway.write(), mayDrop: false)
    #expect(gateway.isConnected && !isHalfOpen, "seed \(seed)")
    #expect(judge.trades.last == gateway.lastTrade, "seed \(seed)")
    #expect(judge.lastDocument == gateway.lastDocument, "seed \(seed)")
    #expect(judge.book == gateway.text, "seed \(seed)")
    #expect(judge.problems == [], "seed \(seed)")
  }

  private mutating func step() throws {
    // To be moved to another rate is no fault.
    let fault =
      hasFaults ? Int.random(in: 0..<60, using: &random) : Int.random(in: 0..<30, using: &random) == 0 ? 6 : 60
    switch fault {
    case 0: try close(nil)
    case 1: try close([4108, 4202, 1006, 4129].randomElement(using: &random)!)
    case 2: isHalfOpen = gateway.isConnected
    case 3:
      gateway.restart()
      try close(4201, isGatewayGone: true)
    case 4:
      try say([#"{"type":"notice","code":"drain","reconnect_in_ms":700,"deadline":1}"#], mayDrop: false)
    case 5: try say(gateway.lose(Int.random(in: 1...5, using: &random)), mayDrop: false)
    case 6: try say(gateway.slow(), mayDrop: false)
    case 7: try say([Self.hostile.randomElement(using: &random)!], mayDrop: false)
    default:
      if Int.random(in: 0..<4, using: &random) == 0 {
        try say(gateway.write(), mayDrop: hasFaults)
      } else if Bool.random(using: &random) {
        try say(gateway.trade(), mayDrop: hasFaults)
      } else {
        let price = Int.random(in: 1...9, using: &random)
        try say(gateway.change(price: price, size: Int.random(in: 0...3, using: &random)), mayDrop: hasFaults)
      }
    }
  }

  private mutating func close(_ code: UInt16?, isGatewayGone: Bool = false) throws {
    gateway.disconnect()
    guard !isHalfOpen else { return }
    try follow(client.closed(code, "by the script"))
  }

  /// Messages on their way; one in twenty does not arrive.
  private mutating func say(_ messages: [String], mayDrop: Bool) throws {
    guard gateway.isConnected else { return }
    for message in messages where !isHalfOpen && !(mayDrop && random.next() % 20 == 0) {
      try follow(client.receive(message))
      if !gateway.isConnected { return }
    }
  }

  /// Does what the client wants.
  private mutating func follow(_ step: CoreHarness.Step) throws {
    for event in step.events {
      switch event {
      case .value(.trades(let trades), _): for trade in trades { judge.take(trade: Int(trade.id)!) }
      case .value(.book(let book), _): judge.take(book: Self.text(book), among: gateway.states)
      case .value(.topic(let documents), _): for each in documents { judge.take(document: Int(each.number)) }
      case .gap(let info, let missing):
        if info.channel == .topic { judge.gap(documents: missing) } else { judge.gap() }
      case .stale(let info, _): if info.channel == .book { judge.stale() }
      case .value, .resumed, .refused, .dropped: break
      }
    }
    for action in step.actions {
      switch action {
      case .connect:
        gateway.disconnect()
        isHalfOpen = false
        switch hasFaults && mayRefuse ? Int.random(in: 0..<6, using: &random) : 9 {
        case 0:
          let wait = Duration.milliseconds(Int.random(in: 0...900, using: &random))
          let refused = client.act {
            $0.refused(status: 503, retryAfter: wait, reason: "full", now: $1, into: &$2)
          }
          try follow(refused)
        case 1: try follow(client.closed(nil, "no route"))
        default:
          gateway.connect()
          try follow(client.opened())
        }
      case .send(let text):
        guard gateway.isConnected, !isHalfOpen else { continue }
        for reply in try gateway.answer(text) { try follow(client.receive(reply)) }
      case .close:
        gateway.disconnect()
        isHalfOpen = false
      case .refreshToken, .wake: break
      }
    }
  }
}
