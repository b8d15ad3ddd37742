import { el } from "../dom.js";
import { isAmount } from "../valuation.js";
import { choice, field, marketField, numberInput, openForm } from "./Sheet.js";

/**
 * The form that adds a holding, `{symbol, amount, cost, costCurrency}`, or a position,
 * `{symbol, side, size, entry, leverage}`. @param currency of the price paid. @param add takes what was filled in, and
 * whether it is a position; it throws a text if that cannot be added.
 */
export function openHoldingForm(session, currency, add) {
  const kind = choice("kind", [["holding", "Holding"], ["position", "Position"]], () => shown());
  const [market, markets] = marketField(session, "market");
  const amount = numberInput("amount"), cost = numberInput("cost"), entry = numberInput("entry"), leverage = numberInput("leverage", "1");
  amount.required = true;
  const side = choice("side", [["long", "Long"], ["short", "Short"]]);
  const costField = field(`Price paid for one, in ${currency} (optional)`, cost);
  const positionFields = el("div", field("Side", side), field("Entry price", entry), field("Leverage", leverage));
  const shown = () => {
    const isPosition = kind.value === "position";
    positionFields.hidden = !isPosition;
    costField.hidden = isPosition;
    entry.required = leverage.required = isPosition;
  };
  shown();
  openForm("Add to the portfolio", ["Add"], () => {
    const isPosition = kind.value === "position", symbol = market.value.trim();
    const needed = isPosition ? [amount, entry, leverage] : [amount, ...(cost.value ? [cost] : [])];
    if (!needed.every((each) => isAmount(each.value))) throw new Error("Amounts and prices are numbers above zero, such as 0.25.");
    return add(isPosition ? { symbol, side: side.value, size: amount.value, entry: entry.value, leverage: leverage.value }
      : { symbol, amount: amount.value, cost: cost.value || undefined, costCurrency: currency }, isPosition);
  }, field("Kind", kind), field("Market", market), markets, field("Amount", amount), costField, positionFields);
}
