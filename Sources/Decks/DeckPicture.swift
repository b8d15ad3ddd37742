import Bytes
import MarketData

/// The card of a day as a picture for a home screen.
///
/// Measures are points on a phone and CSS pixels in a page. The quote takes up to four lines and the action up to
/// three. If a size has no room for both, the quote gets three lines and the action two, and both end in `…`. The
/// text alternative has the whole text.
package struct DeckPicture {
  package enum Size: String, Sendable, CaseIterable {
    case small, medium, large

    var width: Double { self == .small ? 158 : 338 }
    var height: Double { self == .large ? 354 : 158 }
  }

  package enum Contrast: String, Sendable, CaseIterable {
    case normal, high
  }

  private static let padding = 16.0
  private static let tagHeight = 20.0
  private static let box = 20.0
  /// The distance between the check box and the action.
  private static let boxGap = 8.0
  private static let quoteSize = 15.0
  private static let actionSize = 13.0
  private static let smallSize = 11.0
  private static let serifFaces: StaticString = "Georgia,'Times New Roman',Tinos,'Liberation Serif',serif"
  private static let grey: StaticString = "#A0A0A0"

  let today: DeckDay
  let size: Size
  let contrast: Contrast

  package init(_ today: DeckDay, size: Size, contrast: Contrast) {
    self.today = today
    self.size = size
    self.contrast = contrast
  }

  private var card: DeckCard { today.card }
  private var inner: Double { size.width - 2 * Self.padding }
  private var isHigh: Bool { contrast == .high }
  private var duration: String { "(\(card.minutes) min)" }

  // MARK: Words

  /// The picture's title: the deck and the day.
  package var title: String { "\(today.deck.title), \(CivilDate(daysSince1970: today.day.number).text)" }

  /// The whole text of the card.
  package var description: String {
    func ended(_ text: String) -> String { text.last?.isPunctuation == true ? text : text + "." }
    let minutes = card.minutes == 1 ? "1 minute" : "\(card.minutes) minutes"
    return "Quote: \(ended(card.quote)) Action: \(ended(card.action)) From \(ended(card.source)) "
      + "Estimated time: \(minutes)."
  }

  // MARK: Layout

  /// The positions of the lines of the quote and the action.
  struct Layout: Equatable {
    var quote: [String]
    var action: [String]
    /// The heights of a line, and of the space between the quote and the action.
    var quoteLine: Double
    var actionLine: Double
    var gap: Double
    var isWhole: Bool
  }

  /// The numbers of lines of the quote and the action, in the order of trying.
  private static let limits = [(4, 3), (4, 2), (3, 3), (3, 2), (4, 1), (2, 3)]

  var layout: Layout {
    let room = size.height - 2 * Self.padding - Self.tagHeight
    var best: Layout?
    for (quoteLimit, actionLimit) in Self.limits {
      let quote = TextMeasure.serif.lines(of: card.quote, size: Self.quoteSize, room: inner, limit: quoteLimit)
      let action = TextMeasure.sans.lines(
        of: card.action, size: Self.actionSize, room: inner - Self.box - Self.boxGap, limit: actionLimit,
        tail: TextMeasure.sans.width(" ", size: Self.actionSize)
          + TextMeasure.sans.width(duration, size: Self.smallSize))
      // The distance of the design, otherwise the smallest possible one.
      for (quoteLine, gap, below) in [(21.0, 12.0, 4.0), (20.0, 6.0, 4.0)] {
        let height =
          Double(quote.lines.count) * quoteLine + max(Self.box, Double(action.lines.count) * 17)
        guard height + gap + below <= room else { continue }
        let layout = Layout(
          quote: quote.lines, action: action.lines, quoteLine: quoteLine, actionLine: 17,
          gap: min(12, room - height - below), isWhole: quote.isWhole && action.isWhole)
        if layout.isWhole { return layout }
        // The first layout that fits shows the most text.
        if best == nil { best = layout }
        break
      }
    }
    return best ?? Layout(quote: [], action: [], quoteLine: 21, actionLine: 17, gap: 12, isWhole: false)
  }

  // MARK: Drawing

  /// The picture, SVG 1.1 without styles or scripts. O(length of the card).
  package func svg() -> [UInt8] {
    let layout = layout
    var out = ByteBuffer(capacity: 3_072)
    begin(&out)
    var y = Self.padding
    let quoteColour: StaticString = isHigh ? "#FFFFFF" : "#E8DCC4"
    for line in layout.quote {
      text(
        line, x: Self.padding, y: y + layout.quoteLine / 2 + 0.35 * Self.quoteSize, size: Self.quoteSize, weight: 400,
        colour: quoteColour, faces: Self.serifFaces, to: &out)
      y += layout.quoteLine
    }
    action(layout, top: y + layout.gap, &out)
    footer(&out)
    out.append("</svg>\n")
    return out.takeBytes()
  }

  private func begin(_ out: inout ByteBuffer) {
    out.append("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"")
    attribute("width", size.width, &out)
    attribute("height", size.height, &out)
    out.append(" viewBox=\"0 0 ")
    out.append(coordinate: size.width)
    out.append(" ")
    out.append(coordinate: size.height)
    out.append("\" aria-label=\"")
    out.append(xml: "\(title). \(description)")
    out.append("\" font-family=\"-apple-system,'SF Pro Text','SF Pro',Inter,'Helvetica Neue',Helvetica,Arial,")
    out.append("Arimo,'Liberation Sans',system-ui,sans-serif\"><title>")
    out.append(xml: title)
    out.append("</title><desc>")
    out.append(xml: description)
    out.append("</desc><rect width=\"100%\" height=\"100%\" rx=\"25\" fill=\"")
    out.append(isHigh ? "#000000" : "#1A1A1A")
    out.append("\"/>")
  }

  /// The check box, the action beside it, and its duration after the last line.
  private func action(_ layout: Layout, top: Double, _ out: inout ByteBuffer) {
    let colour: StaticString = isHigh ? "#FFFFFF" : "#F5F5F5"
    out.append("<rect rx=\"3\" fill=\"none\" stroke-width=\"2\" width=\"18\" height=\"18\" stroke=\"")
    out.append(colour)
    out.append("\"")
    attribute("x", Self.padding + 1, &out)
    attribute("y", top + 1, &out)
    out.append("/>")
    let x = Self.padding + Self.box + Self.boxGap
    for (index, line) in layout.action.enumerated() {
      let y = top + (Double(index) + 0.5) * layout.actionLine + 0.35 * Self.actionSize
      // The duration follows the last line in the same text, so it fits any font.
      let isLast = index == layout.action.count - 1
      text(
        line.isEmpty ? "" : isLast ? line + " " : line, x: x, y: y, size: Self.actionSize, weight: 500, colour: colour,
        spacing: "-0.08", tail: isLast ? duration : nil, to: &out)
    }
  }

  /// The domain in its colour, and the source, which fades if there is no room for all of it.
  private func footer(_ out: inout ByteBuffer) {
    let name = card.domain.rawValue.prefix(1).uppercased() + card.domain.rawValue.dropFirst()
    let colour = card.domain.colour(contrast)
    let border = isHigh ? 2.0 : 1.0
    let top = size.height - Self.padding - Self.tagHeight
    let width = (TextMeasure.sans.width(name, size: Self.smallSize) + 12).rounded(.up)
    out.append("<rect rx=\"4\" fill-opacity=\".5\" fill=\"")
    out.append(colour)
    out.append("\" stroke=\"")
    out.append(colour)
    out.append("\"")
    attribute("stroke-width", border, &out)
    attribute("x", Self.padding + border / 2, &out)
    attribute("y", top + border / 2, &out)
    attribute("width", width - border, &out)
    attribute("height", Self.tagHeight - border, &out)
    out.append("/>")
    let baseline = top + Self.tagHeight / 2 + 0.35 * Self.smallSize
    text(
      name, x: Self.padding + width / 2, y: baseline, size: Self.smallSize, weight: 500, colour: colour,
      isMiddle: true, to: &out)
    let bullet = Self.padding + width + 4
    let grey: StaticString = isHigh ? "#FFFFFF" : Self.grey
    text("•", x: bullet, y: baseline, size: Self.smallSize, weight: 400, colour: grey, to: &out)
    let left = bullet + 8
    let right = size.width - Self.padding
    let isCut = left + TextMeasure.sans.width(card.source, size: Self.smallSize) > right
    if isCut {
      out.append("<defs><linearGradient id=\"fade\" gradientUnits=\"userSpaceOnUse\"")
      attribute("x1", max(left, right - 20), &out)
      attribute("x2", right, &out)
      out.append("><stop stop-color=\"")
      out.append(grey)
      out.append("\"/><stop offset=\"1\" stop-color=\"")
      out.append(grey)
      out.append("\" stop-opacity=\"0\"/></linearGradient></defs>")
    }
    text(
      card.source, x: left, y: baseline, size: Self.smallSize, weight: 400, colour: isCut ? "url(#fade)" : grey,
      to: &out)
  }

  private func attribute(_ name: StaticString, _ value: Double, _ out: inout ByteBuffer) {
    out.append(" ")
    out.append(name)
    out.append("=\"")
    out.append(coordinate: value)
    out.append("\"")
  }

  private func text(
    _ text: String, x: Double, y: Double, size: Double, weight: Int64, colour: StaticString,
    faces: StaticString? = nil, spacing: StaticString? = nil, isMiddle: Bool = false,
    tail: String? = nil, to out: inout ByteBuffer
  ) {
    out.append("<text")
    attribute("x", x, &out)
    attribute("y", y, &out)
    attribute("font-size", size, &out)
    out.append(" font-weight=\"")
    out.append(integer: weight)
    if let faces {
      out.append("\" font-family=\"")
      out.append(faces)
    }
    if let spacing {
      out.append("\" letter-spacing=\"")
      out.append(spacing)
    }
    if isMiddle { out.append("\" text-anchor=\"middle") }
    out.append("\" fill=\"")
    out.append(colour)
    out.append("\">")
    out.append(xml: text)
    if let tail {
      out.append("<tspan font-weight=\"400\"")
      attribute("font-size", Self.smallSize, &out)
      out.append(" fill=\"")
      out.append(isHigh ? "#FFFFFF" : Self.grey)
      out.append("\">")
      out.append(xml: tail)
      out.append("</tspan>")
    }
    out.append("</text>")
  }
}

extension DeckDomain {
  /// The colour of its text and border; the background has half of it. For high contrast, the colour is a fifth more
  /// saturated.
  func colour(_ contrast: DeckPicture.Contrast) -> StaticString {
    switch (self, contrast) {
    case (.consciousness, .normal): "#8B7FB8"
    case (.health, .normal): "#7FA66A"
    case (.wealth, .normal): "#C9A961"
    case (.relationships, .normal): "#B87F8F"
    case (.consciousness, .high): "#806BCC"
    case (.health, .high): "#77BD51"
    case (.wealth, .high): "#DEB14A"
    case (.relationships, .high): "#CC6B86"
    }
  }
}
