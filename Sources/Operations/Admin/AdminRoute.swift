import HTTPAPI

/// A route of the administration on the internal port, as one value. Two methods of one path are two routes.
/// `Administration.md` lists them; a test compares the two.
struct AdminRoute: Sendable {
  /// The method of `AdminAPI` that answers, now or later.
  typealias Handler = @Sendable (AdminAPI) -> (AdminCall) throws(RequestProblem) -> Void

  /// `GET`, which serves `HEAD` as well, or `POST`.
  let method: String
  /// The path, with `{id}` for a client, `{connection}` for a feed and `{symbol}` for one of its symbols.
  let path: String
  /// What the route does, for the guide.
  let purpose: String
  let parameters: [Route.Parameter]
  let handler: Handler

  init(
    _ method: String, _ path: String, _ purpose: String, parameters: [Route.Parameter] = [],
    _ handler: @escaping Handler
  ) {
    self.method = method
    self.path = path
    self.purpose = purpose
    self.parameters = parameters
    self.handler = handler
  }

  static let prefix = "/admin/"

  /// Takes its connection over if the client may watch.
  static let live = AdminRoute(
    "GET", "/admin/state/live", "The same, a line every second, until the client leaves; at most 16 clients.",
    AdminAPI.tooManyViewers)

  private static let limit = Route.Parameter("limit", .number(1...1_000))

  static let all: [AdminRoute] = [
    AdminRoute(
      "GET", "/admin/state",
      "The state of the gateway in one document ([Operations](Operations.md)), at most a second old.", AdminAPI.state),
    live,
    AdminRoute(
      "GET", "/admin/clients",
      "Clients on the stream, in pages: `after` (the last `id` of the page before), `limit` (1 to 1000).",
      parameters: [Route.Parameter("after", .text("a client's id")), limit], AdminAPI.clients),
    AdminRoute("GET", "/admin/clients/{id}", "One client.", AdminAPI.client),
    AdminRoute(
      "GET", "/admin/clients/{id}/subscriptions",
      "What a client is subscribed to, in pages: `after` (the last `stream`), `limit` (1 to 1000).",
      parameters: [Route.Parameter("after", .ordinal("the number of a stream", upTo: Int(UInt32.max))), limit],
      AdminAPI.subscriptions),
    AdminRoute(
      "POST", "/admin/clients/{id}/hold",
      "Slows a client: all but events at most every `interval_ms` (100, 250, 1000, 5000; 0 ends the hold).",
      parameters: [Route.Parameter("interval_ms", .text("0, 100, 250, 1000 or 5000"), isNeeded: true)], AdminAPI.hold),
    AdminRoute(
      "POST", "/admin/clients/{id}/disconnect",
      "Ends a client's connection with 4120; a client that behaves comes back after a while.", AdminAPI.disconnect),
    AdminRoute("GET", "/admin/feeds", "The connections to venues: state, reason, age, books.", AdminAPI.feeds),
    AdminRoute(
      "POST", "/admin/feeds/{connection}/reconnect",
      "Ends a connection to a venue and opens another; its books are out of sync in the meantime.", AdminAPI.reconnect),
    AdminRoute(
      "POST", "/admin/feeds/{connection}/resync", "Rebuilds every book of a connection from a snapshot.",
      AdminAPI.resync),
    AdminRoute(
      "POST", "/admin/feeds/{connection}/stop",
      "Stops a feed until an operator starts it or the process restarts; its symbols are no longer listed.",
      AdminAPI.stop),
    AdminRoute(
      "POST", "/admin/feeds/{connection}/start", "Starts a stopped feed, as it is configured now.", AdminAPI.start),
    AdminRoute(
      "POST", "/admin/feeds/{connection}/symbols/{symbol}/resync",
      "Rebuilds the book of one symbol, `BTC-USD`, from a snapshot.", AdminAPI.resyncSymbol),
    AdminRoute(
      "POST", "/admin/feeds/{connection}/symbols/{symbol}/stop",
      "Stops one symbol, which is no longer listed; the books of the others stay live.", AdminAPI.stopSymbol),
    AdminRoute(
      "POST", "/admin/feeds/{connection}/symbols/{symbol}/start", "Starts a stopped symbol.", AdminAPI.startSymbol),
    AdminRoute(
      "POST", "/admin/reload",
      "Reads the configuration and all files again, like SIGHUP; the answer lists the changes.", AdminAPI.reload),
    AdminRoute(
      "POST", "/admin/drain", "Closes the clients over `drain.seconds` and ends the gateway, like SIGTERM.",
      AdminAPI.drain),
    AdminRoute("GET", "/admin/configuration", "Every setting with its value.", AdminAPI.configuration),
    AdminRoute(
      "GET", "/admin/upgrade",
      "The progress of an upgrade, and why the last one failed ([Upgrading](Upgrading.md)).", AdminAPI.upgradeState),
    AdminRoute(
      "POST", "/admin/upgrade", "Replaces the process by another one without a gap, like SIGUSR2.", AdminAPI.upgrade),
  ]

  /// The methods of its path.
  var methods: [String] {
    let all = Self.all.filter { $0.path == path }.map(\.method)
    return all.contains("GET") ? all + ["HEAD"] : all
  }

  /// The route of a path, the client or connection in it, and the symbol; nil if no route has this path.
  ///
  /// - Parameter method: decides between routes with the same path.
  static func find(_ path: String, method: String) -> (route: AdminRoute, name: Substring, symbol: Substring)? {
    var others: (route: AdminRoute, name: Substring, symbol: Substring)?
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    for route in all {
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

/// A valid request of an operator.
struct AdminCall {
  /// The client or connection in the path; empty if the route has none.
  let name: Substring
  /// The symbol in the path; empty if the route has none.
  let symbol: Substring
  let query: RequestQuery
  /// Sends the answer. Call it once, on loop 0.
  let reply: (HTTPResponse) -> Void
}
