import Testing

@testable import Operations

@Suite("Routes of the internal port")
struct InternalRouteTests {
  @Test("a path leads to its route, with the name in it")
  func found() {
    for route in InternalRoute.all { #expect(InternalRoute.find(route.path)?.route.path == route.path) }
    #expect(InternalRoute.find("/v1/feeds/kraken/errors")?.name == "kraken")
    #expect(InternalRoute.find("/v1/topics/zodl")?.name == "zodl" && InternalRoute.find("/v1/topics/")?.name == "")
    #expect(InternalRoute.find("/livez")?.name == "")
  }

  @Test(
    "other paths lead nowhere",
    arguments: [
      "/", "/livez/", "/v1/feeds//errors", "/v1/feeds/errors", "/v1/feeds/a/b/errors", "/v1/feeds/kraken",
      "/v1/feeds/kraken/errors/", "/v1/topics",
    ])
  func missing(path: String) {
    #expect(InternalRoute.find(path)?.route.path == nil)
  }
}
