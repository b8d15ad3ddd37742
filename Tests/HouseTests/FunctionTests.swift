import Testing

/// How long a function may get.
@Suite("Functions")
struct FunctionTests {
  private static let limit = 70

  @Test("no function has more than 70 lines")
  func lengths() {
    var count = 0
    for source in SourceTree.files(in: "Sources") {
      let outline = SwiftOutline(source.lines)
      #expect(outline.isBalanced, "\(source.path): the braces do not match")
      count += outline.functions.count
      for function in outline.functions {
        guard function.length > Self.limit else { continue }
        Issue.record("\(source.path):\(function.line) \(function.name) has \(function.length) lines")
      }
    }
    #expect(count > 5_000, "only \(count) functions were found")
  }

  private func outline(_ text: String) -> [String] {
    let outline = SwiftOutline(text.split(separator: "\n", omittingEmptySubsequences: false))
    #expect(outline.isBalanced)
    return outline.functions.map { "\($0.name) \($0.line) \($0.length)" }
  }

  @Test("functions, initializers, subscripts and properties with bodies are found, with the types around them")
  func kinds() {
    #expect(
      outline(
        """
        struct A<B: C> {
          var a: Int
          let b = { 1 }()
          init?(_ a: Int = { 2 }()) {
            self.a = a
          }
          var c: Int { a }
          enum D {
            static func e<T>(
              _ t: T
            ) -> Int where T: P {
              func f() {}
              return T.init().init { 3 }
            }
          }
        }
        extension A.D { subscript(i: Int) -> Int { 0 } }
        class func_ { class func g() {} }
        func < (a: A, b: A) -> Bool {
          true
        }
        """) == [
          "A.init 4 3", "A.c 7 1", "A.D.e.f 12 1", "A.D.e 9 6", "A.D.subscript 17 1", "func_.g 18 1", "< 19 3",
        ])
  }

  @Test("a requirement without a body is no function, and takes no other body")
  func requirements() {
    #expect(
      outline(
        """
        protocol P {
          func a(_ b: () -> Void)
          init()
        }
        struct S: P {
          func a(_ b: () -> Void) {
            if true {
            }
          }
        }
        """) == ["S.a 6 4"])
  }

  @Test("braces in texts and comments do not count, and those that a text interpolates do")
  func texts() {
    #expect(
      outline(
        #####"""
        func a() {
          // }
          /* { /* } */ } */
          let b = "}" + "\"}" + #"\"}"# + "\(c.map { "}" } ?? "{")" + #"\(}\#(d { 1 })"#
          let e = """
            } " \(f { g("}") }) ""\"
            """
          let h = ##"""
            "#}
            """##
        }
        """#####) == ["a 1 11"])
  }
}
