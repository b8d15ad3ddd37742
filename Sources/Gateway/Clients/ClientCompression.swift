import Bytes
import WebSocket

/// The contexts of permessage-deflate that all clients of a loop share: one that compresses, a few that inflate for the
/// time of a message. An idle client holds none. Confined to its loop.
final class ClientCompression {
  /// What is agreed on with clients: nothing is taken over from message to message, so that what is sent is the same
  /// for all.
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

  /// The form of a frame that a client takes.
  @inline(__always)
  func form(_ frame: SharedBytes, for session: StreamSession) -> SharedBytes {
    session.deflates ? compressed(frame) : frame
  }

  private func compressed(_ frame: SharedBytes) -> SharedBytes {
    if let compressor { return compressor.compressed(frame) }
    let made = FrameCompressor(
      thresholdBytes: settings.thresholdBytes, level: settings.level, windowBits: settings.windowBits)
    compressor = made
    return made.compressed(frame)
  }
}
