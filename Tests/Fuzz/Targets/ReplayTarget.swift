import Bytes
import Compatibility
import HTTP1
import HTTPAPI
import MarketData
import PubSub

extension FuzzTarget {
  /// What a client that follows recorded time sends, one a line: a path below `/compat/`, a message (which begins with
  /// a brace), or else a value of `streams`.
  static let replay = FuzzTarget(
    "replay",
    words: [
      "/compat/tardis/replay-normalized?options=", "/compat/tardis/ws-replay-normalized?options=",
      "{\"exchange\":\"kraken\"", ",\"symbols\":[\"XBT/USD\"]", ",\"dataTypes\":[\"trade\"]",
      ",\"from\":\"2026-08-21\"",
      ",\"to\":\"2026-08-22T00:00:00.5Z\"", "{\"op\":\"seek\",\"time\":", "{\"op\":\"speed\",\"speed\":", "0.01", "max",
      "book:kraken:BTC-USD;depth=full", "trades:kraken:BTC-USD", "9223372036854775807", "\n",
    ]
  ) { (bytes) throws(FuzzFailure) in
    let port = CompatibilityPort(.demo)
    for line in bytes.lines.prefix(100) {
      switch line.first {
      case UInt8(ascii: "/"):
        let target = String(decoding: line, as: UTF8.self)
        let head = HTTPRequestHead(method: "GET", target: target, fields: HTTPFields([]))
        guard port.serves(head.path), let replay = port.replay(head) else { continue }
        switch replay.read(.everything, replayDirectory) {
        case .success(let request):
          try require(!request.keys.isEmpty && request.keys.count <= 100, "\(request.keys.count) streams")
          try require(!request.window.isEmpty, "a window without a moment")
          let moments = Timestamp.readable
          try require(
            moments.contains(request.window.lowerBound) && moments.contains(request.window.upperBound),
            "a window of impossible moments")
        case .failure(let refusal):
          try require(!refusal.reason.isEmpty && refusal.reason.utf8.count <= 123, "a close without a reason that fits")
          try require(refusal.response.status == 400, "a refusal with another status")
        }
      case UInt8(ascii: "{"):
        let control: ReplayControl
        do throws(ReplayControl.Problem) {
          control = try ReplayControl(line.span.bytes)
        } catch {
          try require(!error.message.isEmpty && !error.hint.isEmpty, "refused without a reason")
          continue
        }
        if case .seek(let time) = control { try require(Timestamp.readable.contains(time), "a jump to nowhere") }
      default: try requireStreams(String(decoding: line, as: UTF8.self))
      }
    }
  }

  private static func requireStreams(_ text: String) throws(FuzzFailure) {
    let keys: [StreamKey]
    do throws(ProtocolError) {
      keys = try RecordedStreams.keys(of: [text], for: .everything)
    } catch {
      return try require(!error.message.isEmpty, "refused without a reason")
    }
    try require(keys.count <= RecordedStreams.limit && Set(keys).count == keys.count, "streams twice, or too many")
  }

  private static let replayDirectory: Directory = {
    var directory = Directory()
    let instrument = Instrument(
      id: InstrumentID(0), venue: "kraken", venueSymbol: "BTC/USD", base: "BTC", quote: "USD", priceScale: 1,
      sizeScale: 8)
    directory.entries[instrument.symbol] = DirectoryEntry(
      loop: 0, market: 0, instrument: instrument, bookState: .live)
    return directory
  }()
}
