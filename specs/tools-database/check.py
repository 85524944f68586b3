"""Exits 0 when 7 lamps are left, and 5 were taken by one order."""
import sqlite3
import sys

db = sqlite3.connect("file:stock.db?mode=ro", uri=True)
stock = db.execute("select item, count from stock").fetchall()
taken = db.execute("select item, count from taken").fetchall()
print(stock, taken)
sys.exit(stock != [("lamp", 7)] or taken != [("lamp", 5)])
