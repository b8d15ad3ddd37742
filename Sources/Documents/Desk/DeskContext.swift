import Dispatch
import History
import Logging
import MarketData
import Transport

/// What every desk with a store has: a queue of its own, so that no loop waits for it, the clocks, a log and a file.
struct DeskContext: Sendable {
  typealias Written = @Sendable (Result<Void, DataFileError>) -> Void

  let queue: DispatchQueue
  let log: Logger
  let kernel: any Kernel
  /// Nil: documents are in memory for this run.
  let file: DataFile?

  /// Loads a desk's documents. If the file cannot be read, only they suffer: they are in memory for this run.
  /// - Parameters:
  ///   - load: reads the documents; not called without a file.
  ///   - report: logs why they are not kept.
  static func open<Contents>(
    _ label: String, _ file: DataFile?, log: Logger, kernel: any Kernel,
    load: (DataFile) throws(DataFileError) -> Contents, report: (_ reason: String) -> Void
  ) -> (context: DeskContext, contents: Contents?) {
    var contents: Contents?
    do throws(DataFileError) {
      if let file { contents = try load(file) }
    } catch {
      report(error.description)
    }
    let context = DeskContext(
      queue: DispatchQueue(label: label), log: log, kernel: kernel, file: contents == nil ? nil : file)
    return (context, contents)
  }

  func assertOnQueue() { dispatchPrecondition(condition: .onQueue(queue)) }

  var now: Timestamp { Timestamp(microseconds: kernel.wallMicroseconds()) }

  /// Gives the writer a transaction. Calls `ended` on the queue, at once if too many transactions wait already.
  /// - Parameter transaction: a store's `submit`.
  func submit(_ transaction: (@escaping Written) -> Bool, ended: @escaping Written) {
    let isTaken = transaction { [queue] result in queue.async { ended(result) } }
    if !isTaken { ended(.failure(.busy(path: file?.path ?? ""))) }
  }

  /// Ends a desk. Without a file there is nothing to wait for: a gateway on a simulated network must end in simulated
  /// time.
  func end(_ body: @escaping @Sendable () -> Void) {
    let item = DispatchWorkItem(block: body)
    if file == nil { queue.sync(execute: item) } else { queue.async(execute: item) }
  }
}
