set -e
mkdir -p letters
for name in Ada Ben Cleo; do
    file=letters/$(printf %s "$name" | tr '[:upper:]' '[:lower:]').txt
    cat > "$file" <<END
Subject: Renewal of your contract

Dear $name,

your contract renews next month. You need not do anything.

Kind regards
END
done
