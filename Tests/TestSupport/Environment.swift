import Foundation

/// An environment variable, nil if unset.
package func environment(_ name: String) -> String? {
  ProcessInfo.processInfo.environment[name]
}

/// Where recorded exchange sessions are: `TIDEGATE_RECORDINGS`, or `../shared/recordings` beside the checkout.
/// Nil where there are none; tests that want them then skip and say so.
package let recordingsFolder: String? = {
  let beside = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("shared/recordings").path
  let folder = environment("TIDEGATE_RECORDINGS") ?? beside
  return FileManager.default.fileExists(atPath: folder + "/README.md") ? folder : nil
}()
