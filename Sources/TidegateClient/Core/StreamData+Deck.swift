import Bytes

extension JSONScanner {
  mutating func deckDay() throws -> DeckDay {
    var day = DeckDay()
    try object { key, json in
      switch key {
      case "deck": day.deck = try json.word()
      case "zone": day.zone = try json.word()
      case "state": day.state = DeckState(rawValue: try json.word())
      case "title": day.title = try json.word()
      case "date": day.date = try json.word()
      case "turns_at": day.turnsAt = try json.date()
      case "cards": day.cards = Int(clamping: try json.int64())
      case "card": day.card = try json.card()
      default: try json.skipValue()
      }
    }
    return day
  }

  private mutating func card() throws -> DeckDay.Card {
    var card = DeckDay.Card()
    try object { key, json in
      switch key {
      case "number": card.number = Int(clamping: try json.int64())
      case "quote": card.quote = try json.word()
      case "action": card.action = try json.word()
      case "minutes": card.minutes = Int(clamping: try json.int64())
      case "domain": card.domain = DeckDomain(rawValue: try json.word())
      case "source": card.source = try json.word()
      default: try json.skipValue()
      }
    }
    return card
  }
}
