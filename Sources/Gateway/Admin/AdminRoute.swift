/// A route of the administration on the internal port. `Administration.md` lists them; a test compares the two.
enum AdminRoute: CaseIterable, Sendable {
  case state, live, clients, client, subscriptions, hold, disconnect, feeds, reconnect, resync, stop, start
  case resyncSymbol, stopSymbol, startSymbol, reload, drain, configuration
  case upgradeState, upgrade

  var method: String {
    switch self {
    case .state, .live, .clients, .client, .subscriptions, .feeds, .configuration, .upgradeState: "GET"
    case .hold, .disconnect, .reconnect, .resync, .stop, .start, .resyncSymbol, .stopSymbol, .startSymbol, .reload,
      .drain, .upgrade:
      "POST"
    }
  }

  /// The methods of its path.
  var methods: [String] {
    let all = Self.allCases.filter { $0.path == path }.map(\.method)
    return all.contains("GET") ? all + ["HEAD"] : all
  }

  /// The path, with `{id}` for a client, `{connection}` for a feed and `{symbol}` for one of its symbols.
  var path: String {
    switch self {
    case .state: "/admin/state"
    case .live: "/admin/state/live"
    case .clients: "/admin/clients"
    case .client: "/admin/clients/{id}"
    case .subscriptions: "/admin/clients/{id}/subscriptions"
    case .hold: "/admin/clients/{id}/hold"
    case .disconnect: "/admin/clients/{id}/disconnect"
    case .feeds: "/admin/feeds"
    case .reconnect: "/admin/feeds/{connection}/reconnect"
    case .resync: "/admin/feeds/{connection}/resync"
    case .stop: "/admin/feeds/{connection}/stop"
    case .start: "/admin/feeds/{connection}/start"
    case .resyncSymbol: "/admin/feeds/{connection}/symbols/{symbol}/resync"
    case .stopSymbol: "/admin/feeds/{connection}/symbols/{symbol}/stop"
    case .startSymbol: "/admin/feeds/{connection}/symbols/{symbol}/start"
    case .reload: "/admin/reload"
    case .drain: "/admin/drain"
    case .configuration: "/admin/configuration"
    case .upgradeState, .upgrade: "/admin/upgrade"
    }
  }

  /// What the route does, for the guide.
  var purpose: String {
    switch self {
    case .state: "The state of the gateway in one document ([Operations](Operations.md)), at most a second old."
    case .live: "The same, a line every second, until the client leaves; at most 16 clients."
    case .clients: "Clients on the stream, in pages: `after` (the last `id` of the page before), `limit` (1 to 1000)."
    case .client: "One client."
    case .subscriptions: "What a client is subscribed to, in pages: `after` (the last `stream`), `limit` (1 to 1000)."
    case .hold:
      "Slows a client: all but events at most every `interval_ms` (100, 250, 1000, 5000; 0 ends the hold)."
    case .disconnect: "Ends a client's connection with 4120; a client that behaves comes back after a while."
    case .feeds: "The connections to venues: state, reason, age, books."
    case .reconnect: "Ends a connection to a venue and opens another; its books are out of sync in the meantime."
    case .resync: "Rebuilds every book of a connection from a snapshot."
    case .stop: "Stops a feed until an operator starts it or the process restarts; its symbols are no longer listed."
    case .start: "Starts a stopped feed, as it is configured now."
    case .resyncSymbol: "Rebuilds the book of one symbol, `BTC-USD`, from a snapshot."
    case .stopSymbol: "Stops one symbol, which is no longer listed; the books of the others stay live."
    case .startSymbol: "Starts a stopped symbol."
    case .reload: "Reads the configuration and all files again, like SIGHUP; the answer lists the changes."
    case .drain: "Closes the clients over `drain.seconds` and ends the gateway, like SIGTERM."
    case .configuration: "Every setting with its value."
    case .upgradeState: "The progress of an upgrade, and why the last one failed ([Upgrading](Upgrading.md))."
    case .upgrade: "Replaces the process by another one without a gap, like SIGUSR2."
    }
  }

  var parameters: [Route.Parameter] {
    let limit = Route.Parameter("limit", .number(1...1_000))
    return switch self {
    case .clients: [Route.Parameter("after", .text("a client's id")), limit]
    case .subscriptions: [Route.Parameter("after", .ordinal("the number of a stream", upTo: Int(UInt32.max))), limit]
    case .hold: [Route.Parameter("interval_ms", .text("0, 100, 250, 1000 or 5000"), isNeeded: true)]
    default: []
    }
  }

  static let prefix = "/admin/"

  /// The route of a path, the client or connection in it, and the symbol; nil if no route has this path.
  ///
  /// - Parameter method: decides between routes with the same path.
  static func find(_ path: String, method: String) -> (route: AdminRoute, name: Substring, symbol: Substring)? {
    var others: (route: AdminRoute, name: Substring, symbol: Substring)?
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    for route in allCases {
      let pattern = route.path.split(separator: "/", omittingEmptySubsequences: false)
      guard pattern.count == parts.count else { continue }
      var name: Substring = ""
      var symbol: Substring = ""
      let fits = zip(pattern, parts).allSatisfy { wanted, part in
        guard wanted.hasPrefix("{") else { return wanted == part }
        if wanted == "{symbol}" { symbol = part } else { name = part }
        return !part.isEmpty
      }
      guard fits else { continue }
      if route.method == method { return (route, name, symbol) }
      others = others ?? (route, name, symbol)
    }
    return others
  }
}
