# Fills the cache from prices.csv. Each price expires, so that a stale one cannot live for ever.
set -e

tail -n +2 prices.csv | while IFS=, read -r article price; do
    redis-cli -h cache SET "price:$article" "$price" EX 3600 > /dev/null
    redis-cli -h cache SADD articles "$article" > /dev/null
done
redis-cli -h cache DEL price:stale > /dev/null
echo "$(redis-cli -h cache SCARD articles) prices are cached."
