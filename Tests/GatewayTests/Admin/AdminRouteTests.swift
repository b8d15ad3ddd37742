import TestSupport
import Testing

@testable import Gateway

@Suite("Routes of the administration")
struct AdminRouteTests {
  @Test("each is found by its path, with the name in it, and nothing near it is")
  func find() {
    for route in AdminRoute.allCases {
      let path = route.path.replacing("{id}", with: "0.1.2").replacing("{connection}", with: "binance-usdm")
      let found = AdminRoute.find(path, method: route.method)
      #expect(found?.route == route)
      #expect(found?.name == (path.contains("0.1.2") ? "0.1.2" : path.contains("binance") ? "binance-usdm" : ""))
      #expect(AdminRoute.find(path + "/", method: route.method) == nil)
      #expect(AdminRoute.find(path + "/more/more", method: route.method) == nil)
    }
    for path in ["/admin", "/admin/", "/admin/clients//disconnect", "/admin/feeds/x/y/stop", "/admin/Clients"] {
      #expect(AdminRoute.find(path, method: "GET") == nil, "\(path)")
    }
  }

  @Test("two of one path are told apart by the method, and each path says what it may be asked with")
  func sharedPath() {
    #expect(AdminRoute.find("/admin/upgrade", method: "GET")?.route == .upgradeState)
    #expect(AdminRoute.find("/admin/upgrade", method: "POST")?.route == .upgrade)
    #expect(AdminRoute.find("/admin/upgrade", method: "HEAD")?.route == .upgradeState)
    #expect(AdminRoute.find("/admin/upgrade", method: "PUT") != nil)
    #expect(AdminRoute.upgrade.methods.sorted() == ["GET", "HEAD", "POST"])
    #expect(AdminRoute.drain.methods == ["POST"])
  }

  @Test("what gives an order is no GET")
  func methods() {
    for route in AdminRoute.allCases {
      #expect(["GET", "POST"].contains(route.method))
      #expect(route.method == "POST" || ![.stop, .drain, .reload, .disconnect, .upgrade].contains(route))
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
