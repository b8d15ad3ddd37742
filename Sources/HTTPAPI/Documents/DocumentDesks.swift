import Documents
import Transport

/// The desks of topics, of decks, and of what owners keep; one of each for all loops.
package struct DocumentDesks: Sendable {
  package let alerts: AlertDesk
  let portfolios: PortfolioDesk
  package let topics: PublishedTopics
  let decks: DeckDesk
  /// The networks of allowed webhook receivers outside the public Internet.
  let webhookNetworks: [IPNetwork]

  package init(
    alerts: AlertDesk, portfolios: PortfolioDesk, topics: PublishedTopics, decks: DeckDesk,
    webhookNetworks: [IPNetwork]
  ) {
    self.alerts = alerts
    self.portfolios = portfolios
    self.topics = topics
    self.decks = decks
    self.webhookNetworks = webhookNetworks
  }
}
