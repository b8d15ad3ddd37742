import Bytes
import MarketData

/// The data of a picture of one instrument.
package struct CardFigures: Sendable {
  package var instrument: Instrument
  /// Nil before any is known.
  package var price: Int64?
  /// With the price as its last point.
  package var line: Sparkline
  package var high: Int64?
  package var low: Int64?
  /// The volume of 24 h, in base units.
  package var volume: Decimal64?
  /// The time of the price.
  package var time: Timestamp?
  /// From when on the change counts, if the gateway does not know the prices of the whole range.
  package var since: Timestamp?

  package init(
    instrument: Instrument, price: Int64?, line: Sparkline, high: Int64?, low: Int64?, volume: Decimal64?,
    time: Timestamp?, since: Timestamp? = nil
  ) {
    self.instrument = instrument
    self.price = price
    self.line = line
    self.high = high
    self.low = low
    self.volume = volume
    self.time = time
    self.since = since
  }

  /// Of a market without any data yet.
  package static func none(of instrument: Instrument, _ range: ChartRange, now: Timestamp) -> CardFigures {
    CardFigures(
      instrument: instrument, price: nil, line: .empty(range, now: now), high: nil, low: nil, volume: nil, time: nil)
  }

  /// The change over the line in percent, with two digits; nil while it is unknown.
  var changePercent: Int64? { line.change?.percent }
}

/// A card for a home screen: the price, its change, its chart, and whether it is live.
///
/// Measures are points on a phone and CSS pixels in a page. White on black in the opacities of the design; green and
/// red only for the change.
package struct PriceCard {
  package enum Size: String, Sendable, CaseIterable {
    case small, medium, large

    var width: Double { self == .small ? 155 : 329 }
    var height: Double { self == .large ? 345 : 155 }
    var priceSize: Double {
      switch self {
      case .small: 28
      case .medium: 36
      case .large: 48
      }
    }
  }

  /// Points of the line: the default of a sparkline, so that both, and cards of all sizes, show the same change.
  package static let points = 96

  private static let padding: Double = 16
  static let up: StaticString = "#22C55E"
  static let down: StaticString = "#EF4444"

  let figures: CardFigures
  let state: DataState
  let size: Size
  /// The name of the asset: `Zcash`; its code if no name is known.
  let name: String
  let now: Timestamp
  /// Shown by a large card in place of the 24 h figures.
  package var pool: ShieldedPool?

  package init(_ figures: CardFigures, _ state: DataState, size: Size, name: String?, now: Timestamp) {
    self.figures = figures
    self.state = state
    self.size = size
    self.name = name ?? figures.instrument.base
    self.now = now
  }

  /// Whether it shows a price, and not only grey blocks.
  package var hasPrice: Bool { figures.price != nil }

  var right: Double { size.width - Self.padding }
  private var words: PriceWords? {
    figures.price.map { PriceWords($0, scale: figures.instrument.priceScale, currency: figures.instrument.quote) }
  }
  private var range: String { figures.line.range.name }

  /// `▲ +2.34%`
  private var change: String? {
    figures.changePercent.map { percent in
      "\(percent > 0 ? "▲ +" : percent < 0 ? "▼ -" : "")\(Self.percent(percent))%"
    }
  }

  private static func percent(_ hundredths: Int64) -> String {
    let (whole, rest) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
    return "\(whole).\(rest < 10 ? "0" : "")\(rest)"
  }

  private var colour: StaticString {
    guard let percent = figures.changePercent, percent != 0 else { return "#fff" }
    return percent > 0 ? Self.up : Self.down
  }

  private var isLive: Bool { state.state.indicator == "connected" && state.failure == nil }

  /// `LIVE`, `SIMULATED` or `REPLAYED` with a dot while data arrives, otherwise the state in a word.
  private var label: String {
    guard isLive else { return state.failure == nil ? state.state.rawValue.uppercased() : "REFUSED" }
    switch state.source {
    case .live: return "LIVE"
    case .simulated: return "SIMULATED"
    case .replayed: return "REPLAYED"
    }
  }

  // MARK: Words

  /// "Zcash price: 48 dollars and 23 cents"
  package var title: String {
    guard let words else { return "\(name) price: not known yet" }
    return "\(name) price: \(words.spoken)"
  }

  /// "Up 2.34 percent in the last 24 hours. Live."
  package var description: String {
    var text = figures.price == nil ? "No price has arrived yet. " : ""
    if let percent = figures.changePercent {
      let span =
        switch figures.line.range {
        case _ where figures.since != nil: "since \(PriceWords.time(figures.since ?? now, now: now))"
        case .hour: "in the last hour"
        case .day: "in the last 24 hours"
        case .week: "in the last 7 days"
        case .month: "in the last 30 days"
        case .quarter: "in the last 90 days"
        case .year: "in the last year"
        case .all: "in all the time that is known"
        }
      let way = percent > 0 ? "Up \(Self.percent(percent)) percent" : "Down \(Self.percent(percent)) percent"
      text = (percent == 0 ? "Unchanged" : way) + " \(span). "
    }
    let lower = label.lowercased()
    text += (lower.first.map { String($0).uppercased() } ?? "") + lower.dropFirst() + "."
    if let time = figures.time { text += " Last update \(PriceWords.time(time, now: now))." }
    if size == .large, hasPrice, let pool { text += " " + pool.words }
    return text
  }

  // MARK: Drawing

  /// The tag of the picture, without drawing it. O(points).
  package func add(to tag: inout ContentTag) {
    for text in [size.rawValue, name, label, title, description, change ?? ""] { tag.add(text) }
    tag.add(figures.line.points.count == 0 ? 0 : figures.line.from.microseconds)
    for point in figures.line.points { tag.add(point) }
    for gap in figures.line.gaps {
      tag.add(gap.from.microseconds)
      tag.add(gap.to.microseconds)
    }
    tag.add(figures.line.coveredFrom?.microseconds)
    tag.add(figures.high)
    tag.add(figures.low)
    tag.add(figures.volume)
    if size == .large, hasPrice { pool?.add(to: &tag) }
  }

  /// The picture, SVG 1.1 without styles or scripts. O(points).
  package func svg() -> [UInt8] {
    var out = ByteBuffer(capacity: 4_096)
    Self.begin(width: size.width, height: size.height, title: title, description: description, to: &out)
    ChartDrawing.appendGradient(to: &out)
    switch size {
    case .small: small(&out)
    case .medium: medium(&out)
    case .large: large(&out)
    }
    out.append("</svg>\n")
    return out.takeBytes()
  }

  static func begin(width: Double, height: Double, title: String, description: String, to out: inout ByteBuffer) {
    out.append("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"")
    out.append(coordinate: width)
    out.append("\" height=\"")
    out.append(coordinate: height)
    out.append("\" viewBox=\"0 0 ")
    SmoothLine.append(PicturePoint(x: width, y: height), to: &out)
    out.append("\" aria-label=\"")
    out.append(xml: "\(title). \(description)")
    out.append("\" font-family=\"'SF Pro Display',Inter,system-ui,'Helvetica Neue',Arial,sans-serif\"><title>")
    out.append(xml: title)
    out.append("</title><desc>")
    out.append(xml: description)
    out.append("</desc><rect width=\"100%\" height=\"100%\" fill=\"#000\"/>")
  }

  private func small(_ out: inout ByteBuffer) {
    text(figures.instrument.base, x: 16, y: 28, size: 12, weight: 500, opacity: 50, spacing: "0.1em", to: &out)
    guard words != nil else { return placeholder(&out) }
    if let percent = figures.changePercent, percent != 0 {
      text(percent > 0 ? "▲" : "▼", x: right, y: 28, size: 12, weight: 500, end: true, colour: colour, to: &out)
    }
    price(baseline: 78, room: right - 16, &out)
    pill(x: 16, top: 90, isAtEnd: false, &out)
    live(x: 16, y: 139, isAtEnd: false, &out)
    if let time = figures.time {
      // Beside a long word there is no room for the day and the zone; the text alternative has both.
      let shown = PriceWords.time(time, now: now).split(separator: " ").suffix(2).first.map { "\($0)Z" } ?? ""
      text(shown, x: right, y: 139, size: 10, weight: 400, opacity: 40, spacing: "0.02em", end: true, to: &out)
    }
  }

  private func medium(_ out: inout ByteBuffer) {
    text(pair, x: 16, y: 28, size: 12, weight: 500, opacity: 50, spacing: "0.1em", to: &out)
    text("\(range) ▼", x: right, y: 28, size: 10, weight: 400, opacity: 40, spacing: "0.02em", end: true, to: &out)
    guard words != nil else { return placeholder(&out) }
    price(baseline: 74, room: right - 16 - pillWidth - 12, &out)
    pill(x: right, top: 50, isAtEnd: true, &out)
    let labelWidth = max(Double(label.count) * 7.4 + 12, 52)
    ChartDrawing(line: figures.line, left: 16, top: 90, width: right - 16 - labelWidth - 12, height: 40).append(
      to: &out)
    if let time = figures.time {
      text(
        PriceWords.time(time, now: now), x: right, y: 112, size: 10, weight: 400, opacity: 40, spacing: "0.02em",
        end: true, to: &out)
    }
    live(x: right, y: 128, isAtEnd: true, &out)
  }

  private func large(_ out: inout ByteBuffer) {
    text(pair, x: 16, y: 28, size: 12, weight: 500, opacity: 50, spacing: "0.1em", to: &out)
    guard words != nil else { return placeholder(&out) }
    live(x: right, y: 28, isAtEnd: true, &out)
    price(baseline: 84, room: right - 16, &out)
    text("(\(range))", x: right, y: 117, size: 10, weight: 400, opacity: 40, spacing: "0.02em", end: true, to: &out)
    pill(x: right - 34, top: 101, isAtEnd: true, &out)
    ChartDrawing(line: figures.line, left: 16, top: 141, width: right - 16, height: 100).append(to: &out)
    out.append("<path d=\"M16 257.5H313\" stroke=\"#fff\" stroke-opacity=\".1\"/>")
    if let pool { shielded(pool, &out) } else { day(&out) }
    if let time = figures.time {
      text(
        "updated \(PriceWords.time(time, now: now))", x: pool == nil ? right : 16, y: 329, size: 10, weight: 400,
        opacity: 40, spacing: "0.02em", end: pool == nil, to: &out)
    }
  }

  private var pair: String { "\(figures.instrument.base)/\(figures.instrument.quote)" }

  /// Grey blocks in place of the price, its change and its chart.
  private func placeholder(_ out: inout ByteBuffer) {
    func block(_ x: Double, _ y: Double, _ width: Double, _ height: Double) {
      out.append("<rect rx=\"6\" fill=\"#fff\" fill-opacity=\".1\"")
      for (name, value) in [("x", x), ("y", y), ("width", width), ("height", height)] {
        out.append(" \(name)=\"")
        out.append(coordinate: value)
        out.append("\"")
      }
      out.append("/>")
    }
    switch size {
    case .small:
      block(16, 54, 96, 26)
      block(16, 90, 70, 24)
    case .medium:
      block(16, 44, 130, 32)
      block(right - 76, 50, 76, 24)
      block(16, 92, right - 92, 36)
    case .large:
      block(16, 46, 180, 42)
      block(right - 76, 101, 76, 24)
      block(16, 141, right - 16, 100)
      out.append("<path d=\"M16 257.5H313\" stroke=\"#fff\" stroke-opacity=\".1\"/>")
      for column in 0..<3 { block(16 + Double(column) * 102, 276, 80, 26) }
    }
  }

  // MARK: Parts

  /// The price with its currency, in a smaller size if it has too many digits for the room.
  private func price(baseline: Double, room: Double, _ out: inout ByteBuffer) {
    guard let words else { return }
    let signSize = 20.0
    let besideWidth =
      Self.width(of: words.sign + words.code, size: signSize) + (words.code.isEmpty ? 0 : 4)
    let width = Self.width(of: words.digits, size: size.priceSize)
    let fit = min(1, room / (width + besideWidth))
    out.append("<text x=\"16\" y=\"")
    out.append(coordinate: baseline)
    out.append("\" fill=\"#fff\" font-weight=\"600\" letter-spacing=\"-0.02em\" font-size=\"")
    out.append(coordinate: size.priceSize * fit)
    out.append("\">")
    func beside(_ text: String, _ isFirst: Bool) {
      guard !text.isEmpty else { return }
      out.append("<tspan font-weight=\"400\" letter-spacing=\"0\" font-size=\"")
      out.append(coordinate: signSize * fit)
      out.append(isFirst ? "\">" : "\" dx=\"4\">")
      out.append(xml: text)
      out.append("</tspan>")
    }
    beside(words.sign, true)
    out.append(xml: words.digits)
    beside(words.code, false)
    out.append("</text>")
  }

  /// The approximate width of a text in DejaVu Sans Bold, the widest font that a browser may choose.
  static func width(of text: String, size: Double) -> Double {
    text.reduce(0) { $0 + ($1 == "," || $1 == "." ? 0.38 : $1.isNumber ? 0.69 : 0.76) } * size
  }

  private var pillWidth: Double { Double(change?.count ?? 0) * 7.6 + 20 }

  /// The change in a capsule of its colour.
  private func pill(x: Double, top: Double, isAtEnd: Bool, _ out: inout ByteBuffer) {
    guard let change else { return }
    let left = isAtEnd ? x - pillWidth : x
    out.append("<rect rx=\"12\" height=\"24\" fill-opacity=\".15\" stroke-opacity=\".3\" fill=\"")
    out.append(colour)
    out.append("\" stroke=\"")
    out.append(colour)
    for (name, value) in [("x", left), ("y", top), ("width", pillWidth)] {
      out.append("\" \(name)=\"")
      out.append(coordinate: value)
    }
    out.append("\"/>")
    text(
      change, x: left + pillWidth / 2, y: top + 16.5, size: 13, weight: 500, spacing: "0.02em", middle: true,
      colour: colour, to: &out)
  }

  /// The dot and its word; without the dot if no data arrives.
  private func live(x: Double, y: Double, isAtEnd: Bool, _ out: inout ByteBuffer) {
    let width = Double(label.count) * 7.4
    let left = isAtEnd ? x - width : x + (isLive ? 11 : 0)
    if isLive {
      out.append("<circle r=\"3\" fill=\"#fff\" cx=\"")
      out.append(coordinate: isAtEnd ? left - 7 : x + 3)
      out.append("\" cy=\"")
      out.append(coordinate: y - 3.5)
      out.append("\"/>")
    }
    text(
      label, x: isAtEnd ? x : left, y: y, size: 10, weight: 400, opacity: 50, spacing: "0.1em", end: isAtEnd, to: &out)
  }

  func text(
    _ text: String, x: Double, y: Double, size: Double, weight: Int64, opacity: Int64 = 100,
    spacing: StaticString = "0", end: Bool = false, middle: Bool = false, colour: StaticString = "#fff",
    room: Double = .infinity, to out: inout ByteBuffer
  ) {
    let fit = min(1, room / (Double(text.count) * size * 0.58))
    out.append("<text x=\"")
    out.append(coordinate: x)
    out.append("\" y=\"")
    out.append(coordinate: y)
    out.append("\" font-size=\"")
    out.append(coordinate: size * fit)
    out.append("\" font-weight=\"")
    out.append(integer: weight)
    out.append("\" letter-spacing=\"")
    out.append(spacing)
    out.append("\" fill=\"")
    out.append(colour)
    if opacity < 100 {
      out.append("\" fill-opacity=\"")
      out.append(decimal: opacity, scale: 2)
    }
    if end || middle { out.append(end ? "\" text-anchor=\"end" : "\" text-anchor=\"middle") }
    out.append("\">")
    out.append(xml: text)
    out.append("</text>")
  }
}
