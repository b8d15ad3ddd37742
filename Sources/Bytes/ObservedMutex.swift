#if TIDEGATE_THREAD_SANITIZER
  import Synchronization

  /// `Mutex` for builds under ThreadSanitizer, which each module that locks then uses by the name `Mutex`.
  ///
  /// The standard library's own is a futex taken inside a library that the sanitizer has not instrumented, so that all
  /// it guards is reported as a race. This one tells the sanitizer of every lock and unlock, and locks in the same way.
  package struct ObservedMutex<Value: ~Copyable>: ~Copyable {
    private let mutex: Mutex<Value>
    /// What the sanitizer knows the lock by.
    private let address = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)

    package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    deinit { address.deallocate() }

    package borrowing func withLock<Result: ~Copyable, E: Error>(
      _ body: (inout sending Value) throws(E) -> sending Result
    ) throws(E) -> sending Result {
      let address = self.address
      return try mutex.withLock { (value: inout sending Value) throws(E) -> sending Result in
        threadSanitizerAcquire(address)
        defer { threadSanitizerRelease(address) }
        return try body(&value)
      }
    }
  }

  extension ObservedMutex: @unchecked Sendable where Value: ~Copyable {
    // `@unchecked`: `index` is a constant address, and the value is reached under the lock alone.
  }

  @_silgen_name("__tsan_acquire") private func threadSanitizerAcquire(_ address: UnsafeMutableRawPointer)
  @_silgen_name("__tsan_release") private func threadSanitizerRelease(_ address: UnsafeMutableRawPointer)
#endif
