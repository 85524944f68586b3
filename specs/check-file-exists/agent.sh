set -e
mkdir -p reports/2026
echo '{"month": "january", "orders": 12}' > reports/2026/january.json
# Relative, so that it still leads somewhere when the workspace is copied.
ln -s reports/2026/january.json latest.json
