import Bytes
import Foundation
import Testing
import TidegateClient

@testable import PubSub

/// A client that follows the rules of the protocol and records where the server does not.
final class ModelClient {
  struct Stream {
    var channel: String
    var symbol: String
    var epoch = ""
    var interval = 0
    var seq: UInt64?
    var bids: [String: String] = [:]
    var asks: [String: String] = [:]
    var depth = 0
  }
  // Strong, and so a cycle: a test may keep only its client.
  let world: World
  let loop: Int
  let id: ClientID
  /// Whether it takes binary records; it reads them as the client library does.
  let isBinary: Bool
  /// What it knows of the streams whose messages are records.
  private var scales: [Int64: BinaryStream] = [:]
  /// The records in order, as bytes, with what was known of their streams, and the text that they stand for.
  var records: [(bytes: [UInt8], stream: BinaryStream, text: String)] = []
  /// Whether `frames` gets all frames taken, as bytes.
  var keepsFrames = false
  var frames: [SharedBytes] = []
  var isStuck = false
  var session = ""
  var hasLeft = false
  /// What was owed when it came back, to be compared: the streams as the one before had them.
  var resumed: [Int: Stream] = [:]
  /// Messages in order, as text.
  var texts: [String] = []
  var streams: [Int: Stream] = [:]
  var dataFrames = 0
  /// Of all frames taken.
  var bytes = 0
  /// The last bid seen, in tenths.
  var lastQuote: Int?
  var faults: [String] = []
  /// Trade ids received or known to be lost, by stream.
  var tradeIDs: [Int: [UInt64]] = [:]
  var lostEvents = 0
  var notices: [[String: Any]] = []
  var snapshotReasons: [String] = []
  /// The book at each seq, to be compared between clients.
  var bookAt: [String: String] = [:]

  init(world: World, loop: Int, id: ClientID, isBinary: Bool = false) {
    self.isBinary = isBinary
    self.world = world
    self.loop = loop
    self.id = id
  }

  func send(_ text: String) {
    var actions: [HubAction] = []
    world.hubs[loop].receive(Array(text.utf8).span.bytes, from: id, now: world.now, into: &actions)
    world.post(actions, from: loop)
  }

  /// How long its next bytes have to wait, µs.
  var inputDelay: Int64 { world.hubs[loop].inputDelay(of: id, now: world.now) }

  func sendControlFrame() {
    var actions: [HubAction] = []
    world.hubs[loop].receiveControlFrame(from: id, now: world.now, into: &actions)
    world.post(actions, from: loop)
  }

  /// Sends, settles, and returns what came.
  func ask(_ text: String) -> [String] {
    let before = texts.count
    send(text)
    world.settle()
    return Array(texts[before...])
  }

  func authorize(_ grant: Grant) {
    var actions: [HubAction] = []
    world.hubs[loop].authorize(id, grant, now: world.now, into: &actions)
    world.post(actions, from: loop)
  }

  /// Makes it somebody's, as if a token had said so.
  func setSubject(_ subject: String) {
    guard let state = world.hubs[loop].state(of: id), var grant = state.grant else { return }
    grant.subject = subject
    state.setGrant(grant, deadline: state.deadline)
  }

  func refuse(_ why: String, code: UInt16 = CloseCode.unauthorized) {
    var actions: [HubAction] = []
    world.hubs[loop].refuse(id, why: why, code: code, now: world.now, into: &actions)
    world.post(actions, from: loop)
  }

  func leave() {
    var actions: [HubAction] = []
    world.hubs[loop].close(id, into: &actions)
    world.post(actions, from: loop)
    isStuck = true
    hasLeft = true
  }

  /// A new connection that goes on where this one stopped; returns it when all is settled.
  func comeBack(on loop: Int = 0, session: String? = nil, subject: String? = nil) -> ModelClient {
    let back = resumeRequest(on: loop, session: session, subject: subject)
    world.settle()
    return back
  }

  /// The same, with the request only sent.
  func resumeRequest(on loop: Int, session: String? = nil, subject: String? = nil) -> ModelClient {
    let back = world.client(on: loop, isBinary: isBinary)
    if let subject { back.setSubject(subject) }
    let items = streams.sorted { $0.key < $1.key }.compactMap { number, stream -> String? in
      guard let seq = stream.seq else { return nil }
      let depth = stream.channel == "book" ? ",\"depth\":\(stream.depth == 0 ? "\"full\"" : "\(stream.depth)")" : ""
      return
        "{\"channel\":\"\(stream.channel)\",\"symbol\":\"\(stream.symbol)\"\(depth),\"interval_ms\":\(stream.interval)"
        + ",\"stream\":\(number),\"epoch\":\"\(stream.epoch)\",\"seq\":\(seq)}"
    }
    back.resumed = streams
    back.send(
      "{\"op\":\"hello\",\"id\":1,\"resume\":{\"session\":\"\(session ?? self.session)\",\"streams\":[\(items.joined(separator: ","))]}}"
    )
    return back
  }

  func unsent(_ bytes: Int) { world.hubs[loop].setUnsent(bytes, for: id, now: world.now) }

  func take(byteLimit: Int = .max) {
    var frames: [SharedBytes] = []
    var actions: [HubAction] = []
    // As the gateway does: the short way first.
    if let turn = world.hubs[loop].takeTurn(from: id) {
      let parts = Self.frames(in: turn.bytes)
      #expect(parts.count == turn.frames)
      frames += parts
    }
    world.hubs[loop].take(from: id, byteLimit: byteLimit, now: world.now, into: &frames, actions: &actions)
    world.post(actions, from: loop)
    for frame in frames {
      bytes += frame.count
      if keepsFrames { self.frames.append(frame) }
      receive(frame)
    }
  }

  /// The unmasked frames that stand side by side (RFC 6455 section 5.2).
  private static func frames(in bytes: UnsafeRawBufferPointer) -> [SharedBytes] {
    var frames: [SharedBytes] = []
    var rest = bytes[...]
    while rest.count >= 10 {
      let first = rest.startIndex
      let header = rest[first + 1] < 126 ? 2 : rest[first + 1] == 126 ? 4 : 10
      let length =
        header == 2
        ? Int(rest[first + 1]) : rest[(first + 2)..<(first + header)].reduce(0) { $0 << 8 | Int($1) }
      frames.append(SharedBytes(UnsafeRawBufferPointer(rebasing: rest.prefix(header + length))))
      rest = rest.dropFirst(header + length)
    }
    #expect(rest.isEmpty)
    return frames
  }

  /// An unmasked frame (RFC 6455 section 5.2).
  private func receive(_ frame: SharedBytes) {
    let bytes = Array(frame.unsafeBytes)
    let start = bytes[1] < 126 ? 2 : bytes[1] == 126 ? 4 : 10
    guard bytes[0] != 0x82 else { return receive(record: Array(bytes[start...])) }
    #expect(bytes[0] == 0x81)
    receive(String(decoding: bytes[start...], as: UTF8.self))
  }

  private func receive(record message: [UInt8]) {
    if !isBinary { faults.append("a binary message to a client that takes text") }
    do {
      let record = try BinaryDecoder.decode(message) { scales[$0] }
      guard let bytes = record.text, let known = scales[record.stream] else {
        return faults.append("a record of stream \(record.stream), which was not announced")
      }
      if let scale = record.scale { scales[record.stream] = scale }
      let text = String(decoding: bytes, as: UTF8.self)
      records.append((message, known, text))
      receive(text)
    } catch {
      faults.append("\(error): \(message)")
    }
  }

  private func receive(_ text: String) {
    texts.append(text)
    guard let message = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any],
      let type = message["type"] as? String
    else {
      faults.append("not JSON: \(text)")
      return
    }
    faults += WireCheck.problems(message, text)
    switch type {
    case "welcome":
      session = message["session"] as? String ?? ""
      for item in message["ok"] as? [[String: Any]] ?? [] { open(item) }
    case "subscribed": for item in message["ok"] as? [[String: Any]] ?? [] { open(item) }
    case "configured", "notice":
      if type == "notice" { notices.append(message) }
      for item in message["streams"] as? [[String: Any]] ?? [] {
        if let from = item["from"] as? Int { streams[from] = nil }
        open(item)
      }
      if message["code"] as? String == "lost" { lost(message, text) }
    case "unsubscribed": for stream in message["streams"] as? [Int] ?? [] { streams[stream] = nil }
    case "heartbeat":
      if message["sent"] as? Int != dataFrames { faults.append("sent is not \(dataFrames): \(text)") }
    case "snapshot", "update":
      dataFrames += 1
      data(message, isSnapshot: type == "snapshot", text)
    default: break
    }
  }

  private func open(_ item: [String: Any]) {
    guard let number = item["stream"] as? Int else { return }
    if item["encoding"] as? String == "binary" {
      let symbols = item["symbols"] as? [String] ?? []
      let (prices, sizes) = (item["price_digits"] as? [UInt8] ?? [], item["size_digits"] as? [UInt8] ?? [])
      if prices.count != symbols.count || sizes.count != symbols.count { faults.append("digits of members: \(item)") }
      scales[Int64(number)] = BinaryStream(
        channel: item["channel"] as? String ?? "", symbol: item["symbol"] as? String ?? "",
        base: item["base"] as? Int64 ?? 0, priceDigits: item["price_digits"] as? UInt8 ?? 0,
        sizeDigits: item["size_digits"] as? UInt8 ?? 0,
        members: zip(symbols, zip(prices, sizes)).map { symbol, digits in
          BinaryStream.Member(symbol: symbol, priceDigits: digits.0, sizeDigits: digits.1)
        })
    }
    guard streams[number] == nil else { return }
    if item["recovered"] as? Bool == true {
      guard let old = resumed[number] else { return faults.append("recovered, but never had: \(item)") }
      streams[number] = old
      return
    }
    streams[number] = Stream(
      channel: item["channel"] as? String ?? "", symbol: item["symbol"] as? String ?? "",
      epoch: item["epoch"] as? String ?? "", interval: item["interval_ms"] as? Int ?? 0,
      depth: item["depth"] as? Int ?? 0)
    // Trades of a stream without a snapshot begin after this.
    if item["channel"] as? String == "trades" { streams[number]?.seq = item["seq"] as? UInt64 }
  }

  private func lost(_ message: [String: Any], _ text: String) {
    guard let number = message["stream"] as? Int, let from = message["from_seq"] as? UInt64,
      let to = message["to_seq"] as? UInt64, let count = message["count"] as? UInt64, streams[number] != nil
    else { return faults.append("bad notice: \(text)") }
    if let seq = streams[number]?.seq, seq + 1 != from { faults.append("lost from \(from) after \(seq)") }
    if to - from + 1 != count { faults.append("count: \(text)") }
    streams[number]?.seq = to
    lostEvents += message["events"] as? Int ?? 0
  }

  private func data(_ message: [String: Any], isSnapshot: Bool, _ text: String) {
    guard let number = message["stream"] as? Int, var stream = streams[number] else {
      return faults.append("a stream that was not announced: \(text)")
    }
    guard let seq = message["seq"] as? UInt64, let data = message["data"] as? [String: Any] else {
      return faults.append("no seq or data: \(text)")
    }
    if isSnapshot {
      snapshotReasons.append(message["reason"] as? String ?? "")
      stream.bids = [:]
      stream.asks = [:]
      if let old = stream.seq, seq < old { faults.append("seq goes back from \(old): \(text)") }
    } else if message["prev"] as? UInt64 != stream.seq {
      faults.append("prev is not \(String(describing: stream.seq)): \(text)")
    }
    stream.seq = seq
    if stream.channel == "book" {
      if data["state"] as? String == "syncing" {
        stream.bids = [:]
        stream.asks = [:]
      }
      for (name, path) in [("bids", \Stream.bids), ("asks", \Stream.asks)] {
        for level in data[name] as? [[String]] ?? [] {
          stream[keyPath: path][level[0]] = level[1] == "0" ? nil : level[1]
        }
      }
      bookAt["\(number)@\(seq)"] = Self.text(of: stream)
    }
    if stream.channel == "quote", let bid = Double(data["bid"] as? String ?? "") { lastQuote = Int(bid * 10) }
    if stream.channel == "trades", !isSnapshot {
      for trade in data["trades"] as? [[String: Any]] ?? [] {
        tradeIDs[number, default: []].append(UInt64(trade["id"] as? String ?? "") ?? 0)
      }
    }
    streams[number] = stream
  }

  static func text(of stream: Stream) -> String {
    let bids = stream.bids.sorted { Double($0.key)! > Double($1.key)! }.map { "\($0.key)x\($0.value)" }
    let asks = stream.asks.sorted { Double($0.key)! < Double($1.key)! }.map { "\($0.key)x\($0.value)" }
    return bids.joined(separator: " ") + " | " + asks.joined(separator: " ")
  }
}

extension Array where Element == String {
  /// The messages of a type.
  func of(_ type: String) -> [String] { filter { $0.hasPrefix("{\"type\":\"\(type)\"") } }
}
