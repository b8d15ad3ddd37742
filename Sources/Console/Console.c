// The console's files, embedded by the compiler (#embed, C23): the executable needs no other file, and after a change
// only this file is built. `Tests/Console/files.test.mjs` compares the list with the folder.
#include "Console.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "index.html"
};
static const unsigned char client_tidegate_js[] = {
#embed "client/tidegate.js"
};
static const unsigned char client_tidegate_d_ts[] = {
#embed "client/tidegate.d.ts"
};
static const unsigned char alerts_js[] = {
#embed "alerts.js"
};
static const unsigned char app_js[] = {
#embed "app.js"
};
static const unsigned char dom_js[] = {
#embed "dom.js"
};
static const unsigned char format_js[] = {
#embed "format.js"
};
static const unsigned char health_js[] = {
#embed "health.js"
};
static const unsigned char icon_svg[] = {
#embed "icon.svg"
};
static const unsigned char portfolios_js[] = {
#embed "portfolios.js"
};
static const unsigned char rules_js[] = {
#embed "rules.js"
};
static const unsigned char session_js[] = {
#embed "session.js"
};
static const unsigned char theme_js[] = {
#embed "theme.js"
};
static const unsigned char valuation_js[] = {
#embed "valuation.js"
};
static const unsigned char components_AlarmCell_js[] = {
#embed "components/AlarmCell.js"
};
static const unsigned char components_CandlestickChart_js[] = {
#embed "components/CandlestickChart.js"
};
static const unsigned char components_ChangeChip_js[] = {
#embed "components/ChangeChip.js"
};
static const unsigned char components_Chart_js[] = {
#embed "components/Chart.js"
};
static const unsigned char components_CoinIcon_js[] = {
#embed "components/CoinIcon.js"
};
static const unsigned char components_ContractCard_js[] = {
#embed "components/ContractCard.js"
};
static const unsigned char components_DeckCard_js[] = {
#embed "components/DeckCard.js"
};
static const unsigned char components_EmptyState_js[] = {
#embed "components/EmptyState.js"
};
static const unsigned char components_HoldingForm_js[] = {
#embed "components/HoldingForm.js"
};
static const unsigned char components_HoldingRow_js[] = {
#embed "components/HoldingRow.js"
};
static const unsigned char components_LineChart_js[] = {
#embed "components/LineChart.js"
};
static const unsigned char components_MarketRow_js[] = {
#embed "components/MarketRow.js"
};
static const unsigned char components_OrderBook_js[] = {
#embed "components/OrderBook.js"
};
static const unsigned char components_PnLChip_js[] = {
#embed "components/PnLChip.js"
};
static const unsigned char components_PositionRow_js[] = {
#embed "components/PositionRow.js"
};
static const unsigned char components_PostList_js[] = {
#embed "components/PostList.js"
};
static const unsigned char components_PriceTicker_js[] = {
#embed "components/PriceTicker.js"
};
static const unsigned char components_Ringer_js[] = {
#embed "components/Ringer.js"
};
static const unsigned char components_RiskBadge_js[] = {
#embed "components/RiskBadge.js"
};
static const unsigned char components_SearchSheet_js[] = {
#embed "components/SearchSheet.js"
};
static const unsigned char components_Segments_js[] = {
#embed "components/Segments.js"
};
static const unsigned char components_Sheet_js[] = {
#embed "components/Sheet.js"
};
static const unsigned char components_ShieldedPool_js[] = {
#embed "components/ShieldedPool.js"
};
static const unsigned char components_SignInSheet_js[] = {
#embed "components/SignInSheet.js"
};
static const unsigned char components_Sparkline_js[] = {
#embed "components/Sparkline.js"
};
static const unsigned char components_StatisticsGrid_js[] = {
#embed "components/StatisticsGrid.js"
};
static const unsigned char components_StatusBadge_js[] = {
#embed "components/StatusBadge.js"
};
static const unsigned char components_StatusIndicator_js[] = {
#embed "components/StatusIndicator.js"
};
static const unsigned char components_TimeDisplay_js[] = {
#embed "components/TimeDisplay.js"
};
static const unsigned char components_Toast_js[] = {
#embed "components/Toast.js"
};
static const unsigned char components_TradeList_js[] = {
#embed "components/TradeList.js"
};
static const unsigned char ops_Overview_js[] = {
#embed "ops/Overview.js"
};
static const unsigned char ops_RateLine_js[] = {
#embed "ops/RateLine.js"
};
static const unsigned char ops_SignIn_js[] = {
#embed "ops/SignIn.js"
};
static const unsigned char ops_StateStream_js[] = {
#embed "ops/StateStream.js"
};
static const unsigned char ops_format_js[] = {
#embed "ops/format.js"
};
static const unsigned char ops_index_html[] = {
#embed "ops/index.html"
};
static const unsigned char ops_ops_css[] = {
#embed "ops/ops.css"
};
static const unsigned char ops_ops_js[] = {
#embed "ops/ops.js"
};
static const unsigned char pages_Alerts_js[] = {
#embed "pages/Alerts.js"
};
static const unsigned char pages_Board_js[] = {
#embed "pages/Board.js"
};
static const unsigned char pages_Market_js[] = {
#embed "pages/Market.js"
};
static const unsigned char pages_Page_js[] = {
#embed "pages/Page.js"
};
static const unsigned char pages_Portfolio_js[] = {
#embed "pages/Portfolio.js"
};
static const unsigned char pages_Settings_js[] = {
#embed "pages/Settings.js"
};
static const unsigned char pages_Status_js[] = {
#embed "pages/Status.js"
};
static const unsigned char pages_Time_js[] = {
#embed "pages/Time.js"
};
static const unsigned char pages_Watchlist_js[] = {
#embed "pages/Watchlist.js"
};
static const unsigned char pages_Widgets_js[] = {
#embed "pages/Widgets.js"
};
static const unsigned char styles_console_css[] = {
#embed "styles/console.css"
};
static const unsigned char styles_tokens_css[] = {
#embed "styles/tokens.css"
};

#define FILE(path, mediaType, bytes) {path, mediaType, bytes, sizeof bytes}

static const ConsoleFile files[] = {
    FILE("/", "text/html; charset=utf-8", index_html),
    FILE("/tidegate.js", "text/javascript; charset=utf-8", client_tidegate_js),
    FILE("/tidegate.d.ts", "text/plain; charset=utf-8", client_tidegate_d_ts),
    FILE("/console/alerts.js", "text/javascript; charset=utf-8", alerts_js),
    FILE("/console/app.js", "text/javascript; charset=utf-8", app_js),
    FILE("/console/dom.js", "text/javascript; charset=utf-8", dom_js),
    FILE("/console/format.js", "text/javascript; charset=utf-8", format_js),
    FILE("/console/health.js", "text/javascript; charset=utf-8", health_js),
    FILE("/console/icon.svg", "image/svg+xml", icon_svg),
    FILE("/console/portfolios.js", "text/javascript; charset=utf-8", portfolios_js),
    FILE("/console/rules.js", "text/javascript; charset=utf-8", rules_js),
    FILE("/console/session.js", "text/javascript; charset=utf-8", session_js),
    FILE("/console/theme.js", "text/javascript; charset=utf-8", theme_js),
    FILE("/console/valuation.js", "text/javascript; charset=utf-8", valuation_js),
    FILE("/console/components/AlarmCell.js", "text/javascript; charset=utf-8", components_AlarmCell_js),
    FILE("/console/components/CandlestickChart.js", "text/javascript; charset=utf-8", components_CandlestickChart_js),
    FILE("/console/components/ChangeChip.js", "text/javascript; charset=utf-8", components_ChangeChip_js),
    FILE("/console/components/Chart.js", "text/javascript; charset=utf-8", components_Chart_js),
    FILE("/console/components/CoinIcon.js", "text/javascript; charset=utf-8", components_CoinIcon_js),
    FILE("/console/components/ContractCard.js", "text/javascript; charset=utf-8", components_ContractCard_js),
    FILE("/console/components/DeckCard.js", "text/javascript; charset=utf-8", components_DeckCard_js),
    FILE("/console/components/EmptyState.js", "text/javascript; charset=utf-8", components_EmptyState_js),
    FILE("/console/components/HoldingForm.js", "text/javascript; charset=utf-8", components_HoldingForm_js),
    FILE("/console/components/HoldingRow.js", "text/javascript; charset=utf-8", components_HoldingRow_js),
    FILE("/console/components/LineChart.js", "text/javascript; charset=utf-8", components_LineChart_js),
    FILE("/console/components/MarketRow.js", "text/javascript; charset=utf-8", components_MarketRow_js),
    FILE("/console/components/OrderBook.js", "text/javascript; charset=utf-8", components_OrderBook_js),
    FILE("/console/components/PnLChip.js", "text/javascript; charset=utf-8", components_PnLChip_js),
    FILE("/console/components/PositionRow.js", "text/javascript; charset=utf-8", components_PositionRow_js),
    FILE("/console/components/PostList.js", "text/javascript; charset=utf-8", components_PostList_js),
    FILE("/console/components/PriceTicker.js", "text/javascript; charset=utf-8", components_PriceTicker_js),
    FILE("/console/components/Ringer.js", "text/javascript; charset=utf-8", components_Ringer_js),
    FILE("/console/components/RiskBadge.js", "text/javascript; charset=utf-8", components_RiskBadge_js),
    FILE("/console/components/SearchSheet.js", "text/javascript; charset=utf-8", components_SearchSheet_js),
    FILE("/console/components/Segments.js", "text/javascript; charset=utf-8", components_Segments_js),
    FILE("/console/components/Sheet.js", "text/javascript; charset=utf-8", components_Sheet_js),
    FILE("/console/components/ShieldedPool.js", "text/javascript; charset=utf-8", components_ShieldedPool_js),
    FILE("/console/components/SignInSheet.js", "text/javascript; charset=utf-8", components_SignInSheet_js),
    FILE("/console/components/Sparkline.js", "text/javascript; charset=utf-8", components_Sparkline_js),
    FILE("/console/components/StatisticsGrid.js", "text/javascript; charset=utf-8", components_StatisticsGrid_js),
    FILE("/console/components/StatusBadge.js", "text/javascript; charset=utf-8", components_StatusBadge_js),
    FILE("/console/components/StatusIndicator.js", "text/javascript; charset=utf-8", components_StatusIndicator_js),
    FILE("/console/components/TimeDisplay.js", "text/javascript; charset=utf-8", components_TimeDisplay_js),
    FILE("/console/components/Toast.js", "text/javascript; charset=utf-8", components_Toast_js),
    FILE("/console/components/TradeList.js", "text/javascript; charset=utf-8", components_TradeList_js),
    FILE("/console/ops/Overview.js", "text/javascript; charset=utf-8", ops_Overview_js),
    FILE("/console/ops/RateLine.js", "text/javascript; charset=utf-8", ops_RateLine_js),
    FILE("/console/ops/SignIn.js", "text/javascript; charset=utf-8", ops_SignIn_js),
    FILE("/console/ops/StateStream.js", "text/javascript; charset=utf-8", ops_StateStream_js),
    FILE("/console/ops/format.js", "text/javascript; charset=utf-8", ops_format_js),
    FILE("/console/ops/index.html", "text/html; charset=utf-8", ops_index_html),
    FILE("/console/ops/ops.css", "text/css; charset=utf-8", ops_ops_css),
    FILE("/console/ops/ops.js", "text/javascript; charset=utf-8", ops_ops_js),
    FILE("/console/pages/Alerts.js", "text/javascript; charset=utf-8", pages_Alerts_js),
    FILE("/console/pages/Board.js", "text/javascript; charset=utf-8", pages_Board_js),
    FILE("/console/pages/Market.js", "text/javascript; charset=utf-8", pages_Market_js),
    FILE("/console/pages/Page.js", "text/javascript; charset=utf-8", pages_Page_js),
    FILE("/console/pages/Portfolio.js", "text/javascript; charset=utf-8", pages_Portfolio_js),
    FILE("/console/pages/Settings.js", "text/javascript; charset=utf-8", pages_Settings_js),
    FILE("/console/pages/Status.js", "text/javascript; charset=utf-8", pages_Status_js),
    FILE("/console/pages/Time.js", "text/javascript; charset=utf-8", pages_Time_js),
    FILE("/console/pages/Watchlist.js", "text/javascript; charset=utf-8", pages_Watchlist_js),
    FILE("/console/pages/Widgets.js", "text/javascript; charset=utf-8", pages_Widgets_js),
    FILE("/console/styles/console.css", "text/css; charset=utf-8", styles_console_css),
    FILE("/console/styles/tokens.css", "text/css; charset=utf-8", styles_tokens_css),
};

const ConsoleFile *consoleFile(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
