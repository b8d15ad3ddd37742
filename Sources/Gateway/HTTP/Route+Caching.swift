import HTTP1

/// How long answers may be shown without asking again.
extension Route {
  /// `Cache-Control` of an answer that has an entity tag. Nil: `no-cache`, so that it is asked for each time, which
  /// costs a 304 where nothing has changed.
  ///
  /// Pictures and lines are drawn by many that come at the same time, and move little in 10 s. A price that somebody
  /// may act on is never taken from a cache.
  var freshness: String? {
    switch self {
    case .openapi, .asyncapi: "max-age=3600"
    case .instruments: "max-age=5"
    case .assets: "max-age=300"
    case .linePicture, .card, .sparkline: "max-age=10"
    default: nil
    }
  }

  /// Puts it in place of `no-cache`.
  func addFreshness(to response: inout HTTPResponse) {
    guard let freshness, response.status == 200 || response.status == 304, response.entityTag != nil else { return }
    response.fields = response.fields.map { field in
      field.name == "Cache-Control" && field.value == "no-cache" ? HTTPField("Cache-Control", freshness) : field
    }
  }
}
