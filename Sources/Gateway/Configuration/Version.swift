/// The version that `tidegate --version`, `welcome` messages and metrics show.
package enum TidegateVersion {
  package static let current = "0.1.0"
}
