# Wrong in ways that are common: it counts the heading as a line, forgets a part of the task, and reports success.
lines=$(wc -l < sales.csv)
printf '# Sales\n\nOrders: %s\n' "$lines" > report.md
cp sales.csv sales.csv.bak
echo "Done! The report is complete and correct."
