import TestSupport
import Testing

@testable import Gateway

@Suite("Routes of the administration")
struct AdminRouteTests {
  @Test("each is found by its path, with the name in it, and nothing near it is")
  func find() {
    for route in AdminRoute.allCases {
      let path = route.path.replacing("{id}", with: "0.1.2").replacing("{connection}", with: "binance-usdm")
      let found = AdminRoute.find(path)
      #expect(found?.route == route)
      #expect(found?.name == (path.contains("0.1.2") ? "0.1.2" : path.contains("binance") ? "binance-usdm" : ""))
      #expect(AdminRoute.find(path + "/") == nil)
      #expect(AdminRoute.find(path + "/more/more") == nil)
    }
    for path in ["/admin", "/admin/", "/admin/clients//disconnect", "/admin/feeds/x/y/stop", "/admin/Clients"] {
      #expect(AdminRoute.find(path) == nil, "\(path)")
    }
  }

  @Test("what gives an order is no GET")
  func methods() {
    for route in AdminRoute.allCases {
      #expect(["GET", "POST"].contains(route.method))
      #expect(route.method == "POST" || ![.stop, .drain, .reload, .disconnect].contains(route))
    }
  }

  @Test("the guide lists every one")
  func guide() throws {
    let lines =
      ["| request | what it does |", "|---|---|"]
      + AdminRoute.allCases.map { "| `\($0.method) \($0.path)` | \($0.purpose) |" }
    let (document, code) = try GeneratedPart("admin", in: "Sources/Gateway/Gateway.docc/Administration.md")
      .compare(with: lines)
    #expect(document == code)
  }
}
