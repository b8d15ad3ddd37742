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
  /// Of a group, in order; empty for the stream of one symbol.
  package var members: [Member]

  /// A member of a group.
  package struct Member: Sendable, Equatable {
    package var symbol: String
    package var priceDigits: UInt8
    package var sizeDigits: UInt8

    package init(symbol: String, priceDigits: UInt8, sizeDigits: UInt8) {
      self.symbol = symbol
      self.priceDigits = priceDigits
      self.sizeDigits = sizeDigits
    }
  }

  /// - Parameter members: of a group, whose own digits are 0.
  package init(
    channel: String, symbol: String, base: Int64, priceDigits: UInt8, sizeDigits: UInt8, members: [Member] = []
  ) {
    self.channel = channel
    self.symbol = symbol
    self.base = base
    self.priceDigits = priceDigits
    self.sizeDigits = sizeDigits
    self.members = members
  }

  /// Nil if the stream is JSON text.
  init?(_ accepted: ServerMessage.Accepted) {
    let (prices, sizes) = (accepted.priceDigits, accepted.sizeDigits)
    guard accepted.encoding == "binary", let base = accepted.base,
      (prices + sizes).allSatisfy({ (0...Int64(DecimalText.scaleLimit)).contains($0) })
    else { return nil }
    if accepted.symbols.isEmpty {
      guard prices.count == 1, sizes.count == 1 else { return nil }
      self.init(
        channel: accepted.channel, symbol: accepted.symbol, base: base, priceDigits: UInt8(prices[0]),
        sizeDigits: UInt8(sizes[0]))
    } else {
      guard prices.count == accepted.symbols.count, sizes.count == prices.count else { return nil }
      self.init(
        channel: accepted.channel, symbol: "", base: base, priceDigits: 0, sizeDigits: 0,
        members: accepted.symbols.indices.map {
          Member(symbol: accepted.symbols[$0], priceDigits: UInt8(prices[$0]), sizeDigits: UInt8(sizes[$0]))
        })
    }
  }
}

/// The content of a binary message.
package struct BinaryRecord: Sendable {
  /// The number of its stream.
  package var stream: Int64
  /// The same message in JSON, as `tidegate.v1.json` has it; nil: this version does not know the stream or the kind.
  package var text: [UInt8]?
  /// The base time and scales of the records that follow, if the record sets them.
  package var scale: BinaryStream?
}
