/// `alerts`: the rules of an owner, and their firings. The gateway makes the documents.
enum AlertsChannel: Channel {
  static let facts = ChannelFacts(
    source: .documents, names: .nothing, audience: .owner, rate: .fixed(0))
  static let data = WireDescription.ChannelData(["kept", "alerts"], update: ["alerts", "removed", "firings"])

  static func ringLimits(of key: StreamKey) -> ReplayRing.Limits? { .differences(snapshotBytes: 64 << 10) }

  static func document(of key: StreamKey) -> StreamDocumentName? {
    key.owner.map { StreamDocumentName(.alerts, $0) }
  }
}
