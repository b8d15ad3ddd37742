import Bytes
import MarketData
import Venues
import WebSocket

/// What an exchange sends on one connection, through the whole path to a client: one body for all that the registry
/// has.
///
/// An input is a line a message. The first byte of some lines makes an event of them instead:
///
///     #text         the answer 200 with that body to the oldest REST request, if there is one
///     ?404text      the answer of that status; 500 where there are no three digits
///     !  !60        a second that passes, or so many, up to 600
///     -             the connection is lost and, once the handler is prepared, found again
///     +             a planned change of connection begins, and the next one gets the lines of `VenueScript`
///     +0            the same, and the next one gets nothing by itself
///     +text  +#text  a message or an answer on the next connection, which takes over when it has everything
///     +-            it takes over with what it has
///     =text         the text in a binary frame
///     @text  %text  the text in a binary frame, compressed: as gzip, as raw deflate
///
/// Two bytes at the very beginning open other doors. `^`: nothing has come yet, and the venue's whole list is wanted,
/// with volumes and a selection by rank, so that the lines are its lists from the first on. 0: the rest are WebSocket
/// frames of the venue, which may be compressed (permessage-deflate).
extension FuzzTarget {
  /// A target for each connection that the registry has, by its label.
  static let venues: [FuzzTarget] =
    VenueRegistry.connections.map(target)

  private static func target(_ venue: Venue) -> FuzzTarget {
    FuzzTarget(venue.label) { (bytes) throws(FuzzFailure) in
      let isListed = bytes.first == UInt8(ascii: "^")
      let model = try isListed ? listing(venue) : connected(venue.label)
      if bytes.first == 0 {
        try receive(frames: UnsafeRawBufferPointer(rebasing: bytes.dropFirst()), by: model)
      } else {
        let lines = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(isListed ? 1 : 0)).lines
        for line in lines.prefix(200) { try feed(line, to: model) }
      }
      // It still works: time passes, and the next connection's list and books are taken.
      for _ in 0..<8 { try model.wait(1000) }
      try model.disconnect()
      try model.prepare()
      try require(
        model.pipeline.market.instruments.count <= venue.symbolLimit,
        "\(model.pipeline.market.instruments.count) instruments on a connection of \(venue.symbolLimit)")
    }
  }

  /// The lines after which a connection is in sync, as an input; empty for another target.
  package static func prelude(_ name: String) -> [UInt8] {
    Array((VenueScript.all[name]?.prelude ?? []).joined(separator: "\n").utf8)
  }

  /// A feed in sync, and a client that follows it.
  /// - Parameter label: of a connection, as in `VenueScript.all`.
  static func connected(_ label: String) throws(FuzzFailure) -> StackModel {
    let (venue, script) = try script(of: label)
    let model = StackModel(venue, FeedConfiguration(symbols: script.symbols))
    try model.prepare()
    try model.connectIfPrepared()
    for line in script.prelude { try feed(Array(line.utf8), to: model) }
    try require(
      model.pipeline.market.instruments.contains { $0.bookState == .live }, "no book is live after the script's lines")
    for symbol in script.symbols { try model.subscribe("\(venue.name):\(symbol)") }
    return model
  }

  /// A feed of which nothing has come yet, that is asked for all there is to list.
  private static func listing(_ venue: Venue) throws(FuzzFailure) -> StackModel {
    let symbols = try script(of: venue.label).script.symbols
    guard let first = FeedSymbol(symbols[0]) else { throw FuzzFailure("\(symbols[0]) is no symbol") }
    let rank = "*-\(first.quote)\(first.kind == .perpetual ? "-PERP" : ""):top3"
    let model = StackModel(venue, FeedConfiguration(symbols: symbols + [rank], listing: .volumes))
    try model.prepare()
    try model.connectIfPrepared()
    try model.subscribe("\(venue.name):*")
    return model
  }

  private static func script(of label: String) throws(FuzzFailure) -> (venue: Venue, script: VenueScript) {
    let venues = VenueRegistry.connections
    guard let venue = venues.first(where: { $0.label == label }) else { throw FuzzFailure("there is no \(label)") }
    guard let script = VenueScript.all[label] else {
      throw FuzzFailure("no `extension …: ScriptedVenue` in Tests/Fuzz/Targets/Venues has a script of \(label)")
    }
    return (venue, script)
  }

  private static func feed(_ line: [UInt8], to model: StackModel) throws(FuzzFailure) {
    let rest = Array(line.dropFirst())
    switch line.first {
    case UInt8(ascii: "#"): try model.answer(200, rest)
    case UInt8(ascii: "?"):
      let status = number(rest.prefix(3)).flatMap { (100...599).contains($0) ? $0 : nil }
      try model.answer(status ?? 500, status == nil ? rest : Array(rest.dropFirst(3)))
    case UInt8(ascii: "!"): try model.wait(1000 * Int64(min(600, max(1, number(rest.prefix(3)) ?? 1))))
    case UInt8(ascii: "-"):
      try model.disconnect()
      try model.prepare()
    case UInt8(ascii: "+"): try change(rest, model)
    case UInt8(ascii: "="): try model.receive(rest, isBinary: true)
    case UInt8(ascii: "@"): try refuse(Deflated.gzip(rest), by: model)
    case UInt8(ascii: "%"): try refuse(Deflated.raw(rest), by: model)
    default: try model.receive(line)
    }
    try model.connectIfPrepared()
  }

  private static func change(_ line: [UInt8], _ model: StackModel) throws(FuzzFailure) {
    switch line.first {
    case nil:
      guard !model.isChanging else { return }
      model.beginHandover()
      for text in try script(of: model.pipeline.venue.label).script.prelude where model.isChanging {
        if text == "!" { try model.wait(1000) } else { try change(Array(text.utf8), model) }
      }
    case UInt8(ascii: "0"): model.beginHandover()
    case UInt8(ascii: "-"): try model.takeOverEarly()
    case UInt8(ascii: "#"): model.answerNext(Array(line.dropFirst()))
    default: model.receiveNext(line)
    }
  }

  private static func number(_ digits: some Collection<UInt8>) -> Int? {
    digits.allSatisfy { (0x30...0x39).contains($0) } ? Int(String(decoding: digits, as: UTF8.self)) : nil
  }

  /// No venue here compresses what is in its frames: one that began to would be told of, as binary, and cost no more
  /// than that message.
  private static func refuse(_ frame: [UInt8], by model: StackModel) throws(FuzzFailure) {
    guard model.isConnected else { return }
    let before = model.pipeline.errors.total
    try model.receive(frame, isBinary: true)
    try require(model.pipeline.errors.total == before + 1, "a compressed frame is not told of")
  }

  /// Frames of the venue, however cut, up to the end of the connection.
  private static func receive(frames: UnsafeRawBufferPointer, by model: StackModel) throws(FuzzFailure) {
    // Less than venues may send, or a bomb would take all of a run's time.
    let limits = WebSocketLimits(messageBytes: 64 << 10)
    var connection = WebSocketConnection(role: .client, limits: limits, deflate: PerMessageDeflate())
    var messages: [(bytes: [UInt8], isBinary: Bool)] = []
    for var piece in Cuts.random(frames) {
      var isOpen = true
      piece.withUnsafeMutableBytes { raw in
        var input = raw
        do throws(WebSocketError) {
          while let event = try connection.next(&input) {
            switch event {
            case .text(let payload): messages.append((Array(payload), false))
            case .binary(let payload): messages.append((Array(payload), true))
            case .ping, .pong: break
            case .close: isOpen = false
            }
          }
        } catch {
          isOpen = false
        }
      }
      for message in messages { try model.receive(message.bytes, isBinary: message.isBinary) }
      messages.removeAll()
      guard isOpen else { return }
    }
  }
}
