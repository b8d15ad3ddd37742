import TestSupport
import Testing

@testable import Operations

@Suite("Routes of the administration")
struct AdminRouteTests {
  @Test("each is found by its path, with the name in it, and nothing near it is")
  func find() {
    for route in AdminRoute.all {
      let path = route.path.replacing("{id}", with: "0.1.2").replacing("{connection}", with: "binance-usdm")
      let found = AdminRoute.find(path, method: route.method)
      #expect(found?.route.path == route.path && found?.route.method == route.method)
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
    func method(_ method: String) -> String? { AdminRoute.find("/admin/upgrade", method: method)?.route.method }
    #expect(method("GET") == "GET" && method("POST") == "POST" && method("HEAD") == "GET" && method("PUT") != nil)
    #expect(AdminRoute.find("/admin/upgrade", method: "GET")?.route.methods.sorted() == ["GET", "HEAD", "POST"])
    #expect(AdminRoute.find("/admin/drain", method: "POST")?.route.methods == ["POST"])
  }

  @Test("what gives an order is no GET")
  func methods() {
    for route in AdminRoute.all {
      #expect(["GET", "POST"].contains(route.method))
      let verb = route.path.split(separator: "/").last.map(String.init) ?? ""
      #expect(route.method == "POST" || !["stop", "drain", "reload", "disconnect", "reconnect", "hold"].contains(verb))
    }
  }

  @Test("no two have the same method and path, and each says what it does")
  func unique() {
    #expect(Set(AdminRoute.all.map { "\($0.method) \($0.path)" }).count == AdminRoute.all.count)
    #expect(AdminRoute.all.allSatisfy { $0.path.hasPrefix(AdminRoute.prefix) && !$0.purpose.isEmpty })
  }

  @Test("the guide lists every one")
  func guide() throws {
    let lines =
      ["| request | what it does |", "|---|---|"]
      + AdminRoute.all.map { "| `\($0.method) \($0.path)` | \($0.purpose) |" }
    let (document, code) = try GeneratedPart("admin", in: "Sources/Gateway/Gateway.docc/Administration.md")
      .compare(with: lines)
    #expect(document == code)
  }
}
