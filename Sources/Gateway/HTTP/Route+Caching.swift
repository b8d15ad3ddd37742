import HTTP1

/// How long clients may show answers without asking again.
extension Route {
  /// `Cache-Control` of an answer that has an entity tag. Nil: `no-cache`, so a client asks each time, and gets a 304
  /// if nothing has changed.
  ///
  /// Many clients draw pictures and lines at the same time, and these change little in 10 s. A price that somebody may
  /// act on never comes from a cache.
  var freshness: String? {
    switch self {
    case .openapi, .asyncapi: "max-age=3600"
    case .instruments: "max-age=5"
    case .assets: "max-age=300"
    case .linePicture, .card, .sparkline: "max-age=10"
    default: nil
    }
  }

  /// Replaces `no-cache` by it.
  func addFreshness(to response: inout HTTPResponse) {
    guard let freshness, response.status == 200 || response.status == 304, response.entityTag != nil else { return }
    response.fields = response.fields.map { field in
      field.name == "Cache-Control" && field.value == "no-cache" ? HTTPField("Cache-Control", freshness) : field
    }
  }
}
