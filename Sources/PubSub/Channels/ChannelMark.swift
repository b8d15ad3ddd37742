import Bytes
import MarketData

/// The state of a stream's data, where a message has one.
struct ChannelMark {
  /// Why the data is old; nil: it is live again.
  let reason: String?

  /// Appends `,"state":"syncing","reason":"…"`.
  func append(to out: inout ByteBuffer) {
    guard let reason else { return out.append(",\"state\":\"live\"") }
    out.append(",\"state\":\"syncing\",\"reason\":")
    out.append(json: reason)
  }
}

extension InstrumentState {
  /// What a message that tells a channel's change says.
  func mark(_ channel: MarketChannel) -> ChannelMark {
    ChannelMark(reason: isSilent(channel) ? channel.silenceReason : nil)
  }

  /// What other messages of the data say; nil while it is live. Figures of a ticker are old if the ticker is, or if
  /// trades are.
  func silenceMark(_ channels: MarketChannel...) -> ChannelMark? {
    channels.first(where: isSilent).map(mark)
  }
}
