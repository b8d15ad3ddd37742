import Bytes
import TidegateClient

extension FuzzTarget {
  /// A binary message of a gateway to `TidegateClient`; the number of a stream selects its channel, and whether it is a
  /// group.
  static let binary = FuzzTarget("binary") { (bytes) throws(FuzzFailure) in
    let channels = ["trades", "quote", "book", "pulse", "ticker", "candles", "sparkline", "status"]
    let record: BinaryRecord
    do throws(BinaryError) {
      record = try BinaryDecoder.decode(Array(bytes)) { number in
        guard number % 9 != 8 else { return nil }
        let symbols = number / 9 % 2 == 0 ? [] : ["kraken:BTC-USD", "kraken:ETH-USD"]
        return BinaryStream(
          channel: channels[Int(number % 9)], symbol: "kraken:BTC-USD", base: 1_790_000_000_000_000, priceDigits: 2,
          sizeDigits: 8,
          members: symbols.map { BinaryStream.Member(symbol: $0, priceDigits: 2, sizeDigits: 8) })
      }
    } catch {
      return try require(!error.reason.isEmpty, "refused without a reason")
    }
    guard let text = record.text else { return }
    // A trade of 4 bytes has the longest text for its length.
    try require(text.count <= 300 + 60 * bytes.count, "\(text.count) characters of \(bytes.count) bytes")
    // The members of a composite's book are JSON text of the gateway.
    if String(decoding: text, as: UTF8.self).contains("\"bids\"") { return }
    var json = JSONScanner(text.span.bytes)
    do throws(JSONError) {
      try json.skipValue()
      try json.end()
    } catch {
      throw FuzzFailure("not JSON: \(String(decoding: text, as: UTF8.self))")
    }
  }
}
