import Access
import ArgumentParser
import Foundation
import Gateway
import Settings

struct CheckConfigCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check-config",
    abstract: "Check a configuration file and show the effective settings.",
    discussion: """
      TIDEGATE_ variables count, as they do for serve. It refuses what serve refuses, and also what serve starts with
      but can never do, like following a future that has expired. The last line says OK or NOT OK. Exits with 64 if
      anything is wrong.
      """)

  @Argument(help: ArgumentHelp("The file to check: .yaml, .yml or .json.", valueName: "file"))
  var file: String

  func run() throws {
    do {
      let loaded = try loadConfiguration(file: file, flags: [])
      let check = StartCheck(loaded)
      try refuse(check.refusals + check.lasting)
      print(loaded.description)
      print("OK: \(file) can be used as it is: \(loaded.configuration.summary)")
    } catch let code as ExitCode {
      printError("NOT OK: \(file) cannot be used as it is")
      throw code
    }
  }
}

/// Loads the configuration, or prints every problem and exits as for a wrong command line (64).
/// - Parameter explain: gets the problems, too.
func loadConfiguration(
  file: String?, flags: [ConfigurationFlag], needsData: Bool = true, explain: (String) -> Void = { _ in }
) throws -> LoadedConfiguration {
  do throws(ConfigurationProblems) {
    return try ConfigurationLoader.load(
      file: file, environment: ProcessInfo.processInfo.environment, flags: flags, needsData: needsData)
  } catch {
    throw refusal(error.problems, explain)
  }
}

/// Prints problems, if there are any, and exits as for a wrong command line (64).
/// - Parameter explain: gets the problems, too.
func refuse(_ problems: [ConfigurationProblem], explain: (String) -> Void = { _ in }) throws {
  if !problems.isEmpty { throw refusal(problems, explain) }
}

private func refusal(_ problems: [ConfigurationProblem], _ explain: (String) -> Void) -> ExitCode {
  explain(problems.map(\.description).joined(separator: "; "))
  for problem in problems { printError("error: \(problem.description)") }
  return ExitCode.validationFailure
}

/// Loads a key file, or prints every problem and exits as for a wrong command line (64).
/// - Parameter explain: gets the problems, too.
func loadKeys(_ file: String, explain: (String) -> Void = { _ in }) throws -> Authenticator {
  do throws(ConfigurationProblems) {
    return try Authenticator(path: file)
  } catch {
    throw refusal(error.problems, explain)
  }
}

func printError(_ text: String) {
  StandardError.write(text + "\n")
}
