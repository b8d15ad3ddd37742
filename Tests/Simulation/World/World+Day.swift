import Gateway

/// A world that goes on for hours, for whoever wants to know what it holds then.
extension World {
  /// What the gateway says of itself at the end of an hour.
  package struct Hour: Sendable {
    /// Since the beginning, 1 or more.
    package var number: Int
    /// The gateway's own figures (`/metrics`) by name, over all venues, without `tidegate_`.
    package var metrics: [String: Double] = [:]
    /// Of the gateway's machine.
    package var descriptors: Int
    /// Connections on the network that are not wholly over.
    package var links: Int
  }

  /// Runs the world of `scenario` for so many hours, with its faults all the while, and calls `look` at the end of
  /// each; then the faults end, the books are compared, and the gateway stops.
  package static func day(_ scenario: Scenario, hours: Int, _ look: (Hour) -> Void) -> Report {
    let world = World(scenario, prints: false)
    world.pass(hours: hours, look)
    return world.finish()
  }

  private func pass(hours: Int, _ look: (Hour) -> Void) {
    do {
      try build()
    } catch {
      return faults.append("the world could not be built: \(error)")
    }
    network.faults = scenario.network
    for (index, client) in clients.enumerated() {
      network.schedule(after: UInt64(index) * 150_000_000) { client.start() }
    }
    for number in 1...hours {
      network.run(for: 3_600 * Self.second)
      guard goesOn else { return }
      look(hour(number))
    }
    calm()
    guard goesOn else { return }
    compare()
    guard goesOn else { return }
    readMetrics()
    stop()
  }

  private func hour(_ number: Int) -> Hour {
    var hour = Hour(
      number: number, descriptors: gatewayHost.openDescriptors, links: network.links.count { !$0.isOver })
    // Another request is made where the network's faults got into the way of the first.
    for _ in 0..<5 where hour.metrics.isEmpty {
      guard let answer = observer.get("/metrics", from: gateway!.internalAddress), answer.status == 200 else {
        continue
      }
      for line in String(decoding: answer.body, as: UTF8.self).split(separator: "\n") where line.first != "#" {
        let words = line.split(separator: " ")
        guard words.count == 2, let value = Double(words[1]) else { continue }
        var name = words[0].prefix { $0 != "{" }.dropFirst("tidegate_".count)
        if name == "feed_books", words[0].contains("state=\"live\"") { name = "feed_books_live" }
        hour.metrics[String(name), default: 0] += value
      }
    }
    return hour
  }
}
