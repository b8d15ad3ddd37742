import Bytes
import MarketData

/// A point of a picture, in its own units (CSS pixels), y downward.
struct PicturePoint: Sendable, Equatable {
  var x: Double
  var y: Double
}

/// A smooth line through points as an SVG path: cubic Bézier curves with the tangents of Fritsch and Carlson (SIAM
/// Journal on Numerical Analysis 17, 1980), so that between two points it stays between their values. So it shows no
/// price that did not occur.
struct SmoothLine {
  /// In order of x, all different.
  let points: [PicturePoint]

  /// The path: one point is a line without length, which round caps draw as a dot. O(points).
  func append(to out: inout ByteBuffer) {
    guard let first = points.first else { return }
    out.append(UInt8(ascii: "M"))
    Self.append(first, to: &out)
    guard points.count > 1 else { return out.append("h0") }
    let slopes = slopes
    for index in 1..<points.count {
      let (from, to) = (points[index - 1], points[index])
      let third = (to.x - from.x) / 3
      out.append(UInt8(ascii: "C"))
      Self.append(PicturePoint(x: from.x + third, y: from.y + third * slopes[index - 1]), to: &out)
      out.append(UInt8(ascii: " "))
      Self.append(PicturePoint(x: to.x - third, y: to.y - third * slopes[index]), to: &out)
      out.append(UInt8(ascii: " "))
      Self.append(to, to: &out)
    }
  }

  /// The slope of the line at each point.
  var slopes: [Double] {
    var secants: [Double] = []
    for index in points.indices.dropFirst() {
      let (from, to) = (points[index - 1], points[index])
      secants.append((to.y - from.y) / (to.x - from.x))
    }
    guard let first = secants.first, let last = secants.last else { return points.map { _ in 0 } }
    var slopes = [first]
    for index in secants.indices.dropFirst() {
      let (before, after) = (secants[index - 1], secants[index])
      slopes.append(before * after <= 0 ? 0 : (before + after) / 2)
    }
    slopes.append(last)
    for (index, secant) in secants.enumerated() {
      guard secant != 0 else {
        (slopes[index], slopes[index + 1]) = (0, 0)
        continue
      }
      let (a, b) = (slopes[index] / secant, slopes[index + 1] / secant)
      let length = a * a + b * b
      guard length > 9 else { continue }
      let scale = 3 / length.squareRoot()
      slopes[index] = scale * a * secant
      slopes[index + 1] = scale * b * secant
    }
    return slopes
  }

  /// `12.5 30`, rounded to hundredths.
  static func append(_ point: PicturePoint, to out: inout ByteBuffer) {
    out.append(coordinate: point.x)
    out.append(UInt8(ascii: " "))
    out.append(coordinate: point.y)
  }
}

/// The chart of a sparkline in a box: a smooth line over a fading area where it was observed, otherwise a dotted line.
struct ChartDrawing {
  let line: Sparkline
  let left: Double
  let top: Double
  let width: Double
  let height: Double

  /// The place of each point: the newest at the right edge, the highest price at the top, a flat line in the middle.
  var positions: [PicturePoint] {
    guard let low = line.points.min(), let high = line.points.max() else { return [] }
    let step = line.points.count > 1 ? width / Double(line.points.count - 1) : 0
    let span = Double(high) - Double(low)
    return line.points.enumerated().map { index, price in
      let x = line.points.count > 1 ? left + Double(index) * step : left + width
      let part = span > 0 ? (Double(price) - Double(low)) / span : 0.5
      return PicturePoint(x: x, y: top + height * (1 - part))
    }
  }

  /// Whether the gateway observed the slice of each point.
  var observed: [Bool] {
    line.points.indices.map { index in
      let start = line.from + Int64(index) * line.step
      let end = start + line.step
      guard let covered = line.coveredFrom, covered < end else { return false }
      return !line.gaps.contains { $0.from <= start && $0.to >= end }
    }
  }

  /// Runs of points that are drawn alike. Each includes the first point of the next run, so that the line has no holes.
  var runs: [(range: ClosedRange<Int>, isObserved: Bool)] {
    let observed = observed
    var runs: [(range: ClosedRange<Int>, isObserved: Bool)] = []
    var start = 0
    for index in observed.indices where index > 0 {
      // The path from or to an unobserved point is unknown.
      let isObserved = observed[index - 1] && observed[index]
      if let last = runs.last, last.isObserved == isObserved {
        runs[runs.count - 1].range = last.range.lowerBound...index
      } else {
        runs.append((start...index, isObserved))
      }
      start = index
    }
    if runs.isEmpty, let only = observed.first { runs.append((0...0, only)) }
    return runs
  }

  /// Paths with the colours and widths of the design: white at 60 %, 1.5 wide, over white at 20 % that fades out.
  func append(to out: inout ByteBuffer) {
    let positions = positions
    for run in runs {
      let points = Array(positions[run.range])
      guard let first = points.first, let last = points.last else { continue }
      guard run.isObserved else {
        out.append("<path fill=\"none\" stroke=\"#fff\" stroke-opacity=\".2\" stroke-dasharray=\"1 3\" d=\"M")
        for (index, point) in points.enumerated() {
          if index > 0 { out.append(UInt8(ascii: "L")) }
          SmoothLine.append(point, to: &out)
        }
        out.append("\"/>")
        continue
      }
      let line = SmoothLine(points: points)
      if points.count > 1 {
        out.append("<path fill=\"url(#fade)\" d=\"")
        line.append(to: &out)
        for corner in [PicturePoint(x: last.x, y: top + height), PicturePoint(x: first.x, y: top + height)] {
          out.append(UInt8(ascii: "L"))
          SmoothLine.append(corner, to: &out)
        }
        out.append("Z\"/>")
      }
      out.append(
        "<path fill=\"none\" stroke=\"#fff\" stroke-opacity=\".6\" stroke-width=\"1.5\" stroke-linecap=\"round\" d=\"")
      line.append(to: &out)
      out.append("\"/>")
    }
  }

  /// The gradient of the area.
  static func appendGradient(to out: inout ByteBuffer) {
    out.append("<defs><linearGradient id=\"fade\" x2=\"0\" y2=\"1\"><stop stop-color=\"#fff\" stop-opacity=\".2\"/>")
    out.append("<stop offset=\"1\" stop-color=\"#fff\" stop-opacity=\"0\"/></linearGradient></defs>")
  }
}
