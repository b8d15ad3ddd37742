import Bytes

/// The figures of a perpetual or a dated future beside its trades and its book: mark, index, funding, open interest.
///
/// A field that is nil is unknown or does not apply: a dated future has no funding, which is not a funding of 0. Each
/// field has its own source and age, because venues send them at different paces.
package struct Derivative: Sendable, Equatable {
  /// Where a value comes from.
  package enum Source: UInt8, Sendable {
    /// The venue's stream.
    case venue
    /// The venue's answer to a request.
    case polled
    /// The gateway: it follows from other values, or from what is fixed at the venue.
    case computed
  }

  /// A value with its source.
  package struct Fact<Value: Sendable & Equatable>: Sendable, Equatable {
    package var value: Value
    package var source: Source
    /// The venue's time of the message that said or confirmed it, or the time of arrival if the venue sends none.
    package var time: Timestamp

    package init(_ value: Value, _ source: Source, time: Timestamp) {
      self.value = value
      self.source = source
      self.time = time
    }
  }

  package let instrument: InstrumentID
  /// The price at which the venue values positions, in the quote currency.
  package internal(set) var mark: Fact<Decimal64>?
  /// The price of the underlying, in the quote currency.
  package internal(set) var index: Fact<Decimal64>?
  /// A fraction **per `fundingInterval`**: 0.0001 costs longs 0.01 % of their position's value each interval, which
  /// shorts receive. It is what will be settled at `nextFunding`; if `isContinuous`, the present rate.
  package internal(set) var fundingRate: Fact<Decimal64>?
  /// In µs, above 0.
  package internal(set) var fundingInterval: Fact<Int64>?
  /// When `fundingRate` is settled; nil if funding is continuous.
  package internal(set) var nextFunding: Fact<Timestamp>?
  /// The rate of the interval after that, as a fraction per interval.
  package internal(set) var predictedRate: Fact<Decimal64>?
  /// Whether funding is paid all the time, and not at settlements.
  package internal(set) var isContinuous = false
  /// The sum of all long positions, which is that of all short ones, in units of the base asset.
  package internal(set) var openInterest: Fact<Decimal64>?
  /// The same in the quote currency: the venue's figure, or `openInterest` at the mark.
  package internal(set) var openInterestQuote: Fact<Decimal64>?

  package init(instrument: InstrumentID) { self.instrument = instrument }

  /// Whether nothing is known.
  package var isEmpty: Bool {
    mark == nil && index == nil && fundingRate == nil && fundingInterval == nil && nextFunding == nil
      && predictedRate == nil && openInterest == nil && openInterestQuote == nil
  }

  // MARK: Age

  /// After this long without a confirmation a value is not shown any more, µs. Funding comes once a minute or more
  /// often, and polled values every 30 s.
  package static let patience = 3 * Microseconds.minute
  /// The same of the interval of funding, which some venues only state in a list, µs.
  package static let intervalPatience = 3 * Microseconds.hour

  /// The figures as clients see them at `now`: without values that the venue has not confirmed for long, and without a
  /// settlement in the past.
  package func shown(at now: Timestamp) -> Derivative {
    var shown = self
    shown.mark = Self.fresh(mark, now)
    shown.index = Self.fresh(index, now)
    shown.fundingRate = Self.fresh(fundingRate, now)
    shown.predictedRate = Self.fresh(predictedRate, now)
    shown.fundingInterval = Self.fresh(fundingInterval, now, Self.intervalPatience)
    shown.nextFunding = Self.fresh(nextFunding, now).flatMap { $0.value + Self.patience < now ? nil : $0 }
    shown.openInterest = Self.fresh(openInterest, now)
    shown.openInterestQuote = Self.fresh(openInterestQuote, now)
    return shown
  }

  /// The first moment after `now` at which a value that is shown then is not shown any more; never if none is.
  package func nextExpiry(after now: Timestamp) -> Timestamp {
    var next = Timestamp.distantFuture
    func note(_ time: Timestamp?, _ patience: Int64 = Self.patience) {
      guard let time, now - time <= patience else { return }
      next = min(next, time + patience + 1)
    }
    for fact in [mark, index, fundingRate, predictedRate, openInterest, openInterestQuote] { note(fact?.time) }
    note(fundingInterval?.time, Self.intervalPatience)
    note(nextFunding?.time)
    note(nextFunding?.value)
    return next
  }

  private static func fresh<Value>(
    _ fact: Fact<Value>?, _ now: Timestamp, _ patience: Int64 = patience
  ) -> Fact<Value>? {
    fact.flatMap { now - $0.time > patience ? nil : $0 }
  }
}

extension Derivative {
  /// Takes over what a message says. Returns whether a value changed; ages alone are no change.
  package mutating func take(_ report: DerivativeReport) -> Bool {
    var hasChanged = false
    hasChanged = take(report.mark, .mark, \.mark, report) || hasChanged
    hasChanged = take(report.index, .index, \.index, report) || hasChanged
    hasChanged = take(report.fundingRate, .fundingRate, \.fundingRate, report) || hasChanged
    hasChanged = take(report.fundingInterval, .fundingInterval, \.fundingInterval, report) || hasChanged
    hasChanged = take(report.nextFunding, .nextFunding, \.nextFunding, report) || hasChanged
    hasChanged = take(report.predictedRate, .predictedRate, \.predictedRate, report) || hasChanged
    hasChanged = take(report.openInterest, .openInterest, \.openInterest, report) || hasChanged
    hasChanged = take(report.openInterestQuote, .openInterestQuote, \.openInterestQuote, report) || hasChanged
    if isContinuous != report.isContinuous, case .value = report.fundingRate {
      isContinuous = report.isContinuous
      hasChanged = true
    }
    return deriveOpenInterestQuote() || hasChanged
  }

  private mutating func take<Value>(
    _ said: DerivativeReport.Said<Value>, _ field: DerivativeReport.Fields,
    _ path: WritableKeyPath<Derivative, Fact<Value>?>, _ report: DerivativeReport
  ) -> Bool {
    switch said {
    case .nothing:
      guard report.confirmsOthers, let known = self[keyPath: path], known.source == report.source else { return false }
      self[keyPath: path]?.time = max(known.time, report.time)
      return false
    case .absent:
      guard self[keyPath: path] != nil else { return false }
      self[keyPath: path] = nil
      return true
    case .value(let value):
      let known = self[keyPath: path]
      // An answer to a request may be older than what the stream has said since.
      if let known, known.time > report.time { return false }
      let source = report.computed.contains(field) ? Source.computed : report.source
      self[keyPath: path] = Fact(value, source, time: report.time)
      return known?.value != value || known?.source != source
    }
  }

  /// The most digits after the point of an open interest that is computed.
  private static let computedDigits = 8

  /// Computes the open interest in the quote currency if the venue does not say it. Returns whether it changed.
  private mutating func deriveOpenInterestQuote() -> Bool {
    if let known = openInterestQuote, known.source != .computed { return false }
    let before = openInterestQuote
    openInterestQuote = nil
    if let openInterest, let mark,
      let value = Ratio.decimal(
        Int128(openInterest.value.mantissa) * Int128(mark.value.mantissa),
        scale: Int(openInterest.value.scale + mark.value.scale), digits: Self.computedDigits)
    {
      openInterestQuote = Fact(value, .computed, time: min(openInterest.time, mark.time))
    }
    return before?.value != openInterestQuote?.value
  }
}
