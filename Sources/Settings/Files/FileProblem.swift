import Foundation

/// Says in words what is wrong with a path of the configuration.
enum FileProblem {
  /// Why a file cannot be read, for example because its folder does not exist; nil if nothing is wrong with the path.
  static func reading(_ path: String) -> String? {
    if let reason = missingFolder(of: path) { return reason }
    guard FileManager.default.fileExists(atPath: path) else { return "the file does not exist" }
    return FileManager.default.isReadableFile(atPath: path) ? nil : "this user may not read it"
  }

  /// Why the gateway cannot record there; nil if it can. It creates a folder (a path that ends in `/`) with its
  /// parents.
  static func recording(_ path: String) -> String? {
    if !path.hasSuffix("/") {
      if let reason = missingFolder(of: path) { return reason }
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
        return "it is a folder: write \(path)/"
      }
      return writing(into: folder(of: path))
    }
    var ancestor = String(path.dropLast())
    while !ancestor.isEmpty, ancestor != "/", !FileManager.default.fileExists(atPath: ancestor) {
      ancestor = folder(of: ancestor)
    }
    return writing(into: ancestor.isEmpty ? "/" : ancestor)
  }

  /// Why a file, if it exists, cannot be written; nil if it can, or does not exist.
  static func updating(_ path: String) -> String? {
    let files = FileManager.default
    return files.fileExists(atPath: path) && !files.isWritableFile(atPath: path)
      ? "this user may not write \(path)" : nil
  }

  /// Whether anyone may write the file. Follows a link: the mode of the link itself lets everybody write.
  static func isWritableByAll(_ path: String) -> Bool {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let mode = (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? NSNumber
    return mode.map { $0.intValue & 0o002 != 0 } ?? false
  }

  /// The problem to report if such a file decides about access.
  static func writableByAll(_ path: String, name: String) -> ConfigurationProblem {
    ConfigurationProblem(
      name: name, location: "file \(path)", message: "can be written by every user of this machine",
      allowed: "a file that its owner alone may write: chmod go-w \(path)")
  }

  private static func writing(into folder: String) -> String? {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      return "\(folder) is not a folder"
    }
    return FileManager.default.isWritableFile(atPath: folder)
      ? nil : "this user may not write into the folder \(folder)"
  }

  private static func missingFolder(of path: String) -> String? {
    let folder = folder(of: path)
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder)
    return exists && isFolder.boolValue ? nil : "the folder \(folder) does not exist"
  }

  /// The folder that a path is in; `.` for a bare name.
  private static func folder(of path: String) -> String {
    let trimmed = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    guard let slash = trimmed.lastIndex(of: "/") else { return "." }
    return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
  }
}
