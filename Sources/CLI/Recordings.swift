import Bytes
import Gateway
import HTTP1
import MarketData
import Recordings
import VenueSimulator
import Venues

/// Loads a whole recording for a simulated exchange, with the gateway's symbols of its markets.
func loadRecording(_ path: String) throws(RecordingError) -> (RecordedSource, symbols: [String]) {
  let source = try ReplaySource(path: path)
  let endpoint = EndpointURL(source.venue.endpoint)
  var recording = RecordedSource(venue: source.venue.name, path: endpoint?.target ?? "/")
  let reader = try RecordingReader(path: path)
  func fail(_ field: String, _ reason: String) -> RecordingError {
    RecordingError(path: path, line: reader.lineNumber, field: field, reason)
  }
  while let record = try reader.next() {
    var isTaken = true
    switch record.kind {
    case .text, .binary:
      // An instrument list that is part of the stream and was not recorded comes first.
      if recording.count == 0, !source.preamble.isEmpty {
        _ = source.preamble.withUnsafeBytes { recording.add(frame: $0, at: record.time) }
      }
      isTaken = recording.add(frame: reader.payload.unsafeBytes, at: record.time)
    case .http:
      isTaken = recording.add(
        answer: reader.payload.unsafeBytes, to: record.url ?? "", status: record.status, at: record.time)
    // One session plays all connections; the client sends its own requests again.
    case .open, .sent, .close, .gap, .state: break
    }
    if !isTaken {
      throw fail("m", "more than \(RecordedSource.byteLimit >> 20) MB of frames; simulate holds them in memory")
    }
  }
  guard recording.count > 0 else { throw RecordingError(path: path, "has no frames to send") }
  if let url = source.instrumentsURL, !recording.hasAnswer(to: url), !source.instruments.isEmpty {
    let isAdded = source.instruments.withUnsafeBytes {
      recording.add(answer: $0, to: url, status: 200, at: .distantPast)
    }
    precondition(isAdded, "a list made from the header is small")
  }
  return (recording, source.symbols)
}
