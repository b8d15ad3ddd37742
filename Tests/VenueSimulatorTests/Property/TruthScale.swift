import Bytes
import MarketData

@testable import VenueSimulator

/// Brings a simulated instrument's values and those of its client to one scale. The client's may be the coarser one for
/// a while, where it learns from the values.
struct TruthScale {
  /// By what the client's and the venue's values are multiplied.
  private let price: (client: Int64, venue: Int64)
  private let size: (client: Int64, venue: Int64)

  init(_ simulated: SimulatedInstrument, _ instrument: Instrument) {
    let contract = simulated.contractSize
    price = Self.factors(instrument.priceScale, simulated.priceScale)
    size = Self.factors(instrument.sizeScale, simulated.sizeScale + contract.scale, contract.mantissa)
  }

  private static func factors(_ client: UInt8, _ venue: UInt8, _ unit: Int64 = 1) -> (client: Int64, venue: Int64) {
    (
      Int64(DecimalText.power(venue > client ? venue - client : 0)),
      unit * Int64(DecimalText.power(client > venue ? client - venue : 0))
    )
  }

  /// What is different among the best `depth` levels; nil if nothing is. Both sides stand worst first. `isPart`: there
  /// may be more.
  func difference(_ got: [PriceLevel], _ want: [PriceLevel], _ depth: Int, isPart: Bool) -> String? {
    let count = min(want.count, depth)
    guard isPart ? got.count >= count : got.count == count else {
      return "\(got.count) levels instead of \(want.count)"
    }
    var g = got.count
    var w = want.count
    for rank in 0..<count {
      g &-= 1
      w &-= 1
      if got[g].price &* price.client != want[w].price &* price.venue
        || got[g].size &* size.client != want[w].size &* size.venue
      {
        return "rank \(rank) is \(got[g]) instead of \(want[w])"
      }
    }
    return nil
  }
}
