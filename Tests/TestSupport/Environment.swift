import Foundation

/// An environment variable, nil if unset.
package func environment(_ name: String) -> String? {
  ProcessInfo.processInfo.environment[name]
}

/// The folder of recorded exchange sessions: `TIDEGATE_RECORDINGS`, or `../shared/recordings` beside the checkout. Nil
/// if it does not exist; tests that need it are then skipped, with this reason.
package let recordingsFolder: String? = {
  let beside = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("shared/recordings").path
  let folder = environment("TIDEGATE_RECORDINGS") ?? beside
  return FileManager.default.fileExists(atPath: folder + "/README.md") ? folder : nil
}()
