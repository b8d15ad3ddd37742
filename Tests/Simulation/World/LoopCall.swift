/// Carries a call that is made and run in the one thread of a world to where `Sendable` is asked for.
struct LoopCall: @unchecked Sendable {
  // `@unchecked`: a world has one thread.
  private let call: () -> Void
  init(_ call: @escaping () -> Void) { self.call = call }
  var body: @Sendable () -> Void { { call() } }
}
