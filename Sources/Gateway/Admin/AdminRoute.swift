/// A route of the administration on the internal port. `Administration.md` lists them; a test compares the two.
enum AdminRoute: CaseIterable, Sendable {
  case clients, client, disconnect, feeds, reconnect, resync, stop, start, reload, drain, configuration

  var method: String {
    switch self {
    case .clients, .client, .feeds, .configuration: "GET"
    case .disconnect, .reconnect, .resync, .stop, .start, .reload, .drain: "POST"
    }
  }

  /// The path, with `{id}` for a client and `{connection}` for a feed.
  var path: String {
    switch self {
    case .clients: "/admin/clients"
    case .client: "/admin/clients/{id}"
    case .disconnect: "/admin/clients/{id}/disconnect"
    case .feeds: "/admin/feeds"
    case .reconnect: "/admin/feeds/{connection}/reconnect"
    case .resync: "/admin/feeds/{connection}/resync"
    case .stop: "/admin/feeds/{connection}/stop"
    case .start: "/admin/feeds/{connection}/start"
    case .reload: "/admin/reload"
    case .drain: "/admin/drain"
    case .configuration: "/admin/configuration"
    }
  }

  /// What it does, for the guide.
  var purpose: String {
    switch self {
    case .clients: "Clients on the stream, in pages: `after` (the last `id` of the page before), `limit` (1 to 1000)."
    case .client: "One client."
    case .disconnect: "Ends a client's connection with 4120; a client that behaves comes back after a while."
    case .feeds: "The connections to venues: state, reason, age, books."
    case .reconnect: "Ends a connection to a venue and makes another; its books are out of sync meanwhile."
    case .resync: "Has every book of a connection rebuilt from a snapshot."
    case .stop: "Ends a feed until it is started again, or the process is; it is listed no more."
    case .start: "Begins a feed that was stopped, as it is configured now."
    case .reload: "Reads the configuration and all files again, like SIGHUP, and answers what has changed."
    case .drain: "Sends the clients away and ends the gateway, like SIGTERM."
    case .configuration: "Every setting with its value."
    }
  }

  var parameters: [Route.Parameter] {
    self == .clients
      ? [
        Route.Parameter(name: "after", allowed: "a client's id"), Route.Parameter(name: "limit", allowed: "1 to 1000"),
      ]
      : []
  }

  static let prefix = "/admin/"

  /// The route of a path, and the client or connection in it; nil if there is none.
  static func find(_ path: String) -> (route: AdminRoute, name: Substring)? {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    for route in allCases {
      let pattern = route.path.split(separator: "/", omittingEmptySubsequences: false)
      guard pattern.count == parts.count else { continue }
      var name: Substring = ""
      let fits = zip(pattern, parts).allSatisfy { wanted, part in
        guard wanted.hasPrefix("{") else { return wanted == part }
        name = part
        return !part.isEmpty
      }
      if fits { return (route, name) }
    }
    return nil
  }
}
