/// Estimates the width of text without a font, from the advance widths of two faces, in thousandths of the size.
///
/// The faces that pictures name first are not wider; a narrower face leaves some room.
struct TextMeasure: Sendable {
  /// The widths of the printable ASCII characters, from the space on.
  private let ascii: [UInt16]
  /// The addition to every character, in thousandths.
  private let spacing: Int

  /// Georgia, which has the widest digits and capitals of the usual serif faces.
  static let serif = TextMeasure(
    ascii: [
      241, 331, 412, 643, 610, 817, 710, 215, 375, 375, 473, 643, 270, 374, 270, 469,
      614, 429, 559, 551, 565, 528, 566, 503, 596, 566, 313, 313, 643, 643, 643, 479,
      967, 671, 654, 642, 750, 653, 600, 726, 815, 390, 518, 695, 602, 927, 767, 744,
      610, 744, 702, 561, 618, 757, 666, 977, 710, 616, 602, 375, 469, 375, 643, 643,
      500, 504, 560, 454, 575, 484, 325, 509, 582, 293, 291, 535, 287, 880, 591, 539,
      571, 560, 410, 432, 346, 576, 497, 738, 504, 493, 443, 430, 375, 430, 643,
    ], spacing: 0)

  /// Helvetica and similar faces.
  static let sans = TextMeasure(
    ascii: [
      278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
      556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
      1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
      667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
      333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
      556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
    ], spacing: 15)

  private init(ascii: [UInt16], spacing: Int) {
    self.ascii = ascii
    self.spacing = spacing
  }

  /// The width of one character at a size of 1.
  func width(_ character: Character) -> Double {
    guard let scalar = character.unicodeScalars.first else { return 0 }
    let index = Int(scalar.value) - 0x20
    if ascii.indices.contains(index) { return Double(Int(ascii[index]) + spacing) / 1_000 }
    switch scalar.value {
    // Dashes, quotation marks and the ellipsis; then letters of Latin, Greek, Cyrillic, Hebrew and Arabic.
    case 0x2010...0x2027: return scalar.value == 0x2014 || scalar.value == 0x2026 ? 1 : 0.5
    case 0x80...0x10FF: return scalar.properties.isUppercase ? 0.75 : 0.6
    case 0x1100...: return 1.1
    default: return 0.6
    }
  }

  func width(_ text: some StringProtocol, size: Double) -> Double { text.reduce(0) { $0 + width($1) } * size }

  /// The lines of a text, none wider than `room`. Breaks are between words, or inside a word that is wider than a line.
  /// - Parameters:
  ///   - limit: the most lines; the last one ends in `…` if text is left out.
  ///   - tail: the room that the last line must leave free.
  func lines(
    of text: String, size: Double, room: Double, limit: Int, tail: Double = 0
  ) -> (lines: [String], isWhole: Bool) {
    var lines: [String] = []
    var line = ""
    var used = 0.0
    let space = width(" ") * size
    for word in text.split(whereSeparator: \.isWhitespace) {
      let wide = width(word, size: size)
      if line.isEmpty ? wide <= room : used + space + wide <= room {
        line += line.isEmpty ? String(word) : " " + word
        used += (line.utf8.count == word.utf8.count ? 0 : space) + wide
        continue
      }
      if !line.isEmpty { lines.append(line) }
      (line, used) = ("", 0)
      for character in word {
        let wide = width(character) * size
        if used + wide > room, !line.isEmpty {
          lines.append(line)
          (line, used) = ("", 0)
        }
        line.append(character)
        used += wide
      }
    }
    if !line.isEmpty { lines.append(line) }
    if lines.count <= limit, let last = lines.last {
      if width(last, size: size) + tail <= room { return (lines, true) }
      // The tail gets its own line.
      if lines.count < limit { return (lines + [""], true) }
    }
    guard limit > 0 else { return ([], lines.isEmpty) }
    let isCut = lines.count > limit
    lines = Array(lines.prefix(limit))
    guard isCut || tail > 0, var last = lines.popLast() else { return (lines, true) }
    while !last.isEmpty, width(last, size: size) + width("…") * size + tail > room { last.removeLast() }
    while last.last?.isWhitespace == true || last.last?.isPunctuation == true { last.removeLast() }
    return (lines + [last + "…"], false)
  }
}
