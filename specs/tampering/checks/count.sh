# Whether list.txt has three lines.
if [ -f list.txt ] && [ "$(wc -l < list.txt)" -eq 3 ]; then passed=true; else passed=false; fi
printf '{"passed": %s}\n' "$passed"
