import Bytes
import MarketData
import Venues

@testable import VenueSimulator

/// What the client shows, beside what the venue has.
extension VenueTrial {
  func name(_ instrument: Int) -> String {
    instrument >= 0 ? simulated.market.instruments[instrument].instrument.symbol : "-"
  }

  func marketID(of instrument: Int) -> InstrumentID? {
    if let index = indices[instrument] { return index }
    let name = "\(venue.name):\(name(instrument))"
    let index = pipeline.market.instruments.first { $0.instrument.symbol == name }?.instrument.id
    indices[instrument] = index
    return index
  }

  /// - Parameter isLate: after its successor. Bitfinex sends several messages of one level change's id, so the id alone
  ///   does not show which is the newer.
  func delivered(_ truth: SimulatedTruth, isLate: Bool = false) {
    let isWhole = truth.isSnapshot && truth.updateID >= strikes[truth.instrument] ?? .min
    guard var reference = references[truth.instrument] else {
      references[truth.instrument] = Reference(truth: truth, isExcused: strikes[truth.instrument] != nil && !isWhole)
      return
    }
    let newest = reference.truth.updateID
    if oversight.order == .delivered || (isLate ? truth.updateID > newest : truth.updateID >= newest) {
      reference.truth = truth
    }
    if isWhole { reference.isExcused = false }
    references[truth.instrument] = reference
  }

  func check(_ index: Int) {
    guard let reference = references[index], let id = marketID(of: index) else { return }
    let state = pipeline.market[id]
    guard state.bookState == .live else { return }
    let depth = reference.isExcused ? oversight.vouched : oversight.depth
    if reference.isExcused { figures.comparisonsInPart += 1 } else { figures.comparisons += 1 }
    guard depth > 0 else { return }
    let wrong = differences(id, reference.truth, depth, isPart: reference.isExcused)
    for (side, difference) in [("bids", wrong.bids), ("asks", wrong.asks)] {
      guard let difference else { continue }
      report(
        "\(state.instrument.symbol) is live with other \(side) than the venue's at \(reference.truth.updateID): \(difference)"
      )
    }
  }

  /// Whether a live book is the venue's.
  func shows(_ truth: SimulatedTruth) -> Bool {
    guard let id = marketID(of: truth.instrument), pipeline.market[id].bookState == .live else { return false }
    return differences(id, truth, oversight.depth, isPart: false) == (nil, nil)
  }

  private func differences(
    _ id: InstrumentID, _ truth: SimulatedTruth, _ depth: Int, isPart: Bool
  ) -> (bids: String?, asks: String?) {
    let state = pipeline.market[id]
    let scale = TruthScale(simulated.market.instruments[truth.instrument].instrument, state.instrument)
    return (
      scale.difference(state.book.bids, truth.book.bids, depth, isPart: isPart),
      scale.difference(state.book.asks, truth.book.asks, depth, isPart: isPart)
    )
  }
}
