import Synchronization
import Transport

/// Asks every loop of a gateway for a sign of life: a turn within a second.
package enum LoopProbe {
  /// How long a loop may take to answer. A turn takes 1 to 5 ms at most.
  static let limit: Duration = .seconds(1)

  private final class Round: Sendable {
    /// Loops that have not answered; nil once the round is over.
    let silent: Mutex<Set<Int>?>
    init(_ loops: [EventLoop]) { silent = Mutex(Set(loops.map(\.index))) }

    /// Returns the silent loops if this call ends the round; nil if the round continues or has already ended.
    func end(answered loop: Int?) -> [Int]? {
      silent.withLock { silent in
        guard var left = silent else { return nil }
        if let loop { left.remove(loop) }
        let isOver = left.isEmpty || loop == nil
        silent = isOver ? nil : left
        return isOver ? left.sorted() : nil
      }
    }
  }

  /// - Parameters:
  ///   - home: the loop that counts the time. If it stands still itself, nothing is reported.
  ///   - then: is called once, on any loop, with the indices of the loops that did not answer within `limit`.
  package static func run(_ loops: [EventLoop], from home: EventLoop, then: @escaping @Sendable ([Int]) -> Void) {
    let round = Round(loops)
    home.execute {
      home.schedule(after: limit) { if let silent = round.end(answered: nil) { then(silent) } }
      for loop in loops {
        loop.execute { if let silent = round.end(answered: loop.index) { then(silent) } }
      }
    }
  }
}
