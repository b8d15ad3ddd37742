/// The session that the next connection continues.
struct SessionResumption: Sendable {
  /// Its token at the gateway; nil: there is none.
  var session: String?
  /// The streams that `hello` asked to resume, by their numbers on the previous connection.
  private var asked: [Int64: StreamItem] = [:]

  /// The items of the streams asked for.
  var items: [StreamItem] { asked.values.map(\.self) }

  /// Asks to resume these streams.
  mutating func ask(_ streams: [(number: Int64, stream: ClientStream)]) {
    asked = Dictionary(streams.map { ($0.number, $0.stream.item) }, uniquingKeysWith: { first, _ in first })
  }

  /// Matches the gateway's reply with the streams asked for, each once: by number, or else by name. O(length).
  mutating func take(
    _ accepted: [ServerMessage.Accepted]
  ) -> [(accepted: ServerMessage.Accepted, key: StreamItem)] {
    defer { asked.removeAll() }
    // The streams of each name, so that each item of a long answer is looked up at once.
    var names: [String: [Int64]] = [:]
    for (number, item) in asked.sorted(by: { $0.key > $1.key }) {
      names["\(item.channel) \(item.symbol)", default: []].append(number)
    }
    return accepted.compactMap { item in
      let name = "\(item.channel) \(item.symbol)"
      var number = asked[item.stream].map { "\($0.channel) \($0.symbol)" == name } == true ? item.stream : nil
      while number == nil, let other = names[name]?.popLast() { number = asked[other] == nil ? nil : other }
      return number.flatMap { asked.removeValue(forKey: $0) }.map { (item, $0) }
    }
  }

  /// Forgets the connection.
  mutating func reset() { asked.removeAll() }
}
