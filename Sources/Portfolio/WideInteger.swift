/// An unsigned integer of 256 bits: 77 decimal digits, for products of three 18-digit decimals with room for sums.
struct WideInteger: Sendable, Hashable, Comparable {
  /// The lowest word is first.
  var words: InlineWords

  /// Four words, in place.
  struct InlineWords: Sendable, Hashable {
    var a: UInt64 = 0
    var b: UInt64 = 0
    var c: UInt64 = 0
    var d: UInt64 = 0

    subscript(_ index: Int) -> UInt64 {
      get {
        switch index {
        case 0: a
        case 1: b
        case 2: c
        default: d
        }
      }
      set {
        switch index {
        case 0: a = newValue
        case 1: b = newValue
        case 2: c = newValue
        default: d = newValue
        }
      }
    }
  }

  static let zero = WideInteger(0)

  init(_ value: UInt64) { words = InlineWords(a: value) }
  private init(words: InlineWords) { self.words = words }

  var isZero: Bool { words.a | words.b | words.c | words.d == 0 }
  /// The number, if it fits in one word.
  var word: UInt64? { words.b | words.c | words.d == 0 ? words.a : nil }
  var isOdd: Bool { words.a & 1 != 0 }
  /// Used words, 0…4.
  private var count: Int {
    if words.d != 0 { return 4 }
    if words.c != 0 { return 3 }
    if words.b != 0 { return 2 }
    return words.a != 0 ? 1 : 0
  }

  static func < (x: WideInteger, y: WideInteger) -> Bool {
    (x.words.d, x.words.c, x.words.b, x.words.a) < (y.words.d, y.words.c, y.words.b, y.words.a)
  }

  /// Nil if it does not fit.
  func adding(_ other: WideInteger) -> WideInteger? {
    var result = InlineWords()
    var carry = false
    for index in 0..<4 {
      let (sum, over) = words[index].addingReportingOverflow(other.words[index])
      let (total, overAgain) = sum.addingReportingOverflow(carry ? 1 : 0)
      result[index] = total
      carry = over || overAgain
    }
    return carry ? nil : WideInteger(words: result)
  }

  /// Precondition: `other` ≤ `self`.
  func subtracting(_ other: WideInteger) -> WideInteger {
    var result = InlineWords()
    var borrow = false
    for index in 0..<4 {
      let (difference, under) = words[index].subtractingReportingOverflow(other.words[index])
      let (total, underAgain) = difference.subtractingReportingOverflow(borrow ? 1 : 0)
      result[index] = total
      borrow = under || underAgain
    }
    precondition(!borrow)
    return WideInteger(words: result)
  }

  /// Nil if it does not fit.
  func multiplied(by other: WideInteger) -> WideInteger? {
    var result = InlineWords()
    let (mine, theirs) = (count, other.count)
    for i in 0..<mine {
      var carry: UInt64 = 0
      for j in 0..<theirs {
        let (high, low) = words[i].multipliedFullWidth(by: other.words[j])
        guard i + j < 4 else { return nil }
        let (sum, over) = result[i + j].addingReportingOverflow(low)
        let (total, overAgain) = sum.addingReportingOverflow(carry)
        result[i + j] = total
        // high ≤ 2^64 − 2, and both carries only come with a smaller high: it cannot wrap.
        carry = high &+ (over ? 1 : 0) &+ (overAgain ? 1 : 0)
      }
      if carry != 0 {
        guard i + theirs < 4 else { return nil }
        result[i + theirs] = carry
      }
    }
    return WideInteger(words: result)
  }

  /// Quotient and remainder by one word. Precondition: `divisor` > 0.
  func divided(by divisor: UInt64) -> (quotient: WideInteger, remainder: UInt64) {
    var quotient = InlineWords()
    var rest: UInt64 = 0
    for index in (0..<count).reversed() {
      let (part, remainder) = divisor.dividingFullWidth((rest, words[index]))
      quotient[index] = part
      rest = remainder
    }
    return (WideInteger(words: quotient), rest)
  }

  /// Quotient and remainder (Knuth, The Art of Computer Programming 2, 4.3.1, algorithm D). Precondition: `divisor` >
  /// 0.
  func divided(by divisor: WideInteger) -> (quotient: WideInteger, remainder: WideInteger) {
    let n = divisor.count
    precondition(n > 0)
    if n == 1 {
      let (quotient, remainder) = divided(by: divisor.words.a)
      return (quotient, WideInteger(remainder))
    }
    guard self >= divisor else { return (.zero, self) }
    let shift = divisor.words[n - 1].leadingZeroBitCount
    let v = divisor.shifted(left: shift).low
    // One more word than the number has: u[4].
    let (low, top) = shifted(left: shift)
    var u = [low.words.a, low.words.b, low.words.c, low.words.d, top]
    var quotient = InlineWords()
    for j in (0...(count - n)).reversed() {
      var guess: UInt64
      if u[j + n] >= v.words[n - 1] {
        guess = .max
      } else {
        var rest: UInt64
        (guess, rest) = v.words[n - 1].dividingFullWidth((u[j + n], u[j + n - 1]))
        // The estimate is at most two too large.
        while true {
          let product = guess.multipliedFullWidth(by: v.words[n - 2])
          guard product.high > rest || (product.high == rest && product.low > u[j + n - 2]) else { break }
          guess -= 1
          let (sum, over) = rest.addingReportingOverflow(v.words[n - 1])
          if over { break }
          rest = sum
        }
      }
      if Self.subtract(v, n, times: guess, from: &u, at: j) {
        // If it is still too large, add back.
        repeat { guess -= 1 } while !Self.add(v, n, to: &u, at: j)
      }
      quotient[j] = guess
    }
    let rest = WideInteger(words: InlineWords(a: u[0], b: u[1], c: u[2], d: u[3]))
    return (WideInteger(words: quotient), rest.shifted(right: shift))
  }

  /// u[at…at + n] −= v × factor; true if it went below zero.
  private static func subtract(
    _ v: WideInteger, _ n: Int, times factor: UInt64, from u: inout [UInt64], at: Int
  ) -> Bool {
    var carry: UInt64 = 0
    var borrow = false
    for i in 0...n {
      let product = i < n ? factor.multipliedFullWidth(by: v.words[i]) : (high: 0, low: 0)
      let (low, over) = product.low.addingReportingOverflow(carry)
      carry = product.high &+ (over ? 1 : 0)
      let (difference, under) = u[at + i].subtractingReportingOverflow(low)
      let (total, underAgain) = difference.subtractingReportingOverflow(borrow ? 1 : 0)
      u[at + i] = total
      borrow = under || underAgain
    }
    return borrow
  }

  /// u[at…at + n] += v; true if it came back above zero.
  private static func add(_ v: WideInteger, _ n: Int, to u: inout [UInt64], at: Int) -> Bool {
    var carry = false
    for i in 0...n {
      let (sum, over) = u[at + i].addingReportingOverflow(i < n ? v.words[i] : 0)
      let (total, overAgain) = sum.addingReportingOverflow(carry ? 1 : 0)
      u[at + i] = total
      carry = over || overAgain
    }
    return carry
  }

  /// Precondition: 0 ≤ `left` < 64.
  private func shifted(left: Int) -> (low: WideInteger, top: UInt64) {
    guard left > 0 else { return (self, 0) }
    let right = 64 - left
    return (
      WideInteger(
        words: InlineWords(
          a: words.a << left, b: words.b << left | words.a >> right, c: words.c << left | words.b >> right,
          d: words.d << left | words.c >> right)), words.d >> right
    )
  }

  private func shifted(right: Int) -> WideInteger {
    guard right > 0 else { return self }
    let left = 64 - right
    return WideInteger(
      words: InlineWords(
        a: words.a >> right | words.b << left, b: words.b >> right | words.c << left,
        c: words.c >> right | words.d << left, d: words.d >> right))
  }
}
