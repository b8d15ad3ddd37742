import Bytes
import MarketData

/// How a venue names the fields of a derivative in an object; nil where it has no such field. A value that is empty,
/// null, or a time of 0 says that the field does not apply.
struct DerivativeFormat {
  var mark: StaticString?
  var index: StaticString?
  var fundingRate: StaticString?
  var predictedRate: StaticString?
  var nextFunding: StaticString?
  /// The interval, and how many µs its unit has.
  var fundingInterval: (name: StaticString, unit: Int64)?
  /// One-sided, in base units.
  var openInterest: StaticString?
  var openInterestQuote: StaticString?

  /// Takes the value of `key` if it is one of these fields; false, and nothing is read, if it is not.
  func take(
    _ key: JSONSlice, of reader: inout FieldReader, into report: inout DerivativeReport
  ) throws(FeedError) -> Bool {
    if let name = mark, reader.equals(key, name) {
      report.mark = try reader.price(name)
    } else if let name = index, reader.equals(key, name) {
      report.index = try reader.price(name)
    } else if let name = fundingRate, reader.equals(key, name) {
      report.fundingRate = try reader.said(name)
    } else if let name = predictedRate, reader.equals(key, name) {
      report.predictedRate = try reader.said(name)
    } else if let name = openInterest, reader.equals(key, name) {
      report.openInterest = try reader.amount(name)
    } else if let name = openInterestQuote, reader.equals(key, name) {
      report.openInterestQuote = try reader.amount(name)
    } else if let name = nextFunding, reader.equals(key, name) {
      report.nextFunding = try reader.moment(name)
    } else if let interval = fundingInterval, reader.equals(key, interval.name) {
      report.fundingInterval = try reader.span(interval.name, unit: interval.unit)
    } else {
      return false
    }
    return true
  }
}

/// How a venue names the rate and the time of a past settlement in an object of a list.
struct SettlementFormat {
  var rate: StaticString = "fundingRate"
  var time: StaticString = "fundingTime"

  /// Reads a list, which begins next; the first ones, if there are more than are kept.
  func read(_ rows: inout FieldReader, into report: inout DerivativeReport) throws(FeedError) {
    try rows.arrayStart()
    while try rows.nextElement() {
      let row = try FieldObject(&rows, "settlement")
      guard let moment = row.integer(time).flatMap(VenueTime.epoch) else {
        throw FeedError.missing(time, in: "settlement")
      }
      guard let paid = row.number(rate) else { throw FeedError.missing(rate, in: "settlement") }
      guard report.settlements.count < FundingHistory.limit else { continue }
      report.settlements.append(FundingSettlement(time: moment, rate: paid))
    }
  }
}

extension DerivativeReport {
  /// Drops all that is said of funding: the market has none.
  mutating func clearFunding() {
    (fundingRate, predictedRate) = (.absent, .absent)
    (nextFunding, fundingInterval) = (.absent, .absent)
  }
}

/// Numbers that may be there, may be empty, and may have more digits than are kept.
extension FieldReader {
  /// A number, bare or in quotes. `""` and null say that it does not apply. Digits beyond the 18th are rounded, half to
  /// even: they are noise of the venue's floating point.
  mutating func said(_ field: StaticString) throws(FeedError) -> DerivativeReport.Said<Decimal64> {
    self.field = field
    if try null() { return .absent }
    let slice: JSONSlice
    if peek() == .string {
      slice = try string(field)
      if slice.count == 0 { return .absent }
    } else {
      slice = try number(field)
    }
    do throws(DecimalError) {
      return .value(try DecimalText.rounded(text(slice)))
    } catch {
      throw FeedError(.decimal, "field \(field) at offset \(offset): \(FeedError.words(error))")
    }
  }

  /// The same of a price, of which 0 and less say that there is none.
  mutating func price(_ field: StaticString) throws(FeedError) -> DerivativeReport.Said<Decimal64> {
    let said = try said(field)
    if case .value(let price) = said, price.mantissa <= 0 { return .absent }
    return said
  }

  /// The same of a sum, which is 0 or more.
  mutating func amount(_ field: StaticString) throws(FeedError) -> DerivativeReport.Said<Decimal64> {
    let said = try said(field)
    if case .value(let amount) = said, amount.mantissa < 0 {
      throw FeedError(.decimal, "field \(field) at offset \(offset): negative amount")
    }
    return said
  }

  /// A moment since 1970, in the unit that its size shows. 0, `""` and null say that there is none.
  mutating func moment(_ field: StaticString) throws(FeedError) -> DerivativeReport.Said<Timestamp> {
    guard case .value(let number) = try said(field), number.scale == 0, number.mantissa > 0,
      let time = VenueTime.epoch(number.mantissa)
    else { return .absent }
    return .value(time)
  }

  /// A span of time in µs. 0, `""` and null say that there is none.
  mutating func span(_ field: StaticString, unit: Int64) throws(FeedError) -> DerivativeReport.Said<Int64> {
    guard case .value(let number) = try said(field), number.scale == 0, number.mantissa > 0 else { return .absent }
    let (span, overflow) = number.mantissa.multipliedReportingOverflow(by: unit)
    return overflow ? .absent : .value(span)
  }
}
