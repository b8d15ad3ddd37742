// The console's files, embedded by the compiler (#embed, C23): the executable needs nothing beside it, and a change of
// a file builds this one alone. `ConsoleTests` holds the list against the folder.
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
static const unsigned char session_js[] = {
#embed "session.js"
};
static const unsigned char components_ChangeChip_js[] = {
#embed "components/ChangeChip.js"
};
static const unsigned char components_EmptyState_js[] = {
#embed "components/EmptyState.js"
};
static const unsigned char components_LineChart_js[] = {
#embed "components/LineChart.js"
};
static const unsigned char components_OrderBook_js[] = {
#embed "components/OrderBook.js"
};
static const unsigned char components_PriceTicker_js[] = {
#embed "components/PriceTicker.js"
};
static const unsigned char components_SearchSheet_js[] = {
#embed "components/SearchSheet.js"
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
static const unsigned char components_StatusIndicator_js[] = {
#embed "components/StatusIndicator.js"
};
static const unsigned char components_Toast_js[] = {
#embed "components/Toast.js"
};
static const unsigned char components_TradeList_js[] = {
#embed "components/TradeList.js"
};
static const unsigned char pages_Market_js[] = {
#embed "pages/Market.js"
};
static const unsigned char pages_Settings_js[] = {
#embed "pages/Settings.js"
};
static const unsigned char pages_Status_js[] = {
#embed "pages/Status.js"
};
static const unsigned char pages_Watchlist_js[] = {
#embed "pages/Watchlist.js"
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
    FILE("/console/app.js", "text/javascript; charset=utf-8", app_js),
    FILE("/console/dom.js", "text/javascript; charset=utf-8", dom_js),
    FILE("/console/format.js", "text/javascript; charset=utf-8", format_js),
    FILE("/console/health.js", "text/javascript; charset=utf-8", health_js),
    FILE("/console/icon.svg", "image/svg+xml", icon_svg),
    FILE("/console/session.js", "text/javascript; charset=utf-8", session_js),
    FILE("/console/components/ChangeChip.js", "text/javascript; charset=utf-8", components_ChangeChip_js),
    FILE("/console/components/EmptyState.js", "text/javascript; charset=utf-8", components_EmptyState_js),
    FILE("/console/components/LineChart.js", "text/javascript; charset=utf-8", components_LineChart_js),
    FILE("/console/components/OrderBook.js", "text/javascript; charset=utf-8", components_OrderBook_js),
    FILE("/console/components/PriceTicker.js", "text/javascript; charset=utf-8", components_PriceTicker_js),
    FILE("/console/components/SearchSheet.js", "text/javascript; charset=utf-8", components_SearchSheet_js),
    FILE("/console/components/SignInSheet.js", "text/javascript; charset=utf-8", components_SignInSheet_js),
    FILE("/console/components/Sparkline.js", "text/javascript; charset=utf-8", components_Sparkline_js),
    FILE("/console/components/StatisticsGrid.js", "text/javascript; charset=utf-8", components_StatisticsGrid_js),
    FILE("/console/components/StatusIndicator.js", "text/javascript; charset=utf-8", components_StatusIndicator_js),
    FILE("/console/components/Toast.js", "text/javascript; charset=utf-8", components_Toast_js),
    FILE("/console/components/TradeList.js", "text/javascript; charset=utf-8", components_TradeList_js),
    FILE("/console/pages/Market.js", "text/javascript; charset=utf-8", pages_Market_js),
    FILE("/console/pages/Settings.js", "text/javascript; charset=utf-8", pages_Settings_js),
    FILE("/console/pages/Status.js", "text/javascript; charset=utf-8", pages_Status_js),
    FILE("/console/pages/Watchlist.js", "text/javascript; charset=utf-8", pages_Watchlist_js),
    FILE("/console/styles/console.css", "text/css; charset=utf-8", styles_console_css),
    FILE("/console/styles/tokens.css", "text/css; charset=utf-8", styles_tokens_css),
};

const ConsoleFile *consoleFile(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
