import Bytes
import MarketData

/// The card of a day as a picture for a home screen.
///
/// Measures are points on a phone and CSS pixels in a page. Text that has no room in the design's sizes gets smaller,
/// down to 9 points, so that the design's longest quote is whole in every size. Only longer text ends in `…`. The text
/// alternative has the whole text.
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

  /// The sizes and the lines of the quote and the action.
  struct Layout: Equatable {
    var quoteSize: Double
    var actionSize: Double
    var quote: [String] = []
    var action: [String] = []
    /// The heights of a line, and of the space between the quote and the action.
    var quoteLine: Double
    var actionLine: Double
    var gap: Double
    var isWhole = false

    /// The check box, and its distance to the action.
    var box: Double { (actionSize * 1.54).rounded() }
    var boxGap: Double { (actionSize * 0.62).rounded() }
    var minutesSize: Double { min(DeckPicture.smallSize, actionSize) }
    /// From the top of the quote to the end of the action.
    var height: Double {
      Double(quote.count) * quoteLine + gap + max(box, Double(action.count) * actionLine)
    }

    init(quoteSize: Double, actionSize: Double, leading: Double, gap: Double) {
      self.quoteSize = quoteSize
      self.actionSize = actionSize
      self.gap = gap
      quoteLine = quoteSize * leading
      actionLine = (actionSize * 1.3).rounded()
    }
  }

  /// The sizes of the quote and the action in the order of trying, from those of the design.
  private static let sizes = [(15.0, 13.0), (14, 12), (13, 11.5), (12, 11), (11, 10), (10, 9.5), (9, 9)]
  /// The heights of the quote's lines in its size, and the gap below it: those of the design, and the smallest.
  private static let spacings = [(1.4, 12.0), (1.25, 6.0)]
  /// The free height above the tag.
  private static let below = 4.0

  var layout: Layout {
    let room = size.height - 2 * Self.padding - Self.tagHeight - Self.below
    for (quoteSize, actionSize) in Self.sizes {
      for (leading, gap) in Self.spacings {
        var layout = Layout(quoteSize: quoteSize, actionSize: actionSize, leading: leading, gap: gap)
        fill(&layout, quote: .max, action: .max)
        guard layout.height <= room else { continue }
        layout.gap = min(12, layout.gap + room - layout.height)
        return layout
      }
    }
    let (smallest, spacing) = (Self.sizes[Self.sizes.count - 1], Self.spacings[1])
    var layout = Layout(quoteSize: smallest.0, actionSize: smallest.1, leading: spacing.0, gap: spacing.1)
    // The quote goes first, as long as two lines of the action are left.
    fill(&layout, quote: 0, action: 2)
    fill(&layout, quote: Int((room - layout.height) / layout.quoteLine), action: 2)
    let rest = room - layout.height + max(layout.box, Double(layout.action.count) * layout.actionLine)
    fill(&layout, quote: layout.quote.count, action: Int(rest / layout.actionLine))
    return layout
  }

  /// Sets the lines, of each text at most so many.
  private func fill(_ layout: inout Layout, quote quoteLimit: Int, action actionLimit: Int) {
    let quote = TextMeasure.serif.lines(of: card.quote, size: layout.quoteSize, room: inner, limit: quoteLimit)
    let action = TextMeasure.sans.lines(
      of: card.action, size: layout.actionSize, room: inner - layout.box - layout.boxGap, limit: actionLimit,
      tail: TextMeasure.sans.width(" ", size: layout.actionSize)
        + TextMeasure.sans.width(duration, size: layout.minutesSize))
    layout.quote = quote.lines
    layout.action = action.lines
    layout.isWhole = quote.isWhole && action.isWhole
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
        line, x: Self.padding, y: y + layout.quoteLine / 2 + 0.35 * layout.quoteSize, size: layout.quoteSize,
        weight: 400, colour: quoteColour, faces: Self.serifFaces, to: &out)
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
    out.append("<rect rx=\"3\" fill=\"none\" stroke-width=\"2\" stroke=\"")
    out.append(colour)
    out.append("\"")
    attribute("width", layout.box - 2, &out)
    attribute("height", layout.box - 2, &out)
    attribute("x", Self.padding + 1, &out)
    attribute("y", top + 1, &out)
    out.append("/>")
    let x = Self.padding + layout.box + layout.boxGap
    for (index, line) in layout.action.enumerated() {
      let y = top + (Double(index) + 0.5) * layout.actionLine + 0.35 * layout.actionSize
      // The duration follows the last line in the same text, so it fits any font.
      let isLast = index == layout.action.count - 1
      text(
        line.isEmpty ? "" : isLast ? line + " " : line, x: x, y: y, size: layout.actionSize, weight: 500,
        colour: colour, spacing: "-0.08", tail: isLast ? (duration, layout.minutesSize) : nil, to: &out)
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
    tail: (text: String, size: Double)? = nil, to out: inout ByteBuffer
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
      attribute("font-size", tail.size, &out)
      out.append(" fill=\"")
      out.append(isHigh ? "#FFFFFF" : Self.grey)
      out.append("\">")
      out.append(xml: tail.text)
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
