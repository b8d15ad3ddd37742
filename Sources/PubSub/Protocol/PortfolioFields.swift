import Bytes
import Portfolio

extension RequestParser {
  /// Reads the value of one of the fields of a portfolio item.
  /// - Parameter place: the place of the fields, for errors: `streams[0].`.
  static func readPortfolio(
    _ name: String, _ value: JSONSlice, _ item: inout PortfolioRequestItem, _ json: borrowing JSONScanner, place: String
  ) throws(ProtocolError) {
    switch name {
    case "portfolio": item.id = try optionalString(value, place + name, json)
    case "currency": item.currency = try optionalString(value, place + name, json)
    default:
      do throws(PortfolioFormError) {
        if name == "holdings" {
          item.holdings = try PortfolioForm.holdings(json.text(value))
        } else {
          item.positions = try PortfolioForm.positions(json.text(value))
        }
      } catch {
        throw ProtocolError(.outOfRange, "`\(place)\(error.field)`: \(error.reason)")
      }
    }
  }
}
