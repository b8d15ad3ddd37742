import Bytes
import MarketData

/// Only the chart, in the requested size.
package struct LinePicture {
  let card: PriceCard
  let width: Int
  let height: Int

  /// - Parameters:
  ///   - width: 16…2,000.
  ///   - height: 16…1,000.
  package init(_ card: PriceCard, width: Int, height: Int) {
    self.card = card
    self.width = width
    self.height = height
  }

  /// The tag of the picture. O(points).
  package func add(to tag: inout ContentTag) {
    card.add(to: &tag)
    tag.add(UInt64(width) << 32 | UInt64(height))
  }

  /// The picture. O(points).
  package func svg() -> [UInt8] {
    var out = ByteBuffer(capacity: 4_096)
    let (width, height) = (Double(width), Double(height))
    PriceCard.begin(width: width, height: height, title: card.title, description: card.description, to: &out)
    ChartDrawing.appendGradient(to: &out)
    if card.figures.line.points.isEmpty {
      out.append("<rect rx=\"2\" width=\"100%\" height=\"4\" y=\"")
      out.append(coordinate: height / 2 - 2)
      out.append("\" fill=\"#fff\" fill-opacity=\".1\"/>")
    }
    ChartDrawing(line: card.figures.line, left: 2, top: 2, width: width - 4, height: height - 4).append(to: &out)
    out.append("</svg>\n")
    return out.takeBytes()
  }
}
