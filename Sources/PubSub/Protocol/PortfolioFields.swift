import Bytes
import Portfolio

extension RequestParser {
  /// Reads the value of one of the fields of a portfolio item.
  /// - Parameter path: the path of the fields, for errors: `streams[0].`.
  static func readPortfolio(
    _ name: String, _ value: JSONSlice, _ item: inout PortfolioRequestItem, _ json: borrowing JSONScanner, path: String
  ) throws(ProtocolError) {
    switch name {
    case "portfolio": item.id = try optionalString(value, path + name, json)
    case "currency": item.currency = try optionalString(value, path + name, json)
    default:
      do throws(PortfolioFormError) {
        if name == "holdings" {
          item.holdings = try PortfolioForm.holdings(json.text(value))
        } else {
          item.positions = try PortfolioForm.positions(json.text(value))
        }
      } catch {
        throw ProtocolError(.outOfRange, "`\(path)\(error.field)`: \(error.reason)")
      }
    }
  }
}
