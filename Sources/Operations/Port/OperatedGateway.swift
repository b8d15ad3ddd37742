import Feeds
import HTTP1
import HTTPAPI
import Logging
import PubSub
import Transport

/// The gateway as its operators see it from the loop that answers them. Used on that loop only.
package protocol OperatedGateway: APIGateway {
  /// All loops, in the order of their indices.
  var loops: [EventLoop] { get }
  /// The name of this node, and the epoch of its stream numbers.
  var identity: (node: String, epoch: String) { get }
  /// Feeds that must be live before the gateway counts as ready, 0 and more.
  var readyFeeds: Int { get }
  var isDraining: Bool { get }
  /// Host names that the internal port accepts, beside addresses and localhost.
  var internalHosts: [String] { get }
  var log: Logger { get }
  /// Logs refused operators, if configured.
  var refusalLog: RefusalLog? { get }

  /// Keeps a session of the internal port, which is no client, and watches its time limits.
  func keep(_ session: HTTPSession, for connection: Connection)
  /// The connection is gone, or has another handler.
  func release(_ connection: Connection)

  /// Runs `question` on the loop with that index, and `then` with its result back on this one.
  func askLoop<Value: Sendable>(
    _ loop: Int, _ question: @escaping @Sendable (any OperatedLoop) -> Value, then: @escaping (Value) -> Void)
}

extension OperatedGateway {
  /// Asks every loop, and passes on the answers in the order of the loops.
  func askLoops<Value: Sendable>(
    _ question: @escaping @Sendable (any OperatedLoop) -> Value, then: @escaping ([Value]) -> Void
  ) {
    let answers = LoopAnswers<Value>(count: loops.count)
    for loop in loops.indices {
      askLoop(loop, question) { answer in
        if let all = answers.take(answer, of: loop) { then(all) }
      }
    }
  }
}

/// The answers of the loops to one question, on the loop that asked.
private final class LoopAnswers<Value> {
  private var values: [Value?]
  private var missing: Int

  init(count: Int) {
    values = Array(repeating: nil, count: count)
    missing = count
  }

  /// Takes an answer; returns all of them with the last one.
  func take(_ value: Value, of loop: Int) -> [Value]? {
    values[loop] = value
    missing -= 1
    return missing == 0 ? values.compactMap(\.self) : nil
  }
}

/// One loop of the gateway, as the question of an operator on that loop sees it.
package protocol OperatedLoop: AnyObject {
  var loop: EventLoop { get }
  var hub: SubscriberHub { get }

  /// O(feeds).
  var totals: LoopTotals { get }
  /// O(clients + instruments).
  var figures: LoopFigures { get }
  /// O(clients + instruments).
  /// - Parameter pace: of this loop.
  func state(_ pace: LoopPace) -> NodeState

  // MARK: Clients

  /// A page of the loop's clients, in the order of their slots. O(slots).
  func clientReports(from slot: Int, limit: Int) -> [ClientReport]
  /// One client; nil if it has gone.
  func clientReport(of client: ClientID) -> ClientReport?
  /// Ends a client's connection with 4120.
  func disconnect(_ client: ClientID, reason: String)

  // MARK: Feeds

  /// All of the loop's feeds, those that were stopped included. O(instruments).
  var feedReports: [FeedConnectionReport] { get }
  /// The reports of the loop's feeds, with entries where the venue or the connection is called `name`.
  func feedErrors(of name: String) -> [FeedErrorReport]
  /// Performs an order about a whole feed; false if the feed is not on this loop.
  func perform(_ order: FeedOrder, on connection: String) -> Bool
  /// Performs an order about one symbol; nil if the feed is not on this loop.
  func perform(_ order: SymbolOrder, on symbol: String, of connection: String) -> FeedSession.SymbolOutcome?
}

/// An order about a whole feed.
package enum FeedOrder: Sendable {
  /// End the connection and open another.
  case reconnect
  /// Rebuild every book.
  case resync
  /// End the feed.
  case stop
}

/// An order about a single symbol of a feed.
package enum SymbolOrder: Sendable { case stop, start, resync }
