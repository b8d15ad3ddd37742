package enum X {}
