extension Deck {
  /// The deck of `--demo` without a configured folder of decks.
  package static let demo = Deck(
    name: "calm", title: "A calm day", starts: 20_454,
    cards: [
      DeckCard(
        quote: "What you look at grows. Choose it before the day does.",
        action: "Write down the one thing that would make today a good day.", minutes: 5, domain: .consciousness,
        source: "Notes on attention"),
      DeckCard(
        quote: "A body that is moved in the morning asks for less all day.",
        action: "Walk once around the block, without a phone.", minutes: 15, domain: .health, source: "Small habits"),
      DeckCard(
        quote: "Money is quiet when you know where it goes.",
        action: "Look up what you spent last week, and name one thing you would not buy again.", minutes: 10,
        domain: .wealth, source: "Plain accounts"),
      DeckCard(
        quote: "People remember who asked, and then waited for the answer.",
        action: "Call somebody whom you have not heard for a month.", minutes: 20, domain: .relationships,
        source: "Letters home"),
      DeckCard(
        quote: "A price that moves is not a question. You need not answer it.",
        action: "Turn off one alert that has never made you do anything.", minutes: 5, domain: .wealth,
        source: "The slow trader"),
      DeckCard(
        quote: "Rest is not what is left when the work is done. The work is never done.",
        action: "Set a time to stop today, and tell somebody what it is.", minutes: 5, domain: .health,
        source: "Small habits"),
      DeckCard(
        quote: "The mind is a desk. Clear it, or work on the floor.",
        action: "Put every open task on one page, and cross one out.", minutes: 10, domain: .consciousness,
        source: "Notes on attention"),
      DeckCard(
        quote: "Thanks that are not said are heard by nobody.",
        action: "Send three lines of thanks to someone who will not expect them.", minutes: 10,
        domain: .relationships, source: "Letters home"),
      DeckCard(
        quote: "Risk is the part of the plan that you did not write down.",
        action: "Write what you would do if your largest holding lost half tonight.", minutes: 15, domain: .wealth,
        source: "The slow trader"),
      DeckCard(
        quote: "Thirst looks like tiredness, and tiredness looks like a bad day.",
        action: "Drink a glass of water before the next screen.", minutes: 1, domain: .health, source: "Small habits"),
      DeckCard(
        quote: "Silence is the cheapest room you will ever rent.",
        action: "Sit for ten minutes and count only your breath.", minutes: 10, domain: .consciousness,
        source: "Notes on attention"),
      DeckCard(
        quote: "To listen is to leave the other one room to be wrong.",
        action: "In your next talk, ask two questions before you say what you think.", minutes: 10,
        domain: .relationships, source: "Letters home"),
      DeckCard(
        quote: "What you own should need less care than it gives.",
        action: "Find one subscription that you forgot, and end it.", minutes: 10, domain: .wealth,
        source: "Plain accounts"),
      DeckCard(
        quote: "The evening decides the morning.",
        action: "Lay out what you need tomorrow before you sit down.", minutes: 5, domain: .health,
        source: "Small habits"),
    ])
}
