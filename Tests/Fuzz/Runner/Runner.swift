import FuzzTargets
import Glibc

// What libFuzzer calls. The target is chosen by the environment, since libFuzzer starts itself again for some of its
// work.

// Written once, before the first input.
private nonisolated(unsafe) var chosen: FuzzTarget?

/// Chooses the target; without one lists them, each with its longest input.
@_cdecl("LLVMFuzzerInitialize")
public func fuzzInitialize(_ count: UnsafeMutableRawPointer, _ arguments: UnsafeMutableRawPointer) -> Int32 {
  let name = getenv("TIDEGATE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
  chosen = FuzzTarget.all.first { $0.name == name }
  if chosen == nil {
    let names = FuzzTarget.all.map { "\($0.name) \($0.maxLength)\n" }.joined()
    say(name.isEmpty ? names : "TIDEGATE_FUZZ_TARGET is \"\(name)\"; it must be one of:\n\(names)", to: 1)
    exit(name.isEmpty ? 0 : 2)
  }
  return 0
}

/// Runs the target on one input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
  do throws(FuzzFailure) {
    try chosen!.run(UnsafeRawBufferPointer(start: data, count: size))
  } catch {
    say("\nBROKEN PROMISE of \(chosen!.name): \(error.description.prefix(4000))\n", to: 2)
    abort()
  }
  return 0
}

private func say(_ text: String, to descriptor: Int32) {
  let bytes = Array(text.utf8)
  _ = write(descriptor, bytes, bytes.count)
}
