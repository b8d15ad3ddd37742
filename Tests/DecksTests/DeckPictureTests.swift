import Alerts
import Foundation
import FoundationXML
import MarketData
import TestSupport
import Testing

@testable import Decks

@Suite("The picture of a card")
struct DeckPictureTests {
  private static let now = Timestamp(microseconds: 1_795_368_532_000_000)

  private static func picture(
    quote: String = "Focus is the ability to say no.", action: String = "Cross one out.", minutes: Int = 10,
    domain: DeckDomain = .consciousness, source: String = "Notes", size: DeckPicture.Size = .small,
    contrast: DeckPicture.Contrast = .normal
  ) -> DeckPicture {
    let card = DeckCard(quote: quote, action: action, minutes: minutes, domain: domain, source: source)
    let deck = Deck(name: "calm", title: "A calm day", starts: 0, cards: [card])
    return DeckPicture(DeckDay(deck, zone: "UTC", .utc, now: now), size: size, contrast: contrast)
  }

  /// The elements of a picture, if it is XML.
  private final class Reader: NSObject, XMLParserDelegate {
    struct Element {
      var name: String
      var attributes: [String: String]
      var text = ""
      subscript(_ attribute: String) -> Double? { attributes[attribute].flatMap { Double($0) } }
    }
    var elements: [Element] = []
    private var open: [Int] = []

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      open.append(elements.count)
      elements.append(Element(name: name, attributes: attributes))
    }
    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
      open.removeLast()
    }
    func parser(_ parser: XMLParser, foundCharacters string: String) {
      if let last = open.last { elements[last].text += string }
    }
  }

  private static func read(_ picture: DeckPicture) throws -> [Reader.Element] {
    let svg = picture.svg()
    let parser = XMLParser(data: Data(svg))
    let reader = Reader()
    parser.delegate = reader
    #expect(parser.parse(), "\(String(decoding: svg, as: UTF8.self))")
    return reader.elements
  }

  @Test("has the measures, the type scale and the colours of its design")
  func measures() throws {
    let elements = try Self.read(Self.picture(source: "Me"))
    let svg = try #require(elements.first)
    #expect(svg["width"] == 158 && svg["height"] == 158)
    let rects = elements.filter { $0.name == "rect" }
    #expect(rects[0].attributes["rx"] == "25" && rects[0].attributes["fill"] == "#1A1A1A")
    // The box: 20 × 20 with a border of 2 inside it and corners of 4.
    #expect(rects[1]["x"] == 17 && rects[1]["width"] == 18 && rects[1]["stroke-width"] == 2 && rects[1]["rx"] == 3)
    #expect(rects[1].attributes["stroke"] == "#F5F5F5")
    // The tag stands at the bottom, 16 from every edge, half as dense as its border.
    #expect(rects[2]["x"] == 16.5 && rects[2]["y"] == 122.5 && rects[2]["height"] == 19)
    #expect(rects[2].attributes["fill"] == "#8B7FB8" && rects[2].attributes["fill-opacity"] == ".5")
    let texts = elements.filter { $0.name == "text" }
    let quote = texts.filter { $0["font-size"] == 15 }
    #expect(quote.map(\.text).joined(separator: " ") == "Focus is the ability to say no.")
    #expect(quote.allSatisfy { $0.attributes["fill"] == "#E8DCC4" && $0["x"] == 16 })
    #expect(quote.allSatisfy { $0.attributes["font-family"]?.hasPrefix("Georgia") == true })
    #expect(zip(quote, quote.dropFirst()).allSatisfy { $1["y"]! - $0["y"]! == 21 })
    let action = try #require(texts.first { $0["font-size"] == 13 })
    #expect(action.attributes["font-weight"] == "500" && action.attributes["letter-spacing"] == "-0.08")
    #expect(action["x"] == 44 && action.attributes["fill"] == "#F5F5F5")
    let small = elements.filter { $0["font-size"] == 11 }
    #expect(small.map(\.name) == ["tspan", "text", "text", "text"])
    #expect(small.map(\.text) == ["(10 min)", "Consciousness", "•", "Me"])
    #expect(small.map { $0.attributes["fill"] } == ["#A0A0A0", "#8B7FB8", "#A0A0A0", "#A0A0A0"])
  }

  @Test(
    "every domain has its colour, and a stronger one in high contrast",
    arguments: zip(
      DeckDomain.allCases,
      [
        ("#8B7FB8", "#806BCC"), ("#7FA66A", "#77BD51"), ("#C9A961", "#DEB14A"), ("#B87F8F", "#CC6B86"),
      ]))
  func colours(domain: DeckDomain, colours: (String, String)) throws {
    #expect(domain.colour(.normal).description == colours.0)
    #expect(domain.colour(.high).description == colours.1)
    let elements = try Self.read(Self.picture(domain: domain, contrast: .high))
    #expect(elements.filter { $0.name == "rect" }[0].attributes["fill"] == "#000000")
    #expect(elements.filter { $0.name == "rect" }[2].attributes["stroke-width"] == "2")
    #expect(elements.first { $0["font-size"] == 15 }?.attributes["fill"] == "#FFFFFF")
  }

  @Test("the words say all of the card, whatever fits")
  func words() throws {
    let long = String(repeating: "word ", count: 90)
    let picture = Self.picture(quote: long, action: "Go.", minutes: 1, source: "A <very> \"long\" source & more")
    let elements = try Self.read(picture)
    #expect(elements.first { $0.name == "title" }?.text == "A calm day, 2026-11-22")
    let description = try #require(elements.first { $0.name == "desc" }?.text)
    #expect(description.contains(long) && description.contains("Action: Go. From A <very> \"long\" source & more."))
    #expect(description.hasSuffix("Estimated time: 1 minute."))
    #expect(elements.first?.attributes["aria-label"] == "\(picture.title). \(description)")
    #expect(!picture.layout.isWhole)
  }

  @Test("texts beyond the design's longest are cut at the smallest size, and end in dots")
  func truncation() {
    let words = String(repeating: "consciousness and focus ", count: 10)
    let layout = Self.picture(quote: words + words, action: words).layout
    #expect(!layout.isWhole && layout.quoteSize == 9 && layout.actionSize == 9)
    #expect(layout.quote.last?.hasSuffix("…") == true && layout.action.last?.hasSuffix("…") == true)
    #expect(layout.quote.count >= 5 && layout.action.count >= 2)
    let large = Self.picture(quote: words + words, action: words, size: .large).layout
    #expect(large.isWhole && large.quoteSize >= 13, "the large card has room")
  }

  @Test("a quote of 68 letters is whole in the small card, in smaller text than the design's first size")
  func shorter() {
    let quote = "A body that is moved in the morning asks for less all day, they say."
    #expect(quote.count == 68)
    let layout = Self.picture(quote: quote, action: "Walk once around the block, without a phone.").layout
    #expect(layout.isWhole && (11..<15).contains(layout.quoteSize), "\(layout)")
  }

  @Test("the design's longest quote is whole in every size; the action is, too, where there is room")
  func longest() {
    let quote =
      "Focus is the ability to say no to everything except what matters most. Your attention is the most "
      + "valuable resource you possess, and it will not come back."
    let action =
      "Write down 3 things you're saying yes to that don't align with your goals. Cross one out, and tell "
      + "one person about it."
    #expect(quote.count <= 160 && action.count <= 120)
    for size in DeckPicture.Size.allCases {
      let layout = Self.picture(quote: quote, action: action, size: size).layout
      #expect(layout.quote.joined(separator: " ") == quote, "\(size): \(layout)")
      #expect(layout.quoteSize >= 9 && layout.actionSize >= 9)
      #expect(layout.isWhole == (size != .small), "\(size): \(layout)")
    }
    let large = Self.picture(quote: quote, action: action, size: .large).layout
    #expect(large.quoteSize == 15 && large.quoteLine == 21 && large.gap == 12)
    let short = Self.picture(quote: quote, action: "Cross one out.").layout
    #expect(short.isWhole, "\(short)")
  }

  @Test("nothing leaves the safe area, for any text", arguments: 0..<60)
  func fits(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let letters = Array("aeiouW mlj.,–éÉ漢字👩‍👩‍👧 <&\"")
    for size in DeckPicture.Size.allCases {
      func text(_ limit: Int) -> String {
        let text = String(
          (0..<Int.random(in: 1...limit, using: &random)).map { _ in letters.randomElement(using: &random)! })
        return "x" + text
      }
      let picture = Self.picture(
        quote: text(499), action: text(299), minutes: Int.random(in: 1...1_440, using: &random), source: text(79),
        size: size)
      let layout = picture.layout
      #expect(layout.quote.count >= 1 && layout.action.count >= 1, "seed \(seed)")
      let inner = size.width - 32
      let room = inner - layout.box - layout.boxGap
      for line in layout.quote {
        #expect(TextMeasure.serif.width(line, size: layout.quoteSize) <= inner + 0.01, "seed \(seed)")
      }
      for line in layout.action {
        #expect(TextMeasure.sans.width(line, size: layout.actionSize) <= room + 0.01, "seed \(seed)")
      }
      let elements = try Self.read(picture)
      let tag = elements.filter { $0.name == "rect" }[2]
      // The texts above the tag: all but its own, the point and the source.
      for element in elements.filter({ $0.name == "text" }).dropLast(3) {
        #expect(try #require(element["y"]) < tag["y"]! - 2, "seed \(seed)")
      }
      let duration = try #require(elements.first { $0.name == "tspan" }?.text)
      let last = TextMeasure.sans.width((layout.action.last ?? "") + " ", size: layout.actionSize)
      #expect(last + TextMeasure.sans.width(duration, size: layout.minutesSize) <= room + 4, "seed \(seed)")
    }
  }

  @Test("a source that is too long fades")
  func fades() throws {
    let elements = try Self.read(Self.picture(source: "The Art of Focus, second edition"))
    #expect(elements.contains { $0.name == "linearGradient" })
    #expect(elements.last { $0.name == "text" }?.attributes["fill"] == "url(#fade)")
    let short = try Self.read(Self.picture(domain: .health, source: "Notes"))
    #expect(!short.contains { $0.name == "linearGradient" })
  }

  @Test("lines break between words, inside long ones, and leave the room that is asked for")
  func lines() {
    let measure = TextMeasure.sans
    #expect(measure.lines(of: "a b", size: 10, room: 1_000, limit: 3).lines == ["a b"])
    #expect(measure.lines(of: "aaaa bbbb", size: 10, room: 24, limit: 3).lines == ["aaaa", "bbbb"])
    let broken = measure.lines(of: "aaaaaaaaaa", size: 10, room: 24, limit: 3)
    #expect(broken.lines == ["aaaa", "aaaa", "aa"] && broken.isWhole)
    #expect(measure.lines(of: "aaaa", size: 10, room: 24, limit: 2, tail: 10).lines == ["aaaa", ""])
    let cut = measure.lines(of: "aaaa", size: 10, room: 24, limit: 1, tail: 10)
    #expect(!cut.isWhole && cut.lines.first?.hasSuffix("…") == true)
    #expect(measure.width("…") == 1.0 || measure.width("…") > 0.9)
  }
}
