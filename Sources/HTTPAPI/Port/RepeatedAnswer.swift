import Access
import HTTP1
import PubSub
import Transport

/// The answer to a repeated request, as pollers send them.
struct RepeatedAnswer {
  let api: PublicAPI

  /// Calls `reply` and returns true if the earlier answer is still valid; else returns false.
  func answer(
    _ request: HTTPRequestHead, _ memo: AnswerMemo, on connection: Connection,
    reply: @escaping (HTTPResponse) -> Void
  ) -> Bool {
    let (gateway, admission) = (api.gateway, api.admission)
    guard api.refused == nil, memo.isCurrent(gateway.hub.listingRevision, now: gateway.now()) else { return false }
    let outcome: MarketAnswer.Outcome
    if let held = EntityTag.match(request.fields.values("If-None-Match"), memo.tag) {
      outcome = .unchanged(tag: held)
    } else if let body = gateway.compressor.cache.body(memo.tag) {
      outcome = .body(body, tag: memo.tag)
    } else {
      return false
    }
    // The client's grant may have changed: a token ends, or a configuration changes.
    guard case .success(let caller) = api.identify(request), let grant = caller.grant, grant.allowsAllSymbols,
      memo.channels.isSubset(of: grant.channels)
    else { return false }
    let permit = connection.permit as? AdmissionPermit
    let address = permit.flatMap { _ in api.client(of: connection, request) }
    if let permit, let rejection = admission.request(permit, from: address, now: api.moment) {
      reply(rejection.response)
      return true
    }
    let reply = api.finishing(reply, request, api.routes.find(request.path)?.route)
    if let rejection = admission.request(with: grant, from: address, now: api.moment) {
      reply(rejection.response)
      return true
    }
    var response = api.response(to: outcome, venues: memo.venues, nothing: "")
    response.memo = memo
    reply(response)
    return true
  }
}
