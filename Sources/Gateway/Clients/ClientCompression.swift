import Bytes
import PubSub
import Settings
import WebSocket

/// The contexts of permessage-deflate that all clients of a loop share: one that compresses, and a few that inflate a
/// message each. An idle client holds none. Confined to its loop.
final class ClientCompression {
  /// The parameters offered to clients: no context takeover, so that all clients get the same bytes.
  let policy: PerMessageDeflate.Policy?
  let inflaters = InflaterPool()
  private let settings: GatewayConfiguration.Compression
  /// Made for the first client that takes compressed messages.
  private var compressor: FrameCompressor?

  init(_ settings: GatewayConfiguration.Compression) {
    self.settings = settings
    let bits = settings.windowBits
    policy =
      settings.enabled ? PerMessageDeflate.Policy(serverWindowBits: bits...bits, clientWindowBits: bits) : nil
  }

  var counts: FrameCompressor.Counts { compressor?.counts ?? .init() }

  /// The form of a frame for a client, plain or compressed.
  @inline(__always)
  func form(_ frame: SharedBytes, for session: StreamSession) -> SharedBytes {
    session.deflates ? compressed(frame) : frame
  }

  /// The compressed form of a turn's frames; made once for all clients that get the same frames.
  func form(_ turn: TurnBytes, of hub: SubscriberHub) -> SharedBytes {
    let form = hub.compressedBytes(of: turn) { compressed($0) }
    if !form.isFirst {
      compressor?.noteReuse(
        frames: form.compressedFrames, bytesBefore: form.bytesBefore, bytesAfter: form.bytesAfter)
    }
    return form.bytes
  }

  private func compressed(_ frame: SharedBytes) -> SharedBytes {
    if let compressor { return compressor.compressed(frame) }
    let made = FrameCompressor(
      thresholdBytes: settings.thresholdBytes, level: settings.level, windowBits: settings.windowBits)
    compressor = made
    return made.compressed(frame)
  }
}
