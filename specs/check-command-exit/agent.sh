cat > greet.sh <<'END'
if [ $# -eq 0 ]; then
    echo "usage: greet.sh NAME" >&2
    exit 2
fi
echo "Hello $1"
END
