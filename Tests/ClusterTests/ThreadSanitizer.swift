#if TIDEGATE_THREAD_SANITIZER
  import Bytes

  typealias Mutex<Value: ~Copyable> = ObservedMutex<Value>
#endif
