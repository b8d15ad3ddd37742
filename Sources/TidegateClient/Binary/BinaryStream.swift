import Bytes

/// A stream of binary records, as the reply to its subscription describes it, or as its last snapshot does.
package struct BinaryStream: Sendable, Equatable {
  package var channel: String
  package var symbol: String
  /// Times of records are counted from this one, µs since 1970.
  package var base: Int64
  /// Prices count units of 10^-`priceDigits`, sizes units of 10^-`sizeDigits`; 0…18.
  package var priceDigits: UInt8
  package var sizeDigits: UInt8

  package init(channel: String, symbol: String, base: Int64, priceDigits: UInt8, sizeDigits: UInt8) {
    self.channel = channel
    self.symbol = symbol
    self.base = base
    self.priceDigits = priceDigits
    self.sizeDigits = sizeDigits
  }

  /// Nil if the stream is JSON text.
  init?(_ accepted: ServerMessage.Accepted) {
    guard accepted.encoding == "binary", let base = accepted.base,
      let price = accepted.priceDigits, let size = accepted.sizeDigits,
      (0...Int64(DecimalText.scaleLimit)).contains(price), (0...Int64(DecimalText.scaleLimit)).contains(size)
    else { return nil }
    self.init(
      channel: accepted.channel, symbol: accepted.symbol, base: base, priceDigits: UInt8(price),
      sizeDigits: UInt8(size))
  }
}

/// What a binary message says.
package struct BinaryRecord: Sendable {
  /// The number of its stream.
  package var stream: Int64
  /// The same message in JSON, as `tidegate.v1.json` has it; nil: this version does not know the stream or the kind.
  package var text: [UInt8]?
  /// What the following records of the stream are relative to, if the record says so.
  package var scale: BinaryStream?
}
