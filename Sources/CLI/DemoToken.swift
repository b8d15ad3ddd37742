import Foundation
import Gateway
import Settings

/// The operators' token of a demo, in a file that only its owner may read. It stays the same from run to run, so that
/// an open page keeps working, and `tidegate top` finds it by itself.
enum DemoToken {
  private static let fileName = "demo-admin-token"

  /// The file in which commands look for the token; nil if there is no folder for data.
  static func usualFile(_ environment: [String: String]) -> String? {
    if let folder = environment["TIDEGATE_DATA_DIRECTORY"], !folder.isEmpty {
      return folder == "none" ? nil : path(in: folder)
    }
    return GatewayConfiguration.DataSettings.usualDirectory(environment).map { path(in: $0) }
  }

  /// The file of a folder, with the token that it has, or a new one.
  /// - Throws: an error of the file system if the file cannot be written.
  static func file(in folder: String) throws -> String {
    let path = path(in: folder)
    if isUsable(path) { return path }
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    // Random enough: the generator is the system's.
    let words = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
    let token = [words.0, words.1].map { String($0 | 1 << 63, radix: 16) }.joined()
    let new = path + ".\(getpid())"
    try? FileManager.default.removeItem(atPath: new)
    let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data((token + "\n").utf8))
    guard rename(new, path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return path
  }

  private static func path(in folder: String) -> String { folder + (folder.hasSuffix("/") ? "" : "/") + fileName }

  /// Whether the file has a token that no other user could read.
  private static func isUsable(_ path: String) -> Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    guard let mode = attributes?[.posixPermissions] as? NSNumber, mode.intValue & 0o077 == 0 else { return false }
    return GatewayConfiguration.adminTokenProblem(path) == nil
  }
}
