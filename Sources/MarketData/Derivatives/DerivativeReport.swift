import Bytes

/// A message of a venue about a derivative. The market keeps the fields that the message leaves out.
package struct DerivativeReport: Sendable {
  /// A field of a message.
  package enum Said<Value: Sendable & Equatable>: Sendable {
    case nothing
    /// It does not apply: there is no funding, or no index.
    case absent
    case value(Value)

    /// The value; nil if the message has none.
    package var value: Value? { if case .value(let value) = self { value } else { nil } }
  }

  package struct Fields: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let mark = Fields(rawValue: 1 << 0)
    package static let index = Fields(rawValue: 1 << 1)
    package static let fundingRate = Fields(rawValue: 1 << 2)
    package static let fundingInterval = Fields(rawValue: 1 << 3)
    package static let nextFunding = Fields(rawValue: 1 << 4)
    package static let predictedRate = Fields(rawValue: 1 << 5)
    package static let openInterest = Fields(rawValue: 1 << 6)
    package static let openInterestQuote = Fields(rawValue: 1 << 7)
  }

  package var instrument: InstrumentID
  /// The venue's time, or the time of arrival if the venue sends none.
  package var time: Timestamp
  package var source: Derivative.Source
  /// Whether the fields that it does not mention are as they were: the venue sends what changes.
  package var confirmsOthers = false
  /// The fields whose values the dialect computed.
  package var computed: Fields = []

  // The fields of `Derivative`, in its units.
  package var mark = Said<Decimal64>.nothing
  package var index = Said<Decimal64>.nothing
  package var fundingRate = Said<Decimal64>.nothing
  package var fundingInterval = Said<Int64>.nothing
  package var nextFunding = Said<Timestamp>.nothing
  package var predictedRate = Said<Decimal64>.nothing
  package var isContinuous = false
  package var openInterest = Said<Decimal64>.nothing
  package var openInterestQuote = Said<Decimal64>.nothing
  /// Past settlements, in any order; they are no field.
  package var settlements: [FundingSettlement] = []

  package init(instrument: InstrumentID, time: Timestamp, source: Derivative.Source = .venue) {
    self.instrument = instrument
    self.time = time
    self.source = source
  }

  /// Whether it says nothing at all.
  package var isEmpty: Bool { !hasFields && settlements.isEmpty }

  /// Whether it mentions a field.
  var hasFields: Bool {
    switch (mark, index, fundingRate, fundingInterval, nextFunding, predictedRate, openInterest, openInterestQuote) {
    case (.nothing, .nothing, .nothing, .nothing, .nothing, .nothing, .nothing, .nothing): false
    default: true
    }
  }
}
