/// A value that is made and used on one loop only, but passes through others.
package struct UncheckedTransfer<T>: @unchecked Sendable {
  // `@unchecked`: only its own loop opens it; others pass it on.
  package let value: T

  package init(value: T) { self.value = value }
}
