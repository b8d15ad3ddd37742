import Alerts
import Documents
import HTTP1
import HTTPAPI
import History
import MarketData
import PubSub
import Transport

/// Passes the desk's results to the loops.
struct LoopOutlet: AlertOutlet {
  let nodes: [LoopNode]
  let addresses: WebhookAddresses
  let tls: TLSClientContext
  /// The longest a webhook may take.
  let timeout: Duration

  func watch(_ watch: AlertWatch) {
    for node in nodes { node.loop.execute { node.alerts.watch(watch) } }
  }

  func publish(_ update: StreamDocumentUpdate, of owner: String) {
    let node = nodes[0]
    node.loop.execute { node.alerts.publish(update, to: StreamDocumentName(.alerts, owner)) }
  }

  func send(
    _ delivery: StoredDelivery, to webhook: StoredWebhook, seconds: Int64,
    completion: @escaping @Sendable (String?) -> Void
  ) {
    guard let url = EndpointURL(webhook.url) else { return completion("the URL cannot be read") }
    let loop = nodes[Int(webhook.id) % nodes.count].loop
    let (addresses, tls, timeout) = (addresses, tls, timeout)
    loop.execute {
      WebhookRequest.send(
        delivery.body, delivery: delivery.id, to: url, secret: webhook.secret, seconds: seconds, addresses: addresses,
        tls: tls, loop: loop, timeout: timeout, completion: completion)
    }
  }

  func show(_ document: StreamDocument, of owner: String) {
    let node = nodes[0]
    node.loop.execute { node.alerts.show(document, as: StreamDocumentName(.alerts, owner)) }
  }
}

/// Requests about alerts, and the documents on streams that do not come from a market: alerts and topics.
extension LoopAlerts {
  /// Performs the hub's `.control`.
  func perform(_ request: ControlRequest, number: UInt32, _ grant: Grant, of client: ClientID, _ now: Timestamp) {
    let node: LoopNode = node
    let call: AlertCall
    do throws(ProtocolError) {
      call = try AlertCall(request, grant) { node.hub.refusal(ofSymbol: $0) }
    } catch {
      return node.hub.answer(client, number: number, .failure(error), now: now, into: &node.work.actions)
    }
    desk.perform(call) { answer in
      node.loop.execute {
        node.hub.answer(client, number: number, answer.map(\.fields), now: node.clock.now(), into: &node.work.actions)
      }
    }
  }

  /// Gives streams the documents that they wait for. Loop 0 only; at the end of a turn.
  func meetDemands(_ now: Timestamp) {
    for demand in node.publisher.takeDocumentDemands() {
      switch demand {
      case .wanted(let name) where name.channel == .topic:
        if let document = node.settings.topics.document(name.name) { show(document, as: name) }
      case .wanted(let name), .unwanted(let name):
        switch name.channel {
        case .alerts: desk.demand(demand)
        case .deck: node.decks.demand(demand)
        case .portfolio: node.settings.portfolios.demand(demand)
        default: node.composites.demand(demand)
        }
      }
    }
  }

  /// Shows a whole document to the streams that wait for it. On loop 0.
  func show(_ document: StreamDocument, as name: StreamDocumentName) {
    node.publisher.show(document, as: name, now: node.clock.now(), into: &node.work.outgoing)
  }

  /// Publishes a change of a document. On loop 0.
  func publish(_ update: StreamDocumentUpdate, to name: StreamDocumentName) {
    node.publisher.publish(update, to: name, now: node.clock.now(), into: &node.work.outgoing)
  }

  /// Publishes a topic's new document. On any loop.
  func announce(_ topic: String, _ published: PublishedTopics.News) {
    let first = node.nodes[0]
    first.loop.execute {
      let name = StreamDocumentName(.topic, topic)
      first.alerts.publish(published.update, to: name)
      // Clients that subscribed before the first document begin with it.
      if let document = first.settings.topics.document(topic) { first.alerts.show(document, as: name) }
    }
  }
}
