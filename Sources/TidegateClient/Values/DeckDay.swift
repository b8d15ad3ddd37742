import Foundation

/// The card that a deck shows on a day, the same to everybody.
public struct DeckDay: Sendable, Hashable {
  /// One card.
  public struct Card: Sendable, Hashable {
    /// Its number in the deck, from 1.
    public var number = 0
    /// The quote, and the suggested action.
    public var quote = "", action = ""
    /// The duration of the action; nil if the card has none.
    public var minutes: Int?
    /// The domain of the card.
    public var domain = DeckDomain.unknown("")
    /// The source of the quote; nil if the card has none.
    public var source: String?
  }

  /// The deck's name.
  public var deck = ""
  /// The time zone of the day: `Europe/Berlin`.
  public var zone = ""
  /// Whether there is such a deck.
  public var state = DeckState.removed
  /// The deck's title, for people.
  public var title: String?
  /// The day: `2026-11-23`.
  public var date: String?
  /// When the next day begins.
  public var turnsAt: Date?
  /// How many cards the deck has.
  public var cards = 0
  /// The day's card; nil if the deck was removed.
  public var card: Card?
}

/// Whether there is a deck.
public enum DeckState: OpenState {
  case live
  /// The deck was removed; if it is added again, its card is shown again.
  case removed
  case unknown(String)

  /// The words that this version knows.
  public static let known: [DeckState] = [.live, .removed]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .live: "live"
    case .removed: "removed"
    case .unknown(let text): text
    }
  }
}

/// What a card is about.
public enum DeckDomain: OpenState {
  case consciousness, health, wealth, relationships
  case unknown(String)

  /// The words that this version knows.
  public static let known: [DeckDomain] = [.consciousness, .health, .wealth, .relationships]

  /// The word on the wire.
  public var rawValue: String {
    switch self {
    case .consciousness: "consciousness"
    case .health: "health"
    case .wealth: "wealth"
    case .relationships: "relationships"
    case .unknown(let text): text
    }
  }
}
