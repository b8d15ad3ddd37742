import Venues

extension Kraken: ScriptedVenue {
  static let scripts = [
    "kraken": VenueScript(
      symbols: ["BTC-USD", "ETH-USD"],
      prelude: [
        #"{"channel":"instrument","type":"snapshot","data":{"assets":[],"pairs":[{"symbol":"BTC/USD","base":"BTC","quote":"USD","status":"online","qty_precision":8,"qty_increment":0.00000001,"price_precision":1,"price_increment":0.1},{"symbol":"ETH/USD","base":"ETH","quote":"USD","status":"online","qty_precision":8,"qty_increment":0.00000001,"price_precision":2,"price_increment":0.01}]}}"#,
        #"{"channel":"book","type":"snapshot","data":[{"symbol":"ETH/USD","bids":[{"price":1797.24,"qty":0.43393711}],"asks":[{"price":1797.25,"qty":1.40355852}],"checksum":1257516027}]}"#,
      ])
  ]
}
