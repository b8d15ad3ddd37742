import Alerts
import MarketData
import PubSub
import Transport

/// The desk's way to the loops.
struct LoopOutlet: AlertOutlet {
  let nodes: [LoopNode]

  func watch(_ watch: AlertWatch) {
    for node in nodes { node.loop.execute { node.alerts?.watch(watch) } }
  }

  func publish(_ update: StreamDocumentUpdate, of owner: String) {
    let node = nodes[0]
    node.loop.execute { node.publish(update, to: StreamDocumentName(.alerts, owner)) }
  }

  func show(_ document: StreamDocument, of owner: String) {
    let node = nodes[0]
    node.loop.execute { node.show(document, as: StreamDocumentName(.alerts, owner)) }
  }
}

/// Alerts and topics: what clients ask, and what streams show that no market makes.
extension LoopNode {
  /// Carries out the hub's `.control`.
  func perform(_ request: ControlRequest, number: UInt32, _ grant: Grant, of client: ClientID, _ now: Timestamp) {
    let call: AlertCall
    do throws(ProtocolError) {
      call = try AlertCall(request, grant) { find($0) }
    } catch {
      return hub.answer(client, number: number, .failure(error), now: now, into: &actions)
    }
    settings.alerts.perform(call) { [self] answer in
      loop.execute { [self] in
        hub.answer(client, number: number, answer.map(\.fields), now: clock.now(), into: &actions)
      }
    }
  }

  /// Why a rule cannot name a symbol; nil if it can.
  func find(_ symbol: String) -> ProtocolError? {
    if hub.directory.entries[symbol] != nil { return nil }
    var lookup = SymbolLookup()
    return hub.explainMissing(symbol, &lookup)
  }

  /// Brings streams what they wait for. Loop 0 only; at the end of a turn.
  func meetDemands() {
    for demand in publisher.takeDocumentDemands() {
      switch demand {
      case .wanted(let name) where name.channel == .topic:
        if let document = settings.topics.document(name.name) { show(document, as: name) }
      case .wanted(let name), .unwanted(let name):
        if name.channel == .alerts { settings.alerts.demand(demand) }
      }
    }
  }

  /// Hands a whole document to the streams that wait for it. On loop 0.
  func show(_ document: StreamDocument, as name: StreamDocumentName) {
    publisher.show(document, as: name, now: clock.now(), into: &outgoing)
  }

  /// Publishes what changed in a document. On loop 0.
  func publish(_ update: StreamDocumentUpdate, to name: StreamDocumentName) {
    publisher.publish(update, to: name, now: clock.now(), into: &outgoing)
  }

  /// Publishes a topic's new document. On any loop.
  func announce(_ topic: String, _ published: PublishedTopics.News) {
    let node = nodes[0]
    node.loop.execute {
      let name = StreamDocumentName(.topic, topic)
      node.publish(published.update, to: name)
      // Those that subscribed before anything was published begin with it.
      if let document = node.settings.topics.document(topic) { node.show(document, as: name) }
    }
  }
}
